#pragma once

#include <string>

namespace muster {

// Where a resource is; access scopes are checked against it. A resource that does not exist is
// nowhere.
struct Place {
  // Its name, or that of the NodePool that it is of, e.g.
  // `organizations/acme/clusters/c1/nodePools/a`; empty: it belongs to no organization.
  std::string name = {};
  std::string zone = {};  // zone id; empty: in none, or not known
};

}  // namespace muster
