#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::musterctl {

// A server's error: it says a reason, its code's name where the server said none. Whatever else goes
// wrong here says none.
absl::Status FromServer(const absl::Status& status);

// Whoever was asked did not answer, and may do so later.
bool IsAway(const absl::Status& status);
// FAILED_PRECONDITION that passes by: those that answer do not know, and others may.
absl::Status KnownByOthers(absl::string_view message);
// The same may be answered later: nobody who knows did now, or too much was asked at once.
bool PassesBy(const absl::Status& status);
// So it is with a call: not with a wait of ours that is over, which no server told.
bool NoneAnswers(const absl::Status& status);
// Nobody knows whether it was done.
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
