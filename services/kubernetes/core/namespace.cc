#include "services/kubernetes/core/namespace.h"

#include "services/kubernetes/core/names.h"

namespace muster::kubernetes {

std::optional<Json> NamespacePatch(const NamespaceObject& object, absl::string_view organization,
                                   const std::set<std::string>& control_plane) {
  const std::string wanted(control_plane.contains(object.name) ? kControlPlane : organization);
  if (object.deleting || object.organization == wanted) return std::nullopt;
  return Json{
      {"apiVersion", "v1"},
      {"kind", "Namespace"},
      {"metadata",
       {{"name", object.name}, {"uid", object.uid}, {"labels", {{kOrganizationLabel, wanted}}}}}};
}

}  // namespace muster::kubernetes
