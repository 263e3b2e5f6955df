#pragma once

#include <csignal>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/common/log.h"
#include "services/trace/exporter.h"

namespace muster::daemon {

struct Options {
  log::Level log_level = log::Level::kInfo;
  std::string log_level_file = {};  // empty: none
  std::string log_file = {};        // empty: stderr
  std::string trace_file = {};      // empty: none
  std::string trace_endpoint = {};  // empty: none
  double trace_sample = 1;
};

// Whether the file of the flag could be made, or appended to; does neither. An empty path is OK.
// INVALID_ARGUMENT.
absl::Status CheckWritable(const char* flag, const std::string& path);
// The same for a file that is replaced as a whole.
absl::Status CheckReplaceable(const char* flag, const std::string& path);
// All errors that Start would return about the files of `options`, in one status; leaves the files
// as they are.
absl::Status CheckFiles(const Options& options);

// A program's log, spans and signals. To be made once, before all else, and destroyed last, so that
// what the rest logs and records goes out.
class Daemon {
 public:
  // Blocks SIGINT, SIGTERM, SIGHUP and `others`, which only WaitForSignal sees from then on, and
  // ignores SIGPIPE. To be called before any thread starts.
  static void BlockSignals(std::initializer_list<int> others = {});

  // INVALID_ARGUMENT: a file cannot be written, or --log_level_file does not hold a level.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const Options& options);
  ~Daemon();

  // `reload` is called at each SIGHUP, after the log's files were opened anew, to read a file
  // again. Its error is logged as about `what`.
  void OnReload(std::string what, std::function<absl::Status()> reload) {
    reloads_.push_back({std::move(what), std::move(reload)});
  }

  // Waits for the next signal other than SIGHUP, and calls Reload at each SIGHUP. For one thread;
  // after BlockSignals.
  int WaitForSignal();
  // What SIGHUP does.
  void Reload();

 private:
  struct Part {
    std::string what = {};
    std::function<absl::Status()> reload = {};
  };

  explicit Daemon(const Options& options) : options_(options) {}
  absl::Status ReadLevel() const;

  const Options options_;
  std::unique_ptr<trace::Exporter> exporter_;
  std::vector<Part> reloads_;
};

}  // namespace muster::daemon
