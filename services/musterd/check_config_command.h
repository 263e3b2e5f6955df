#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace muster::musterd {

// `musterd check-config [serve|migrate] FILE...`: checks whether `musterd serve` (the default) or
// `musterd migrate` could run with these files of flags: their lines, the flags' values and bounds,
// and the files that they name. Opens no port, asks no database. Returns the exit code: 0, or 1
// after a line for every fault.
int RunCheckConfig(const std::vector<std::string>& words, std::ostream& out);

}  // namespace muster::musterd
