#pragma once

#include "services/fleetsim/options.h"

namespace muster::fleetsim {

// Reads the command line. Ends the process on `--help` and on a flag that there is not.
Settings ParseFlags(int argc, char** argv);

}  // namespace muster::fleetsim
