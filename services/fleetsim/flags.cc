#include "services/fleetsim/flags.h"

#include <algorithm>
#include <iostream>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/daemon/flags.h"

ABSL_FLAG(std::string, server, "127.0.0.1:7600",
          "Muster's API, a gRPC target: host:port; dns:///host:port if the name stands for several "
          "replicas: only so is one passed over that says NOT_SERVING.");
ABSL_FLAG(std::string, target, "", "The same as --server, and wins over it.");
ABSL_FLAG(uint64_t, seed, 1, "What happens to each machine follows from it: 0 to 2^64 - 1.");
ABSL_FLAG(absl::Duration, boot_time, absl::Seconds(3),
          "Mean time from the start of a boot to its end.");
ABSL_FLAG(absl::Duration, ready_time, absl::Milliseconds(500),
          "Mean time from registered to ready.");
ABSL_FLAG(absl::Duration, drain_time, absl::Seconds(2), "Mean time that a drain takes.");
ABSL_FLAG(absl::Duration, terminate_time, absl::Seconds(2), "Mean time that switching off takes.");
ABSL_FLAG(double, spread, 0.3, "The four above vary by this fraction of themselves, 0 to 1.");
ABSL_FLAG(double, boot_failure_rate, 0, "Share of boots and reboots that fail, 0 to 1.");
ABSL_FLAG(absl::Duration, work_arrival, absl::ZeroDuration(),
          "Mean time until work starts on an idle Node; 0: no work ever starts.");
ABSL_FLAG(absl::Duration, work_duration, absl::Minutes(10), "Mean time that work takes.");
ABSL_FLAG(double, interruptible_share, 0, "Share of work that a drain ends at once, 0 to 1.");
ABSL_FLAG(
    double, graceful_share, 0,
    "Share of work that takes its grace period when drained, 0 to 1; what is neither is evicted.");
ABSL_FLAG(absl::Duration, grace_period, absl::Seconds(30), "Mean of that grace period.");
ABSL_FLAG(
    double, drain_block_rate, 0,
    "Share of drains of work to be evicted that disruption budgets hold up, 0 to 1; must be 0 "
    "with --kubeconfig: disruption budgets there are real ones.");
ABSL_FLAG(absl::Duration, drain_block_time, absl::Minutes(1), "Mean time that they do so.");
ABSL_FLAG(absl::Duration, failure_arrival, absl::ZeroDuration(),
          "Mean time until a Node that takes work falls unhealthy; 0: none does.");
ABSL_FLAG(absl::Duration, recovery_arrival, absl::ZeroDuration(),
          "Mean time until an unhealthy Node recovers by itself; 0: none does.");
ABSL_FLAG(absl::Duration, mark_arrival, absl::ZeroDuration(),
          "Mean time until the cluster autoscaler marks an idle Node; 0: never.");
ABSL_FLAG(absl::Duration, mark_duration, absl::Minutes(10),
          "Mean time until it takes the mark away.");
ABSL_FLAG(absl::Duration, cordon_arrival, absl::ZeroDuration(),
          "Mean time until somebody else cordons a Node; 0: never.");
ABSL_FLAG(absl::Duration, cordon_duration, absl::Minutes(10),
          "Mean time until that is taken back.");
ABSL_FLAG(double, staging_failure_rate, 0,
          "Share of stagings on running Nodes that fail before they succeed, 0 to 1.");
ABSL_FLAG(double, removal_failure_rate, 0,
          "Share of switch-offs that fail before they succeed, 0 to 1.");
ABSL_FLAG(double, fail_share, 0,
          "Share of the Nodes that take work that fall unhealthy at each SIGUSR1, 0 to 1.");
ABSL_FLAG(int, report_batch, 500, "Most Nodes in one ReportNodes call, 1 to 500.");
ABSL_FLAG(int, report_calls, 2, "Most ReportNodes calls at a time, 1 to 16.");
ABSL_FLAG(std::string, register_machines, "",
          "Machines to register at start: ZONE:TYPE:COUNT[:MACHINES A RACK], several separated by "
          "commas, 2,000,000 at most. "
          "Racks of 8 unless said. Zone and type may be published later.");
ABSL_FLAG(
    std::string, kubeconfig, "",
    "A Kubernetes API server to play kubelet at: v1 Nodes and Pods there are the fleet's "
    "Kubernetes side, muster-kubernetes reports what it sees of them, and drains them. Empty: "
    "fleetsim reports everything itself.");
ABSL_FLAG(std::string, kube_context, "", "Of the kubeconfig; empty: its current one.");
ABSL_FLAG(std::string, kube_cluster, "",
          "organizations/ORGANIZATION/clusters/CLUSTER: only its Nodes are at the API server; "
          "empty: all.");
ABSL_FLAG(
    int, kube_calls, 4,
    "Most requests to the API server at a time, 1 to 64; and as many to renew leases of Nodes.");
ABSL_FLAG(absl::Duration, lease_interval, absl::Seconds(10),
          "Between two renewals of a Node's lease, 1s to 1h. Kubernetes finds a Node not ready "
          "whose lease is older than 50 s, where its controllers run.");
ABSL_FLAG(std::string, pod_namespace, "default", "Where work runs as Pods; it must be there.");
ABSL_FLAG(int64_t, daemon_pods, 0,
          "Pods of a DaemonSet on each v1 Node, 0 to 50. The DaemonSet does not exist: not for "
          "clusters that collect garbage.");
ABSL_FLAG(double, speed, 1, "All times are divided by it, above 0; but for --lease_interval.");

namespace muster::fleetsim {
namespace {

// `--boot-time=3s` as Abseil wants it: `--boot_time=3s`.
std::string& WithUnderscores(std::string& word) {
  if (!absl::StartsWith(word, "--")) return word;
  const auto name_end = std::find(word.begin(), word.end(), '=');
  std::replace(word.begin() + 2, name_end, '-', '_');
  return word;
}

// The flags take what the command line says; whatever is wrong with it ends the process.
void ParseCommandLine(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Plays provisioner and kubelet for Muster from a seed: boots, works, drains and switches off "
      "simulated "
      "machines as the Nodes ask, over the public API. Runs until SIGTERM or SIGINT; SIGUSR1 lets "
      "--fail_share of the Nodes fail, SIGUSR2 logs what happened since the last time, SIGHUP "
      "opens "
      "--log_file and --trace_file anew. Flags may "
      "be written with dashes too.");
  daemon::ShowInHelp("services/fleetsim/");
  std::vector<std::string> words(argv, argv + argc);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(WithUnderscores(word).data());
  const std::vector<char*> rest = absl::ParseCommandLine(argc, arguments.data());
  if (rest.size() > 1) {
    std::cerr << "error: unknown argument \"" << rest[1] << "\"; see --help\n";
    std::exit(2);
  }
}

}  // namespace

Settings ParseFlags(int argc, char** argv) {
  ParseCommandLine(argc, argv);
  Settings settings{.server = absl::GetFlag(FLAGS_target),
                    .machines = absl::GetFlag(FLAGS_register_machines),
                    .fleet = {.seed = absl::GetFlag(FLAGS_seed),
                              .boot_time = absl::GetFlag(FLAGS_boot_time),
                              .ready_time = absl::GetFlag(FLAGS_ready_time),
                              .drain_time = absl::GetFlag(FLAGS_drain_time),
                              .terminate_time = absl::GetFlag(FLAGS_terminate_time),
                              .spread = absl::GetFlag(FLAGS_spread),
                              .boot_failure_rate = absl::GetFlag(FLAGS_boot_failure_rate),
                              .work_arrival = absl::GetFlag(FLAGS_work_arrival),
                              .work_duration = absl::GetFlag(FLAGS_work_duration),
                              .interruptible_share = absl::GetFlag(FLAGS_interruptible_share),
                              .graceful_share = absl::GetFlag(FLAGS_graceful_share),
                              .grace_period = absl::GetFlag(FLAGS_grace_period),
                              .drain_block_rate = absl::GetFlag(FLAGS_drain_block_rate),
                              .drain_block_time = absl::GetFlag(FLAGS_drain_block_time),
                              .failure_arrival = absl::GetFlag(FLAGS_failure_arrival),
                              .recovery_arrival = absl::GetFlag(FLAGS_recovery_arrival),
                              .mark_arrival = absl::GetFlag(FLAGS_mark_arrival),
                              .mark_duration = absl::GetFlag(FLAGS_mark_duration),
                              .cordon_arrival = absl::GetFlag(FLAGS_cordon_arrival),
                              .cordon_duration = absl::GetFlag(FLAGS_cordon_duration),
                              .staging_failure_rate = absl::GetFlag(FLAGS_staging_failure_rate),
                              .removal_failure_rate = absl::GetFlag(FLAGS_removal_failure_rate)},
                    .report_batch = absl::GetFlag(FLAGS_report_batch),
                    .report_calls = absl::GetFlag(FLAGS_report_calls),
                    .fail_share = absl::GetFlag(FLAGS_fail_share),
                    .speed = absl::GetFlag(FLAGS_speed),
                    .cluster = {.kubeconfig = absl::GetFlag(FLAGS_kubeconfig),
                                .context = absl::GetFlag(FLAGS_kube_context),
                                .kubelet = {.pod_namespace = absl::GetFlag(FLAGS_pod_namespace),
                                            .daemon_pods = absl::GetFlag(FLAGS_daemon_pods)},
                                .calls = absl::GetFlag(FLAGS_kube_calls),
                                .lease_interval = absl::GetFlag(FLAGS_lease_interval)},
                    .kube_cluster = absl::GetFlag(FLAGS_kube_cluster)};
  if (settings.server.empty()) settings.server = absl::GetFlag(FLAGS_server);
  return settings;
}

}  // namespace muster::fleetsim
