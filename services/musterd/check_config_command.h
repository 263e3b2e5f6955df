#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace muster::musterd {

// `musterd check-config [serve|migrate] FILE...`: whether `musterd serve` (unless said), or `musterd migrate`, could go by these
// files of flags: their lines, the flags' values and bounds, and the files that they name. Opens no port, asks no database. The
// exit code: 0, or 1 after a line for every fault.
int RunCheckConfig(const std::vector<std::string>& words, std::ostream& out);

}  // namespace muster::musterd
