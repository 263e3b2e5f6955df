#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/bench/load.h"

namespace muster::bench {

// The rounds of all works, and what became of them.
class Report {
 public:
  void Add(const std::string& work, const Rate& rate) { rounds_[work].push_back(rate); }
  // Operations a second of the median round; 0 when there is none.
  double Median(const std::string& work) const;

  // One work of the table: its name, and the name of what its ratio is to (empty: none).
  struct Row {
    std::string work = {};
    std::string yardstick = {};
  };
  // For people, with ratios of medians.
  std::string Table(const std::vector<Row>& rows) const;
  // One JSON object a line.
  std::string Json(const std::vector<Row>& rows) const;
  // A yardstick made of several works: the best of their medians.
  void Best(const std::string& name, const std::vector<std::string>& works);

 private:
  Rate MedianRate(const std::string& work) const;

  std::map<std::string, std::vector<Rate>> rounds_;
};

}  // namespace muster::bench
