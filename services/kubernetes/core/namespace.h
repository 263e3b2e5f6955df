#pragma once

#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "services/kubernetes/core/objects.h"

namespace muster::kubernetes {

// The server-side apply that gives a namespace its organization: `control-plane` for those named,
// the organization's id for every other. It makes none: one of another uid, or that is gone, is a
// conflict. Nullopt: it has it already, or is being deleted.
std::optional<Json> NamespacePatch(const NamespaceObject& object, absl::string_view organization,
                                   const std::set<std::string>& control_plane);

}  // namespace muster::kubernetes
