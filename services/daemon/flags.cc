#include "services/daemon/flags.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/build_info.h"
#include "services/common/error.h"

ABSL_FLAG(
    std::string, log_level, "info",
    "What is logged: debug, info (changes, refusals, what goes wrong), warning or error. At run "
    "time: --log_level_file and SIGHUP; a musterd also by `musterctl debug log-level`.");
ABSL_FLAG(
    std::string, log_level_file, "",
    "File whose first line is --log_level, and wins over it; read again at SIGHUP. A file that is "
    "not there says nothing.");
ABSL_FLAG(
    std::string, log_file, "",
    "File that log lines are appended to; opened anew at SIGHUP, for logrotate. Empty: stderr.");
ABSL_FLAG(
    std::string, trace_file, "",
    "File that spans are appended to, a request of OTLP/JSON a line; opened anew at SIGHUP. Empty: "
    "none.");
ABSL_FLAG(
    std::string, trace_endpoint, "",
    "Where spans are sent, e.g. http://127.0.0.1:4318/v1/traces of an OpenTelemetry collector. "
    "A user, a password and a query in it are not logged; on a command line all users of the "
    "machine see them, in a flag file those who may read it. Empty: nowhere.");
ABSL_FLAG(double, trace_sample, 1,
          "Share of the traces that begin here whose spans are recorded, 0 to 1, where there is a "
          "--trace_file or --trace_endpoint. Of traces that a caller began, the caller says so.");

namespace muster::daemon {

std::string VersionText() {
  return absl::StrCat(program_invocation_short_name, " ", build_info::kVersion, ", commit ",
                      build_info::kCommit, ", ", build_info::kBuildType, " build\n");
}

std::string FilesAndEnvironment(absl::string_view flag_file) {
  return absl::StrCat("\nFiles: --flagfile=FILE reads flags from a file (packages: ", flag_file,
                      R"().
One --flag=value a line; lines that begin with # say nothing. What comes later on
the command line counts. `check-config FILE` says what is wrong with one. The files
that flags name are read again as the flags say.

Environment: NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, as systemd sets them: it
is told READY=1, WATCHDOG=1 and STOPPING=1. RUNTIME_DIRECTORY, TMPDIR: where copies
of the TLS files that are in use lie (else /tmp). No flag is read from there, unless
--fromenv=NAME,... says so: then FLAGS_NAME.

Units: where the default ends with h, m or s it is a duration (500ms, 30s, 1h30m);
a number's unit is said with its flag.
)");
}

void ShowInHelp(const std::string& folder) {
  absl::FlagsUsageConfig config;
  config.contains_help_flags = [folder](absl::string_view file) {
    return absl::StrContains(file, folder) || absl::StrContains(file, "services/daemon/") ||
           absl::StrContains(file, "services/tls/");
  };
  config.contains_helpshort_flags = config.contains_help_flags;
  config.version_string = &VersionText;
  config.normalize_filename = [](absl::string_view file) {
    const size_t ours = file.find("services/");
    return std::string(ours == absl::string_view::npos ? file : file.substr(ours));
  };
  absl::SetFlagsUsageConfig(config);
}

absl::StatusOr<Options> OptionsFromFlags() {
  std::vector<error::FieldViolation> faults;
  Options options;
  if (const auto level = log::ParseLevel(absl::GetFlag(FLAGS_log_level))) {
    options.log_level = *level;
  } else {
    faults.push_back({"--log_level", absl::StrCat("is \"", absl::GetFlag(FLAGS_log_level),
                                                  "\"; allowed are debug, info, warning, error.")});
  }
  options.log_level_file = absl::GetFlag(FLAGS_log_level_file);
  options.log_file = absl::GetFlag(FLAGS_log_file);
  options.trace_file = absl::GetFlag(FLAGS_trace_file);
  options.trace_endpoint = absl::GetFlag(FLAGS_trace_endpoint);
  options.trace_sample = absl::GetFlag(FLAGS_trace_sample);
  if (!options.trace_endpoint.empty() && !absl::StartsWith(options.trace_endpoint, "http://") &&
      !absl::StartsWith(options.trace_endpoint, "https://")) {
    faults.push_back({"--trace_endpoint", "must begin with http:// or https://."});
  }
  if (!(options.trace_sample >= 0 && options.trace_sample <= 1))
    faults.push_back({"--trace_sample", "must be between 0 and 1."});
  if (!faults.empty()) return error::InvalidFields(std::move(faults));
  return options;
}

}  // namespace muster::daemon
