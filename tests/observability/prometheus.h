#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Asks a running Prometheus by its HTTP API. Throws if it does not answer.
namespace muster::testing {

// One of the series that an expression gave.
struct Series {
  std::map<std::string, std::string> labels = {};
  std::string value = {};  // as Prometheus writes it: `0.25`, `NaN`
};

struct Answer {
  std::vector<Series> all = {};
  std::string error = {};  // what Prometheus said against the query; empty: nothing

  int series() const { return static_cast<int>(all.size()); }
  // How many have a value that is one (not NaN).
  int numbers() const;
};

// An alert that fires, with what it says to people.
struct FiringAlert {
  std::string name = {};
  std::string severity = {};
  std::string service = {};
  std::string summary = {};
  std::string description = {};
};

// The first and the last evaluation at which an alert fired, by Prometheus' clock.
struct FiringTimes {
  absl::Time first = {};
  absl::Time last = {};
};

class Prometheus {
 public:
  // `address`: `127.0.0.1:9090`.
  explicit Prometheus(std::string address) : address_(std::move(address)) {}

  bool ready() const;
  // The expression now.
  Answer Ask(const std::string& expression) const;
  // `rule: error` of every rule that does not work or was not evaluated yet; a line of its own if
  // there are no rules.
  std::vector<std::string> BrokenRules() const;
  // The labels (JSON) and value of every series that the expression gives now; the error, if it is
  // refused; empty: no data.
  std::vector<std::string> Values(const std::string& expression) const;
  // The alerts that fire, by name.
  std::vector<FiringAlert> Alerts() const;
  // Their names.
  std::set<std::string> Firing() const;
  // When the alert fired in the last ten minutes, but not before `since`, for whichever service;
  // nullopt: it did not.
  std::optional<FiringTimes> TimesOf(const std::string& alert, absl::Time since) const;
  // Targets that are up, of a job.
  int TargetsUp(absl::string_view job) const;

 private:
  std::string Get(const std::string& path, const std::string& query = "") const;

  const std::string address_;
};

}  // namespace muster::testing
