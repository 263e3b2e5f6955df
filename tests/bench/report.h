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
  // Makes `name` the best of all works whose names begin with `prefix`, by their medians; nothing
  // when there is none.
  void AddBest(const std::string& name, const std::string& prefix);

  // One work of the table: its name, and the names of what its ratios are to.
  struct Row {
    std::string work = {};
    std::vector<std::string> yardsticks = {};
  };
  // For people, with ratios of medians.
  std::string Table(const std::vector<Row>& rows) const;
  // One JSON object a line. `yardstick` and `ratio` are the first ones, `also` has the others;
  // `ratio` is 0 when there is none.
  std::string Json(const std::vector<Row>& rows) const;

  // The median round by rate, with the failures of all rounds; nothing when it was not measured.
  Rate Median(const std::string& work) const;
  // Of medians; 0: one of them was not measured.
  double Ratio(const std::string& work, const std::string& yardstick) const;

 private:
  std::string JsonOf(const Row& row) const;

  std::map<std::string, std::vector<Rate>> rounds_;
};

}  // namespace muster::bench
