#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::testing {

// What a SELECT gave: rows of fields, nullopt for NULL.
using SqlRows = std::vector<std::vector<std::optional<std::string>>>;

// Runs `sql` (several statements are one transaction) on a connection of its own and returns the
// last one's rows. Throws SqlError, which fails the test that does not expect it.
SqlRows RunSql(const std::string& conninfo, const std::string& sql);

// Thrown by RunSql.
class SqlError : public std::runtime_error {
 public:
  SqlError(const std::string& what, std::string state)
      : std::runtime_error(what), state_(std::move(state)) {}
  // The SQLSTATE, e.g. 42501; empty when there was no connection.
  const std::string& state() const { return state_; }

 private:
  std::string state_ = {};
};

}  // namespace muster::testing
