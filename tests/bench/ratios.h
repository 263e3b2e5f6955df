#pragma once

#include <string>
#include <vector>

#include "tests/bench/report.h"

namespace muster::bench {

// One of the figures that the engine is held to.
struct Ratio {
  std::string name = {};  // `work/yardstick`
  double value = 0;
  double goal = 0;
  bool at_least = true;  // `value` should be `goal` at least; false: at most
};

// The ratios whose works were all measured.
std::vector<Ratio> RatiosOf(const Report& report);

// For people; empty when there are none.
std::string RatioTable(const std::vector<Ratio>& ratios);
// One line: `{"ratios": {"work/yardstick": 1.234, ...}}`.
std::string RatioJson(const std::vector<Ratio>& ratios);

}  // namespace muster::bench
