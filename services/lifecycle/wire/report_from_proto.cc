#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/report_limits.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/lifecycle/wire/times.h"

// Agents' reports as commands, and their faults.
namespace muster::lifecycle {
namespace {

std::optional<ReportNode::Observation> ObservationOf(v1::NodeReport::Observation observation) {
  for (int i = 0; i < kObservations; ++i) {
    // The API's enum has the same order, after UNSPECIFIED.
    if (static_cast<int>(observation) == i + 1) return static_cast<ReportNode::Observation>(i);
  }
  return std::nullopt;
}

}  // namespace

ReportNode FromProto(const v1::NodeReport& in, absl::string_view path, Faults& faults) {
  const auto require = [&](bool holds, absl::string_view field, absl::string_view description) {
    faults.Require(holds, muster::error::Below(path, field), description);
  };
  // Postgres keeps no NUL in texts.
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  const auto is_pod = [](const std::string& pod) {
    return !pod.empty() && pod.size() <= kMaxPodNameBytes;
  };
  const auto& pods = in.active_pods();
  require(ParseNodeName(in.node()).has_value(), "node", kNodeNameShape);
  const auto observation = ObservationOf(in.observation());
  require(in.observation() != v1::NodeReport::OBSERVATION_UNSPECIFIED, "observation",
          "is required");
  require(in.node_profile().size() <= kMaxProfileIdBytes, "node_profile",
          absl::StrCat("must be at most ", kMaxProfileIdBytes, " bytes"));
  require(static_cast<size_t>(pods.size()) <= kMaxActivePods, "active_pods",
          absl::StrCat("must have at most ", kMaxActivePods, " names"));
  require(std::all_of(pods.begin(), pods.end(), is_pod), "active_pods",
          absl::StrCat("must be 1 to ", kMaxPodNameBytes, " bytes each"));
  require(in.boot_id().size() <= kMaxBootIdBytes, "boot_id",
          absl::StrCat("must be at most ", kMaxBootIdBytes, " bytes"));
  require(!has_nul(in.boot_id()), "boot_id", "must not hold NUL");
  require(!has_nul(in.node_profile()), "node_profile", "must not hold NUL");
  require(!has_nul(in.message()), "message", "must not hold NUL");
  require(std::none_of(pods.begin(), pods.end(), has_nul), "active_pods", "must not hold NUL");
  require(in.message().size() <= kMaxReportMessageBytes, "message",
          absl::StrCat("must be at most ", kMaxReportMessageBytes, " bytes"));
  require(in.active_pod_count() >= 0 && in.active_pod_count() <= kMaxActivePodCount,
          "active_pod_count", absl::StrCat("must be 0 to ", kMaxActivePodCount));
  return ReportNode{in.node(),
                    observation.value_or(ReportNode::Observation::kIdle),
                    in.node_profile(),
                    {pods.begin(), pods.end()},
                    in.message(),
                    in.active_pod_count(),
                    MUSTER_GET_TIME(in, node_create_time),
                    in.boot_id(),
                    MUSTER_GET_TIME(in, desired_time),
                    !observation.has_value()};
}

}  // namespace muster::lifecycle
