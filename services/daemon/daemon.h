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

// INVALID_ARGUMENT: the file of the flag could not be made or appended to. It is neither; an empty path is none.
absl::Status CheckWritable(const char* flag, const std::string& path);
// The same of a file that is replaced.
absl::Status CheckReplaceable(const char* flag, const std::string& path);
// All that Start would say of the files of `options`, one after the other; they are left as they are.
absl::Status CheckFiles(const Options& options);

// A program's log, spans and signals. To be made first, once, and to go last: what the rest logs and
// records until then goes out.
class Daemon {
 public:
  // Blocks SIGINT, SIGTERM, SIGHUP and `others`, which only WaitForSignal sees from then on; a pipe that
  // breaks is no signal. Before any thread starts.
  static void BlockSignals(std::initializer_list<int> others = {});

  // INVALID_ARGUMENT: a file cannot be written, or --log_level_file says what is no level.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const Options& options);
  ~Daemon();

  // At SIGHUP, after the log: reads a file again. What fails is logged, and nothing changes.
  void OnReload(std::string what, std::function<absl::Status()> reload) {
    reloads_.push_back({std::move(what), std::move(reload)});
  }

  // The next signal but SIGHUP, which is obeyed meanwhile. By one thread; after BlockSignals.
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
