#pragma once

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::storage {

// SQL that a test has said just before and just after one call of the database, where possible in
// the same round trip, so that what goes wrong does so in Postgres itself. Each is empty or
// statements that end in `;`, one a line, and must fail unless it only changes how the session
// behaves.
struct Fault {
  std::string before = {};
  std::string after = {};
};

// What tests may break: asked before every call that a Transaction makes. `site` is
// `<purpose>/<statement>`: the purpose as given to the runner (`settle` while it settles), and the
// name of a prepared statement, `prepare <name>`, `begin`, `commit`, `rollback`, or the text of a
// statement without a name. Called from any thread; may block. Not set in production.
using FaultHook = std::function<Fault(absl::string_view site)>;

}  // namespace muster::storage
