#include "services/configuration/core/resolve.h"

#include "absl/strings/str_cat.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/profile.h"

namespace muster::configuration {
namespace {

// The newest version's text; when there is none, a sentence more in `problem`.
std::string Pick(const State& state, Channel channel, Component component,
                 absl::Span<const int64_t> prefix, std::string& problem) {
  if (const Version* newest = state.Newest(channel, component, prefix)) return newest->text;
  absl::StrAppend(&problem, problem.empty() ? "" : " ", "No release of ", Print(component),
                  prefix.empty() ? "" : " ", PrintNumbers(prefix), " in channel ", Print(channel),
                  ".");
  return "";
}

}  // namespace

Resolution Resolve(const State& state, const Wants& wants) {
  Resolution answer;
  NodeProfile& profile = answer.profile;
  profile.release_train = wants.channel;
  profile.kernel = wants.kernel;
  profile.image = wants.image_name.empty()
                      ? Pick(state, wants.channel, Component::kNcoreImage, {}, answer.problem)
                      : wants.image_name;
  if (wants.gpu) {
    profile.gpu_driver =
        Pick(state, wants.channel, Component::kGpuDriver, wants.gpu_driver, answer.problem);
  }
  profile.kubernetes =
      Pick(state, wants.channel, Component::kKubernetes, wants.kubernetes, answer.problem);
  if (!answer.problem.empty()) return {.problem = std::move(answer.problem)};
  profile.id = ProfileId(profile);
  // 48 bits can meet; then the profile that is already there keeps its name and its content.
  const NodeProfile* stored = state.table<NodeProfile>().Find(profile.Key());
  if (stored != nullptr && *stored != profile) {
    return {.problem = absl::StrCat("The id ", profile.id, " already stands for another content.")};
  }
  return answer;
}

}  // namespace muster::configuration
