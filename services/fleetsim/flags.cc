#include "services/fleetsim/flags.h"

#include <algorithm>
#include <iostream>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

ABSL_FLAG(std::string, server, "127.0.0.1:7600", "Muster's API, a gRPC target.");
ABSL_FLAG(std::string, target, "", "The same as --server, and wins over it.");
ABSL_FLAG(uint64_t, seed, 1, "What happens to each machine follows from it: 0 to 2^64 - 1.");
ABSL_FLAG(absl::Duration, boot_time, absl::Seconds(3),
          "Mean time from the start of a boot to its end.");
ABSL_FLAG(absl::Duration, ready_time, absl::Milliseconds(500),
          "Mean time from registered to ready.");
ABSL_FLAG(absl::Duration, drain_time, absl::Seconds(2), "Mean time that a drain takes.");
ABSL_FLAG(absl::Duration, terminate_time, absl::Seconds(2), "Mean time that switching off takes.");
ABSL_FLAG(double, spread, 0.3, "The four above vary by this fraction of themselves, 0 to 1.");
ABSL_FLAG(double, boot_failure_rate, 0, "Share of boots that fail, 0 to 1.");
ABSL_FLAG(absl::Duration, work_arrival, absl::ZeroDuration(),
          "Mean time until work starts on an idle Node; 0: no work ever starts.");
ABSL_FLAG(absl::Duration, work_duration, absl::Minutes(10), "Mean time that work takes.");
ABSL_FLAG(int, report_batch, 500, "Most Nodes in one ReportNodes call, 1 to 500.");
ABSL_FLAG(int, report_calls, 2, "Most ReportNodes calls at a time, 1 to 16.");
ABSL_FLAG(std::string, register_machines, "",
          "Machines to register at start: ZONE:TYPE:COUNT[:MACHINES A RACK], several separated by "
          "commas. Racks "
          "of 8 unless said. Zone and type may be published later.");
ABSL_FLAG(double, speed, 1, "All times are divided by it, above 0.");

namespace muster::fleetsim {
namespace {

// `--boot-time=3s` as Abseil wants it: `--boot_time=3s`.
std::string& WithUnderscores(std::string& word) {
  if (!absl::StartsWith(word, "--")) return word;
  const auto name_end = std::find(word.begin(), word.end(), '=');
  std::replace(word.begin() + 2, name_end, '-', '_');
  return word;
}

}  // namespace

Settings ParseFlags(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Plays provisioner and kubelet for Muster from a seed: boots, works, drains and switches off "
      "simulated "
      "machines as the Nodes ask, over the public API. Runs until SIGTERM or SIGINT; SIGUSR2 logs "
      "what happened since the last time. Flags may be written with dashes too.");
  absl::FlagsUsageConfig config;
  config.contains_help_flags = [](absl::string_view file) {
    return absl::StrContains(file, "fleetsim/flags.cc");
  };
  config.contains_helpshort_flags = config.contains_help_flags;
  absl::SetFlagsUsageConfig(config);
  std::vector<std::string> words(argv, argv + argc);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(WithUnderscores(word).data());
  const std::vector<char*> rest = absl::ParseCommandLine(argc, arguments.data());
  if (rest.size() > 1) {
    std::cerr << "error: unknown argument \"" << rest[1] << "\"; see --help\n";
    std::exit(2);
  }
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
                              .work_duration = absl::GetFlag(FLAGS_work_duration)},
                    .report_batch = absl::GetFlag(FLAGS_report_batch),
                    .report_calls = absl::GetFlag(FLAGS_report_calls),
                    .speed = absl::GetFlag(FLAGS_speed)};
  if (settings.server.empty()) settings.server = absl::GetFlag(FLAGS_server);
  return settings;
}

}  // namespace muster::fleetsim
