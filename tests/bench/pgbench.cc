#include "tests/bench/pgbench.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"

namespace muster::bench {
namespace {

namespace fs = std::filesystem;

// A fresh folder below the system's for temporary files.
absl::StatusOr<std::string> MakeFolder() {
  std::string folder = (fs::temp_directory_path() / "muster-pgbench.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    return absl::FailedPreconditionError(absl::StrCat(folder, " cannot be made."));
  return folder;
}

absl::StatusOr<std::string> OutputOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return absl::FailedPreconditionError("popen failed");
  std::string output;
  char buffer[4096];
  while (const size_t read = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, read);
  if (pclose(pipe) != 0)
    return absl::FailedPreconditionError(absl::StrCat(command, " failed:\n", output));
  return output;
}

// Transactions a second, the time to connect left out.
absl::StatusOr<double> RateIn(const std::string& output) {
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    double rate = 0;
    if (absl::ConsumePrefix(&line, "tps = ") &&
        absl::SimpleAtod(line.substr(0, line.find(' ')), &rate))
      return rate;
  }
  return absl::FailedPreconditionError(absl::StrCat("pgbench gave no rate:\n", output));
}

// Of every transaction: a line `client number microseconds script second microsecond` each, in a
// file a thread.
std::vector<float> LatenciesIn(const std::string& folder) {
  std::vector<float> latencies_ms;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      float microseconds = 0;
      if (words.size() > 2 && absl::SimpleAtof(words[2], &microseconds))
        latencies_ms.push_back(microseconds / 1000);
    }
  }
  return latencies_ms;
}

}  // namespace

absl::StatusOr<Rate> RunPgbench(const PgbenchOptions& options, const std::string& script,
                                int clients, absl::Duration measured) {
  ASSIGN_OR_RETURN(const std::string folder, MakeFolder());
  const auto cleanup = absl::MakeCleanup([&folder] { fs::remove_all(folder); });
  const auto run = [&options](absl::string_view file, absl::string_view arguments) {
    return OutputOf(absl::StrCat(options.program, " -n -f '", options.scripts_dir, "/", file, "' ",
                                 arguments, " '", options.conninfo, "' 2>&1"));
  };
  // The hot row leaves thousands of dead ones behind, which would slow down whoever comes next.
  RETURN_IF_ERROR(run("yardstick_tidy.pgbench", "-t 1").status());
  const std::string arguments =
      absl::StrCat("-M prepared -c ", clients, " -j ", clients < 2 ? 1 : 2, " -T ",
                   absl::ToInt64Seconds(measured), " -l --log-prefix='", folder, "/log'");
  ASSIGN_OR_RETURN(const std::string output, run(script, arguments));
  ASSIGN_OR_RETURN(const double per_second, RateIn(output));
  Rate rate = RateOf(0, 0, measured, LatenciesIn(folder));
  rate.per_second = per_second;
  return rate;
}

std::vector<Work> PgbenchWorks(const PgbenchOptions& options) {
  std::vector<Work> works;
  const auto add = [&](absl::string_view name, const std::string& script, int clients) {
    Work work{absl::StrCat(name, "_", clients)};
    work.measure = [options, script, clients](absl::Duration measured) {
      return RunPgbench(options, script, clients, measured);
    };
    works.push_back(std::move(work));
  };
  for (const int clients : {1, 2, 4, 8, 16, 32, 64})
    add("pgbench_hot", "yardstick_hold.pgbench", clients);
  for (const int clients : {1, 8, 64})
    add("pgbench_statements", "yardstick_statements.pgbench", clients);
  return works;
}

}  // namespace muster::bench
