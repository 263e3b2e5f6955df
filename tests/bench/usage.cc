#include "tests/bench/usage.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::bench {
namespace {

namespace fs = std::filesystem;

double Tick() { return 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK)); }

// The fields of a stat file from the third on (the second, the name, may hold anything).
std::vector<std::string> StatFields(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(line.substr(name_end + 1));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

double Number(const std::vector<std::string>& fields, size_t at) {
  return at < fields.size() ? std::strtod(fields[at].c_str(), nullptr) : 0;
}

// Positions in StatFields: parent, user and system time, and those of children that were waited
// for.
enum : size_t { kParent = 1, kUser = 11, kSystem = 12, kChildUser = 13, kChildSystem = 14 };

double CpuOf(const std::string& stat_file) {
  const std::vector<std::string> fields = StatFields(stat_file);
  return (Number(fields, kUser) + Number(fields, kSystem)) * Tick();
}

std::vector<pid_t> Numbers(const std::string& folder) {
  std::vector<pid_t> numbers;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    pid_t number = 0;
    if (absl::SimpleAtoi(it->path().filename().string(), &number)) numbers.push_back(number);
  }
  return numbers;
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const pid_t pid : Numbers("/proc")) {
    if (static_cast<pid_t>(Number(StatFields(absl::StrCat("/proc/", pid, "/stat")), kParent)) ==
        parent)
      children.push_back(pid);
  }
  return children;
}

// The KiB of a line such as `Pss:  123 kB`, in bytes.
int64_t KibOf(const std::string& file, const std::string& word) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!absl::StartsWith(line, word)) continue;
    return std::strtoll(line.c_str() + word.size(), nullptr, 10) * 1024;
  }
  return 0;
}

}  // namespace

double CpuSeconds(pid_t pid) { return CpuOf(absl::StrCat("/proc/", pid, "/stat")); }

double TreeCpuSeconds(pid_t pid) {
  const std::vector<std::string> fields = StatFields(absl::StrCat("/proc/", pid, "/stat"));
  double seconds =
      CpuSeconds(pid) + (Number(fields, kChildUser) + Number(fields, kChildSystem)) * Tick();
  for (const pid_t child : ChildrenOf(pid)) seconds += CpuSeconds(child);
  return seconds;
}

std::map<pid_t, double> ThreadCpuSeconds(pid_t pid) {
  std::map<pid_t, double> threads;
  const std::string folder = absl::StrCat("/proc/", pid, "/task");
  for (const pid_t thread : Numbers(folder))
    threads[thread] = CpuOf(absl::StrCat(folder, "/", thread, "/stat"));
  return threads;
}

double MachineCpuSeconds() {
  std::ifstream in("/proc/stat");
  std::string word;
  // user nice system idle iowait irq softirq steal
  double times[8] = {};
  in >> word;
  for (double& time : times) in >> time;
  return (times[0] + times[1] + times[2] + times[5] + times[6]) * Tick();
}

double LoadAverage() {
  std::ifstream in("/proc/loadavg");
  double load = 0;
  in >> load;
  return load;
}

int64_t ResidentBytes(pid_t pid) { return KibOf(absl::StrCat("/proc/", pid, "/status"), "VmRSS:"); }

int64_t TreeResidentBytes(pid_t pid) {
  int64_t bytes = KibOf(absl::StrCat("/proc/", pid, "/smaps_rollup"), "Pss:");
  for (const pid_t child : ChildrenOf(pid))
    bytes += KibOf(absl::StrCat("/proc/", child, "/smaps_rollup"), "Pss:");
  return bytes;
}

}  // namespace muster::bench
