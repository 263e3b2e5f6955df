#pragma once

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/common/error.h"

namespace muster::daemon {

// Checks files of flags as `--flagfile=FILE` reads them, before a program uses them: one
// `--flag=value` a line, empty lines, lines that begin with `#`. Stricter than Abseil, which takes
// what nobody means: a flag twice, white space at a line's end (as part of the value), a value on
// the next line, another file.
class FlagFiles {
 public:
  // Sets the flags that the file gives. INVALID_ARGUMENT with every fault, which names file, line,
  // flag and what is allowed.
  absl::Status Read(const std::string& path);

  // Where a flag was given, as `FILE:LINE: `; empty: in no file.
  std::string PlaceOf(absl::string_view flag) const;

 private:
  void ReadLine(absl::string_view line, const std::string& place,
                std::vector<error::FieldViolation>& faults);

  std::map<std::string, std::string> places_;  // by flag, e.g. `--log_level`
};

// `PROGRAM check-config FILE...`: reads the files and, if they have no faults, calls `check` for
// the flags that they set. Prints a line for each fault, or that there is none. Returns the
// program's exit code: 0, or 1 for faults.
int CheckConfig(const std::vector<std::string>& files, const std::function<absl::Status()>& check,
                std::ostream& out);

}  // namespace muster::daemon
