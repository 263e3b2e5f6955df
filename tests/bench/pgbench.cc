#include "tests/bench/pgbench.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

// The number that follows `words` at the beginning of a line.
absl::StatusOr<double> NumberAfter(absl::string_view words, const std::string& output) {
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    double number = 0;
    if (absl::ConsumePrefix(&line, words) &&
        absl::SimpleAtod(line.substr(0, line.find_first_of(" /")), &number))
      return number;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("pgbench did not say \"", words, "\":\n", output));
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

// A script, and by how many.
struct Script {
  std::string file = {};
  int clients = 1;
  int operations = 1;  // a transaction
  std::string variables = {};
};

// `{element, element...}`, `count` of them.
std::string Array(int count, absl::FunctionRef<std::string(int)> element) {
  std::vector<std::string> elements;
  for (int i = 0; i < count; ++i) elements.push_back(element(i));
  return absl::StrCat("{", absl::StrJoin(elements, ","), "}");
}

// Its variables are the arrays, so that they travel as parameters.
Script ArraysScript(int holds) {
  const auto same = [](std::string value) {
    return [value = std::move(value)](int) { return value; };
  };
  const std::string names =
      Array(holds, [](int i) { return absl::StrCat("hot/holdings/array-", i); });
  return {.file = "yardstick_arrays.pgbench",
          .operations = holds,
          .variables =
              absl::StrCat("-D count=", holds, " -D names='", names, "' -D ones='",
                           Array(holds, same("1")), "' -D zeros='", Array(holds, same("0")), "'")};
}

// Tidies the yardstick's tables, then runs `script` for `measured` (prepared statements, as many
// threads as cores). A failed transaction ends pgbench. FAILED_PRECONDITION: it failed; its output
// is in the message.
absl::StatusOr<Rate> RunPgbench(const PgbenchOptions& options, const Script& script,
                                absl::Duration measured, CpuMeter& meter) {
  ASSIGN_OR_RETURN(const std::string folder, MakeFolder());
  const auto cleanup = absl::MakeCleanup([&folder] { fs::remove_all(folder); });
  const auto run = [&options](absl::string_view file, absl::string_view arguments) {
    return OutputOf(absl::StrCat(options.program, " -n -f '", options.scripts_dir, "/", file, "' ",
                                 arguments, " '", options.conninfo, "' 2>&1"));
  };
  // The hot row leaves thousands of dead ones behind, which would slow down whoever comes next.
  RETURN_IF_ERROR(run("yardstick_tidy.pgbench", "-t 1").status());
  const std::string arguments = absl::StrCat(
      "-M prepared -c ", script.clients, " -j ", script.clients < 2 ? 1 : 2, " -T ",
      absl::ToInt64Seconds(measured), " ", script.variables, " -l --log-prefix='", folder, "/log'");
  meter.Begin();
  ASSIGN_OR_RETURN(const std::string output, run(script.file, arguments));
  meter.End();
  // The time to connect is left out.
  ASSIGN_OR_RETURN(const double per_second, NumberAfter("tps = ", output));
  ASSIGN_OR_RETURN(const double transactions,
                   NumberAfter("number of transactions actually processed: ", output));
  Rate rate = RateOf(static_cast<int64_t>(transactions) * script.operations, 0, measured,
                     LatenciesIn(folder));
  rate.per_second = per_second * script.operations;
  return rate;
}

}  // namespace

std::vector<Work> PgbenchWorks(const PgbenchOptions& options) {
  std::vector<Work> works;
  const auto add = [&](std::string name, Script script) {
    Work work{std::move(name)};
    work.measure = [options, script = std::move(script)](absl::Duration measured, CpuMeter& meter) {
      return RunPgbench(options, script, measured, meter);
    };
    works.push_back(std::move(work));
  };
  for (const int clients : {1, 2, 4, 8, 16, 32, 64})
    add(absl::StrCat("pgbench_hot_", clients), {"yardstick_hold.pgbench", clients});
  for (const int clients : {1, 8, 64})
    add(absl::StrCat("pgbench_statements_", clients), {"yardstick_statements.pgbench", clients});
  add("pgbench_arrays_1000", ArraysScript(1000));
  return works;
}

}  // namespace muster::bench
