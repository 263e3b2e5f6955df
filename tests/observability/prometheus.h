#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Asks a Prometheus that runs, by its HTTP API. Whoever does not answer throws.
namespace muster::testing {

struct Answer {
  int series = 0;
  int numbers = 0;         // of these, how many have a value that is one (not NaN)
  std::string error = {};  // what Prometheus said against the query; empty: nothing
};

class Prometheus {
 public:
  // `address`: `127.0.0.1:9090`.
  explicit Prometheus(std::string address) : address_(std::move(address)) {}

  bool ready() const;
  // The expression now.
  Answer Ask(const std::string& expression) const;
  // `rule: error` of every rule that does not work; those that were not evaluated yet count.
  std::vector<std::string> BrokenRules() const;
  // Targets that are up, of a job.
  int TargetsUp(absl::string_view job) const;

 private:
  std::string Get(const std::string& path, const std::string& query = "") const;

  const std::string address_;
};

}  // namespace muster::testing
