#include "services/musterctl/print/preview.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/musterctl/print/printable.h"
#include "services/musterctl/print/words.h"

namespace muster::musterctl {
namespace {

using Preview = lifecycle::v1::NodePoolPreview;

// Victims that are named; of more their number is said.
constexpr int64_t kNamedVictims = 10;

std::string Quota(const Preview::Quota& quota) {
  const std::string change = quota.delta() == 0  ? "as now"
                             : quota.delta() > 0 ? absl::StrCat(quota.delta(), " more than now")
                                                 : absl::StrCat(-quota.delta(), " fewer than now");
  const std::string charged =
      absl::StrCat(CountText(quota.nodes(), "Node"), " charged, ", change, "; ");
  if (quota.reason() == reason::kInternalError) return charged + "quota could not be asked";
  if (quota.reason() == reason::kNotSet) return charged + "NotSet: there is no quota";
  return absl::StrCat(charged, quota.reason(), ": ", quota.held(), " of ", quota.limit(), " held");
}

std::string Capacity(const Preview::Capacity& capacity) {
  if (!capacity.problem().empty())
    return absl::StrCat(capacity.nodes(), " more asked for; ", capacity.problem());
  const std::string asked =
      absl::StrCat(capacity.nodes(), " more asked for, ", capacity.free_nodes(), " free, ",
                   capacity.reclaimable_nodes(), " reclaimable; ");
  if (capacity.place() == 0) return asked + "granted at once";
  return absl::StrCat(asked, "place ", capacity.place(), " in the queue behind ",
                      CountText(capacity.nodes_ahead(), "Node"));
}

std::string Grantable(const Preview& preview) {
  return absl::StrCat(
      CountText(preview.grantable_nodes(), "Node"), " at most, by ",
      preview.grantable_nodes_bound_by() == reason::kBoundByQuota ? "quota" : "capacity");
}

std::string Victims(const Preview& preview) {
  const int64_t named = std::min<int64_t>(preview.victims_size(), kNamedVictims);
  std::string text = absl::StrCat(
      preview.victim_count(), " to go: ",
      absl::StrJoin(preview.victims().begin(), preview.victims().begin() + named, ", "));
  if (preview.victim_count() > named)
    absl::StrAppend(&text, " and ", preview.victim_count() - named, " more");
  if (preview.waiting_victims() > 0)
    absl::StrAppend(&text, "; ", preview.waiting_victims(), " with work, once they are idle");
  return text;
}

std::string Configuration(const Preview& preview) {
  std::vector<std::string> parts;
  if (!preview.node_profile().empty()) parts.push_back(preview.node_profile() + " active");
  if (!preview.pending_node_profile().empty())
    parts.push_back(preview.pending_node_profile() + " waits to be promoted");
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::string RenderPreview(const Preview& preview) {
  std::string out;
  const auto add = [&out](absl::string_view about, const std::string& text) {
    if (!text.empty()) absl::StrAppend(&out, "  ", about, text, "\n");
  };
  if (!preview.invalid().empty()) add("invalid:       ", preview.invalid());
  if (preview.has_quota()) add("quota:         ", Quota(preview.quota()));
  if (preview.has_capacity()) add("capacity:      ", Capacity(preview.capacity()));
  if (preview.has_grantable_nodes()) add("grantable:     ", Grantable(preview));
  if (preview.victim_count() > 0) add("victims:       ", Victims(preview));
  add("configuration: ", Configuration(preview));
  if (preview.nodes_to_reboot() > 0)
    add("reboots:       ",
        absl::StrCat(CountText(preview.nodes_to_reboot(), "Node"), " to be rebooted"));
  return out;
}

std::string RenderPreview(const lifecycle::v1::Node& node) {
  using lifecycle::v1::Node;
  const lifecycle::v1::NodePreview& preview = node.preview();
  const bool reboots = preview.state() == Node::STATE_RECONFIGURING;
  std::string out;
  const auto add = [&out](absl::string_view about, const std::string& text) {
    absl::StrAppend(&out, "  ", about, text, "\n");
  };
  const bool drains_already =
      node.desired().drain() &&
      node.desired().drain_deadline().seconds() == preview.desired().drain_deadline().seconds();
  if (preview.desired().drain() && !drains_already) {
    add("drain:   ", absl::StrCat("at once; what is left is deleted at ",
                                  FormatTime(preview.desired().drain_deadline())));
  }
  if (reboots && node.state() != Node::STATE_RECONFIGURING)
    add("reboot:  ", absl::StrCat("at once, into ", preview.desired().node_profile()));
  for (const lifecycle::v1::NodePoolObstacle& obstacle : preview.obstacles())
    add("waits:   ", Printable(absl::StrCat(obstacle.reason(), ": ", obstacle.message())));
  return out;
}

}  // namespace muster::musterctl
