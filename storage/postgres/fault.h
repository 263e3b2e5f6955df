#pragma once

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::storage {

// SQL that a test runs just before and just after one call of the database, where possible in the
// same round trip, so that the failure happens in Postgres itself. Each is empty or consists of
// statements that end in `;`, one a line; they must fail, unless they only change how the session
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
