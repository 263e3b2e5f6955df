#pragma once

#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "services/common/place.h"

namespace muster::access {

// The part of the world in which somebody may do something. Value type.
class Scope {
 public:
  static Scope Everywhere() {
    Scope scope;
    scope.everywhere_ = true;
    return scope;
  }

  void AddOrganization(absl::string_view id) { organizations_.emplace(id); }
  // `organizations/{organization}/clusters/{cluster}`.
  void AddCluster(absl::string_view name) { clusters_.emplace(name); }
  void AddZone(absl::string_view id) { zones_.emplace(id); }
  void Add(const Scope& other);

  bool everywhere() const { return everywhere_; }
  bool empty() const {
    return !everywhere_ && organizations_.empty() && clusters_.empty() && zones_.empty();
  }
  bool has_zones() const { return !zones_.empty(); }
  // Whether it has clusters and nothing else, as an adapter's.
  bool only_clusters() const {
    return !everywhere_ && organizations_.empty() && zones_.empty() && !clusters_.empty();
  }
  // Whether a resource is in the scope: an organization covers all names below it, a cluster
  // likewise, a zone all that is in it.
  bool Covers(const Place& place) const { return Covers(place.name, place.zone); }
  bool Covers(absl::string_view name, absl::string_view zone = "") const;
  // A prefix of all the names under `prefix` (IsUnder) that the scope may cover, as long as is
  // known; nullopt: it covers none of them.
  std::optional<std::string> Narrowed(absl::string_view prefix) const;
  // `organizations/{organization}` when all that it covers is one organization's; else empty.
  std::string OnlyOrganization() const;
  // For people, and to tell scopes apart: `everywhere`, or e.g. `organizations acme, beta; zones
  // US-EAST-04A`.
  std::string ToString() const;

  const std::set<std::string, std::less<>>& organizations() const { return organizations_; }
  const std::set<std::string, std::less<>>& clusters() const { return clusters_; }
  const std::set<std::string, std::less<>>& zones() const { return zones_; }

  bool operator==(const Scope&) const = default;

 private:
  bool everywhere_ = false;
  std::set<std::string, std::less<>> organizations_;
  std::set<std::string, std::less<>> clusters_;
  std::set<std::string, std::less<>> zones_;
};

// A name for what a caller sees whose answers are narrowed to `narrowed_to` (null: all). The same
// on all replicas, and different for different scopes.
std::string ViewOf(const Scope* narrowed_to);

}  // namespace muster::access
