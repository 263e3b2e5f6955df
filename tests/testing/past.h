#pragma once

#include <string>

#include "tests/testing/test_database.h"

namespace muster::testing {

// A schema of a database as it is now, to be restored later as from a backup: its rows are put
// back, and the history has a new name (`musterd migrate --new_history`).
class Past {
 public:
  Past(const TestDatabase& database, std::string schema);

  // Returns the new history's name. No server may write meanwhile.
  std::string Restore() const;

 private:
  const TestDatabase& database_;
  const std::string schema_;
  const std::string kept_;  // the schema that keeps it
};

}  // namespace muster::testing
