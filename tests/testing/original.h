#pragma once

#include <string>
#include <vector>

#include "tests/testing/sql.h"

namespace muster::testing {

// What a database contains when it was just cloned from its template. To bring a used database back
// to that costs a tenth of a new one, which needs a checkpoint and a first session that builds its
// catalogue cache.
class Original {
 public:
  // `session` is on a database that nobody used yet.
  explicit Original(KeptSession& session);

  // Ends the other sessions of `session`'s database, a clone of the same template, and gives it the
  // template's rows again. False, and no row is touched: more than rows was changed (DDL, grants,
  // settings, sequences).
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
