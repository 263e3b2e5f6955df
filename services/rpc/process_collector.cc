#include "services/rpc/process_collector.h"

#include <prometheus/metric_family.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/rpc/metric_family.h"

namespace muster::rpc {
namespace {

using prometheus::MetricType;

std::string ReadAll(const char* path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

// The fields of /proc/self/stat from the third on (see proc(5)); empty when it cannot be read.
std::vector<std::string> StatFields() {
  const std::string text = ReadAll("/proc/self/stat");
  // The second field is the program's name in parentheses and may hold anything.
  const size_t end = text.rfind(") ");
  if (end == std::string::npos) return {};
  return absl::StrSplit(absl::string_view(text).substr(end + 2), ' ');
}

double Seconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return absl::ToDoubleSeconds(absl::DurationFromTimespec(time));
}

// Not from /proc/stat: a process may see of /proc only what is about processes (systemd's
// ProcSubset=pid). Looked at once: the clocks are read one after the other, and may be moved.
double BootTime() {
  static const double time = Seconds(CLOCK_REALTIME) - Seconds(CLOCK_BOOTTIME);
  return time;
}

std::optional<double> Number(const std::vector<std::string>& fields, size_t field_of_proc) {
  double number = 0;
  const size_t index = field_of_proc - 3;
  if (index >= fields.size() || !absl::SimpleAtod(fields[index], &number)) return std::nullopt;
  return number;
}

std::optional<double> OpenFds() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  if (error) return std::nullopt;
  double count = 0;
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (error) return std::nullopt;
    ++count;
  }
  return count - 1;  // the directory itself was open
}

class Families {
 public:
  void Add(const char* name, const char* help, MetricType type, std::optional<double> value) {
    if (!value) return;
    families_.push_back(type == MetricType::Counter ? Counter(name, help, *value)
                                                    : Gauge(name, help, *value));
  }
  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

std::optional<double> Scaled(std::optional<double> value, double factor) {
  return value ? std::optional<double>(*value * factor) : std::nullopt;
}

}  // namespace

std::vector<prometheus::MetricFamily> ProcessCollector::Collect() const {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::vector<std::string> stat = StatFields();
  const auto user = Number(stat, 14);
  const auto system = Number(stat, 15);
  const auto started = Number(stat, 22);
  rlimit fds = {};
  const bool has_limit = getrlimit(RLIMIT_NOFILE, &fds) == 0 && fds.rlim_cur != RLIM_INFINITY;

  Families out;
  out.Add("process_cpu_seconds_total", "User and system CPU time spent.", MetricType::Counter,
          user && system ? std::optional<double>((*user + *system) * tick) : std::nullopt);
  out.Add("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge,
          Scaled(Number(stat, 24), static_cast<double>(sysconf(_SC_PAGESIZE))));
  out.Add("process_virtual_memory_bytes", "Virtual memory.", MetricType::Gauge, Number(stat, 23));
  out.Add("process_open_fds", "Open file descriptors.", MetricType::Gauge, OpenFds());
  out.Add("process_max_fds", "Most file descriptors that may be open.", MetricType::Gauge,
          has_limit ? std::optional<double>(static_cast<double>(fds.rlim_cur)) : std::nullopt);
  out.Add("process_start_time_seconds", "Start of the process since the epoch.", MetricType::Gauge,
          started ? std::optional<double>(BootTime() + *started * tick) : std::nullopt);
  return out.Take();
}

}  // namespace muster::rpc
