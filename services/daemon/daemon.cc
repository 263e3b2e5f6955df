#include "services/daemon/daemon.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/build_info.h"
#include "services/common/error.h"
#include "services/common/log_output.h"
#include "services/common/status_macros.h"
#include "services/daemon/findings.h"
#include "services/trace/span.h"

namespace muster::daemon {
namespace {

// All that BlockSignals blocked.
sigset_t& Blocked() {
  static sigset_t signals = [] {
    sigset_t none;
    sigemptyset(&none);
    return none;
  }();
  return signals;
}

// Host and process: different from all others'.
std::string Instance() {
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  return absl::StrCat(host.data(), "/", getpid());
}

absl::Status CheckAccess(const std::string& written, const char* flag, const std::string& path) {
  if (access(written.c_str(), W_OK) == 0) return absl::OkStatus();
  return error::InvalidField(flag,
                             absl::StrCat(path, " cannot be written: ", std::strerror(errno), "."));
}

// nullopt: the file is not there, or says nothing.
absl::StatusOr<std::optional<log::Level>> LevelIn(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  const auto level = log::ParseLevel(absl::StripAsciiWhitespace(line));
  if (!level) {
    return error::InvalidField("--log_level_file",
                               absl::StrCat(file, " must say debug, info, warning or error."));
  }
  return level;
}

}  // namespace

absl::Status CheckWritable(const char* flag, const std::string& path) {
  const bool is_there = access(path.c_str(), F_OK) == 0;
  return is_there ? CheckAccess(path, flag, path) : CheckReplaceable(flag, path);
}

absl::Status CheckReplaceable(const char* flag, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  return CheckAccess(std::filesystem::absolute(path).parent_path(), flag, path);
}

absl::Status CheckFiles(const Options& options) {
  Findings findings;
  findings.Add("--log_level_file", LevelIn(options.log_level_file).status());
  findings.Add("--log_file", CheckWritable("--log_file", options.log_file));
  findings.Add("--trace_file", CheckWritable("--trace_file", options.trace_file));
  return findings.status();
}

void Daemon::BlockSignals(std::initializer_list<int> others) {
  sigset_t& signals = Blocked();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  for (const int signal : others) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const Options& options) {
  auto daemon = std::unique_ptr<Daemon>(new Daemon(options));
  log::SetLevel(options.log_level);
  RETURN_IF_ERROR(daemon->ReadLevel());
  RETURN_IF_ERROR(log::OpenOutput(options.log_file));
  if (options.trace_file.empty() && options.trace_endpoint.empty()) return daemon;
  ASSIGN_OR_RETURN(daemon->exporter_,
                   trace::Exporter::Create({.service = {.name = program_invocation_short_name,
                                                        .version = build_info::kVersion,
                                                        .instance = Instance()},
                                            .file = options.trace_file,
                                            .endpoint = options.trace_endpoint}));
  trace::SetRecorder(daemon->exporter_.get(), options.trace_sample);
  return daemon;
}

Daemon::~Daemon() {
  if (exporter_ != nullptr) {
    trace::SetRecorder(nullptr, 0);
    exporter_->Stop();
    // Never destroyed: a thread of gRPC's may be about to record a span.
    static const trace::Exporter* const ended = exporter_.release();
    (void)ended;
  }
  log::CloseOutput();
}

absl::Status Daemon::ReadLevel() const {
  if (options_.log_level_file.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<log::Level> level, LevelIn(options_.log_level_file));
  if (level) log::SetLevel(*level);
  return absl::OkStatus();
}

void Daemon::Reload() {
  std::vector<Part> parts = {{"log_file", [] { return log::ReopenOutput(); }},
                             {"log_level_file", [this] { return ReadLevel(); }}};
  if (exporter_ != nullptr)
    parts.push_back({"trace_file", [this] { return exporter_->ReopenFile(); }});
  parts.insert(parts.end(), reloads_.begin(), reloads_.end());
  for (const Part& part : parts) {
    const absl::Status status = part.reload();
    if (!status.ok())
      log::Error("a file could not be read or opened again; what was stays",
                 {{"flag", part.what}, {"error", status}});
  }
  log::Info("files were read and opened again", {{"log_level", LevelName(log::CurrentLevel())}});
}

int Daemon::WaitForSignal() {
  while (true) {
    int signal = 0;
    sigwait(&Blocked(), &signal);
    if (signal != SIGHUP) return signal;
    Reload();
  }
}

}  // namespace muster::daemon
