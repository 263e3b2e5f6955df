#include "services/configuration/core/resolve.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/profile.h"

namespace muster::configuration {
namespace {

// "there are 570, 565 and more": names kMaxOffered at most, so one more than that need be given.
std::string Offer(const std::vector<std::string>& versions) {
  if (versions.empty()) return "there is none";
  const size_t named = std::min(versions.size(), kMaxOffered);
  return absl::StrCat(versions.size() == 1 ? "there is " : "there are ",
                      absl::StrJoin(absl::MakeConstSpan(versions).first(named), ", "),
                      versions.size() > named ? " and more" : "");
}

// Picks one release a component, and collects what is wrong.
class Picker {
 public:
  Picker(const State& state, Resolution& answer) : state_(state), answer_(answer) {}

  // The newest version that begins with `prefix`. `of_spec`: the spec names it.
  std::string Newest(Channel channel, Component component, absl::Span<const int64_t> prefix,
                     bool of_spec) {
    if (const Version* newest = state_.Newest(channel, component, prefix)) return newest->text;
    if (!prefix.empty()) {
      Missing(channel, component, PrintNumbers(prefix),
              state_.Offered(channel, component, prefix.size(), kMaxOffered + 1), of_spec);
      return "";
    }
    Say(absl::StrCat("No release of ", Print(component), " in channel ", Print(channel),
                     Elsewhere(channel, component), "."),
        of_spec);
    return "";
  }

  // The release of that name, however old.
  std::string Named(Channel channel, Component component, const std::string& name) {
    const Release* release = state_.table<Release>().Find(ReleaseName(channel, component, name));
    if (release != nullptr && !release->withdraw_time) return name;
    Missing(channel, component, name, state_.Offered(channel, component, 0, kMaxOffered + 1),
            /*of_spec=*/true);
    return "";
  }

 private:
  void Missing(Channel channel, Component component, const std::string& wanted,
               const std::vector<std::string>& offered, bool of_spec) {
    Say(absl::StrCat("No release of ", Print(component), " ", wanted, " in channel ",
                     Print(channel), ": ", Offer(offered), "."),
        of_spec);
  }
  // What the default channel has of it.
  std::string Elsewhere(Channel channel, Component component) const {
    if (channel == Channel::kStable) return "";
    const Version* newest = state_.Newest(Channel::kStable, component, {});
    if (newest == nullptr) return "";
    return absl::StrCat("; channel ", Print(Channel::kStable), " has ", newest->text);
  }
  void Say(const std::string& sentence, bool of_spec) {
    absl::StrAppend(&answer_.problem, answer_.problem.empty() ? "" : " ", sentence);
    answer_.of_spec |= of_spec;
  }

  const State& state_;
  Resolution& answer_;
};

}  // namespace

Resolution Resolve(const State& state, const Wants& wants) {
  Resolution answer;
  NodeProfile& profile = answer.profile;
  Picker picker(state, answer);
  const bool named_train = wants.channel != Channel::kStable;
  profile.release_train = wants.channel;
  profile.image = wants.image_name.empty()
                      ? picker.Newest(wants.channel, Component::kNcoreImage, {}, named_train)
                      : picker.Named(wants.channel, Component::kNcoreImage, wants.image_name);
  if (!wants.kernel.empty()) {
    profile.kernel = picker.Named(wants.channel, Component::kKernel, wants.kernel);
  }
  if (wants.gpu) {
    profile.gpu_driver = picker.Newest(wants.channel, Component::kGpuDriver, wants.gpu_driver,
                                       named_train || !wants.gpu_driver.empty());
  }
  // Which version is wanted is the cluster's affair: a problem is the spec's only if it names a
  // train.
  profile.kubernetes =
      picker.Newest(wants.channel, Component::kKubernetes, wants.kubernetes, named_train);
  if (!answer.problem.empty()) {
    return {.problem = std::move(answer.problem), .of_spec = answer.of_spec};
  }
  profile.id = ProfileId(profile);
  // Two contents may share the 48 bits of an id: then the profile that is there keeps name and
  // content.
  const NodeProfile* stored = state.table<NodeProfile>().Find(profile.Key());
  // Fields that a later release of Muster wrote (`later`) do not make it another content.
  if (stored != nullptr) profile.later = stored->later;
  if (stored != nullptr && *stored != profile) {
    return {.problem = absl::StrCat("The id ", profile.id, " already stands for another content.")};
  }
  return answer;
}

bool IsWithdrawn(const State& state, absl::string_view node_profile) {
  const NodeProfile* profile = state.table<NodeProfile>().Find(NodeProfileName(node_profile));
  if (profile == nullptr) return false;
  const std::pair<Component, const std::string*> parts[] = {
      {Component::kNcoreImage, &profile->image},
      {Component::kKernel, &profile->kernel},
      {Component::kGpuDriver, &profile->gpu_driver},
      {Component::kKubernetes, &profile->kubernetes}};
  for (const auto& [component, version] : parts) {
    if (version->empty()) continue;
    const Release* release =
        state.table<Release>().Find(ReleaseName(profile->release_train, component, *version));
    // A release that is missing was withdrawn: only then can it be deleted.
    if (release == nullptr || release->withdraw_time) return true;
  }
  return false;
}

std::set<std::string> WithdrawnOf(const State& state, const PoolConfiguration& pool) {
  std::set<std::string> withdrawn;
  for (const Revision& revision : pool.revisions) {
    if (IsWithdrawn(state, revision.node_profile)) withdrawn.insert(revision.node_profile);
  }
  return withdrawn;
}

const Resolution& Resolutions::Of(const State& state, const PoolConfiguration& pool) {
  const auto [entry, fresh] = resolved_.try_emplace(WantsOf(pool.spec));
  if (fresh) entry->second = Resolve(state, entry->first);
  return entry->second;
}

}  // namespace muster::configuration
