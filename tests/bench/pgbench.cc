#include "tests/bench/pgbench.h"

#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::bench {

absl::StatusOr<double> RunPgbench(const std::string& pgbench, const std::string& conninfo,
                                  const std::string& script, int clients, int seconds) {
  const std::string command =
      absl::StrCat(pgbench, " -n -M prepared -f ", script, " -c ", clients, " -j ",
                   clients < 2 ? 1 : 2, " -T ", seconds, " '", conninfo, "' 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return absl::FailedPreconditionError("popen failed");
  std::string output;
  char buffer[4096];
  while (const size_t read = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, read);
  const int code = pclose(pipe);
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    double tps = 0;
    if (code == 0 && absl::ConsumePrefix(&line, "tps = ") &&
        absl::SimpleAtod(line.substr(0, line.find(' ')), &tps))
      return tps;
  }
  return absl::FailedPreconditionError(absl::StrCat(command, " failed:\n", output));
}

}  // namespace muster::bench
