#pragma once

#include <string>
#include <vector>

#include "tests/testing/sql.h"

namespace muster::testing {

// What a database is when it was just cloned from its template. To bring a used one back to that
// costs a tenth of a new one: no checkpoint, and no catalogue that its first session builds.
class Original {
 public:
  // `session` is on a database that nobody used yet.
  explicit Original(KeptSession& session);

  // Brings the database of `session`, a clone of the same template, back: its other sessions are
  // ended, its rows are those of the template. False: it cannot be had back so, because something
  // else than rows was changed (DDL, grants, settings).
  bool Restore(KeptSession& session) const;

 private:
  struct Table {
    std::string name = {};  // with its schema
    std::string rows = {};  // as JSON
  };

  std::string catalogs_ = {};
  std::vector<Table> seeded_ = {};  // those with rows
};

}  // namespace muster::testing
