#include "services/fleetsim/options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/status_macros.h"
#include "services/fleetsim/registry.h"

namespace muster::fleetsim {
namespace {

// A ReportNodes call takes 1,000 reports, and a Node has at most two at once.
constexpr int kMaxReportBatch = 500;
constexpr int kMaxReportCalls = 16;
constexpr int kMaxKubeCalls = 64;
// A Node has no room for more.
constexpr int64_t kMaxDaemonPods = 50;

absl::Status Wrong(absl::string_view flag, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag, ": ", what));
}

// `organizations/{organization}/clusters/{cluster}`
bool IsClusterName(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  return parts.size() == 4 && parts[0] == "organizations" && !parts[1].empty() &&
         parts[2] == "clusters" && !parts[3].empty();
}

// Checks the settings for an API server, and puts them into the options.
absl::Status AddCluster(const Settings& settings, AgentOptions& options) {
  const ClusterOptions& cluster = settings.cluster;
  if (cluster.kubeconfig.empty()) {
    if (!cluster.context.empty()) return Wrong("kube_context", "needs --kubeconfig");
    if (!settings.kube_cluster.empty()) return Wrong("kube_cluster", "needs --kubeconfig");
    if (cluster.kubelet.daemon_pods != 0) return Wrong("daemon_pods", "needs --kubeconfig");
    return absl::OkStatus();
  }
  if (!settings.kube_cluster.empty() && !IsClusterName(settings.kube_cluster))
    return Wrong("kube_cluster", "must be organizations/ORGANIZATION/clusters/CLUSTER");
  if (cluster.kubelet.pod_namespace.empty()) return Wrong("pod_namespace", "must not be empty");
  if (cluster.kubelet.daemon_pods < 0 || cluster.kubelet.daemon_pods > kMaxDaemonPods)
    return Wrong("daemon_pods", absl::StrCat("must be 0 to ", kMaxDaemonPods));
  if (cluster.calls < 1 || cluster.calls > kMaxKubeCalls)
    return Wrong("kube_calls", absl::StrCat("must be 1 to ", kMaxKubeCalls));
  if (cluster.lease_interval < absl::Seconds(1) || cluster.lease_interval > absl::Hours(1))
    return Wrong("lease_interval", "must be 1s to 1h");
  if (settings.fleet.drain_block_rate > 0) {
    return Wrong("drain_block_rate",
                 "must be 0 with --kubeconfig: disruption budgets there are real ones");
  }
  options.cluster = cluster;
  options.cluster.kubelet.speed = settings.speed;
  options.fleet.kubernetes =
      settings.kube_cluster.empty() ? "" : absl::StrCat(settings.kube_cluster, "/");
  return absl::OkStatus();
}

absl::Status CheckShares(const Settings& settings) {
  const FleetOptions& fleet = settings.fleet;
  const std::pair<const char*, double> shares[] = {
      {"spread", fleet.spread},
      {"boot_failure_rate", fleet.boot_failure_rate},
      {"interruptible_share", fleet.interruptible_share},
      {"graceful_share", fleet.graceful_share},
      {"drain_block_rate", fleet.drain_block_rate},
      {"staging_failure_rate", fleet.staging_failure_rate},
      {"removal_failure_rate", fleet.removal_failure_rate},
      {"fail_share", settings.fail_share}};
  for (const auto& [flag, share] : shares) {
    if (!(share >= 0 && share <= 1)) return Wrong(flag, "must be 0 to 1");
  }
  if (fleet.interruptible_share + fleet.graceful_share > 1)
    return Wrong("graceful_share", "must be at most 1 together with --interruptible_share");
  return absl::OkStatus();
}

// Checks the durations, and divides them by the speed.
absl::Status DivideDurations(double speed, FleetOptions& fleet) {
  const std::pair<const char*, absl::Duration*> durations[] = {
      {"boot_time", &fleet.boot_time},
      {"ready_time", &fleet.ready_time},
      {"drain_time", &fleet.drain_time},
      {"terminate_time", &fleet.terminate_time},
      {"work_arrival", &fleet.work_arrival},
      {"work_duration", &fleet.work_duration},
      {"grace_period", &fleet.grace_period},
      {"drain_block_time", &fleet.drain_block_time},
      {"failure_arrival", &fleet.failure_arrival},
      {"recovery_arrival", &fleet.recovery_arrival},
      {"mark_arrival", &fleet.mark_arrival},
      {"mark_duration", &fleet.mark_duration},
      {"cordon_arrival", &fleet.cordon_arrival},
      {"cordon_duration", &fleet.cordon_duration}};
  for (const auto& [flag, duration] : durations) {
    if (*duration < absl::ZeroDuration() || *duration == absl::InfiniteDuration()) {
      return Wrong(flag, "must be a finite duration, 0 or more");
    }
    *duration = *duration / speed;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AgentOptions> MakeOptions(const Settings& settings) {
  const FleetOptions& fleet = settings.fleet;
  if (settings.server.empty()) return Wrong("server", "must not be empty");
  if (!(settings.speed > 0)) return Wrong("speed", "must be above 0");
  RETURN_IF_ERROR(CheckShares(settings));
  if (settings.report_batch < 1 || settings.report_batch > kMaxReportBatch) {
    return Wrong("report_batch", absl::StrCat("must be 1 to ", kMaxReportBatch));
  }
  if (settings.report_calls < 1 || settings.report_calls > kMaxReportCalls) {
    return Wrong("report_calls", absl::StrCat("must be 1 to ", kMaxReportCalls));
  }
  AgentOptions options{.server = settings.server,
                       .fleet = fleet,
                       .report_batch = settings.report_batch,
                       .report_calls = settings.report_calls,
                       .fail_share = settings.fail_share};
  RETURN_IF_ERROR(DivideDurations(settings.speed, options.fleet));
  RETURN_IF_ERROR(AddCluster(settings, options));
  const absl::StatusOr<std::vector<MachineLot>> lots = ParseLots(settings.machines);
  if (!lots.ok()) return Wrong("register_machines", lots.status().message());
  options.machines = MakeMachines(*lots, fleet.seed);
  return options;
}

}  // namespace muster::fleetsim
