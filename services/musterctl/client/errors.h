#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::musterctl {

// Marks an error as a server's: gives it a reason, the name of its code if the server gave none.
// Errors that arise in musterctl itself have no reason.
absl::Status FromServer(const absl::Status& status);

// Whether the server did not answer (UNAVAILABLE, DEADLINE_EXCEEDED); it may do so later.
bool IsAway(const absl::Status& status);
// A FAILED_PRECONDITION for which PassesBy is true: the cells that answered do not have it, others
// may.
absl::Status KnownByOthers(absl::string_view message);
// Whether the same request may succeed later: nobody who knows answered now, or too much was asked
// at once.
bool PassesBy(const absl::Status& status);
// Whether a call got no answer. False for a DEADLINE_EXCEEDED of musterctl's own waits, which has
// no reason.
bool NoneAnswers(const absl::Status& status);
// Whether it is not known if the call was carried out.
bool IsInDoubt(const absl::Status& status);

// The same error, its field violations under other names.
absl::Status RenameFields(const absl::Status& status,
                          const std::function<std::string(const std::string& field)>& rename);

// A field's path in a request, `zone.instance_types[0]`, as a manifest has it:
// `spec.instanceTypes[0]`. Paths that are a manifest's already stay as they are.
std::string ManifestPath(absl::string_view field);

// For people, each line beginning with `error: `: one line a field violation, `error: <field>:
// <what>`; without any, the message. The last line ends with the code and, where it says more, the
// reason.
std::string RenderError(const absl::Status& status);

}  // namespace muster::musterctl
