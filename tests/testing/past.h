#pragma once

#include <string>

#include "tests/testing/test_database.h"

namespace muster::testing {

// Keeps a copy of a schema's rows and puts them back later, as a restore from a backup does: the
// history then has a new name (as by `musterd migrate --new_history`). A schema has one Past at a
// time: the next one replaces the copy. `database` must outlive it.
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
