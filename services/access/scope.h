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
  // Whether it is of clusters alone: an adapter's.
  bool only_clusters() const {
    return !everywhere_ && organizations_.empty() && zones_.empty() && !clusters_.empty();
  }
  // An organization covers what has its name in front, a cluster likewise, a zone what is in it.
  bool Covers(const Place& place) const { return Covers(place.name, place.zone); }
  bool Covers(absl::string_view name, absl::string_view zone = "") const;
  // What those names under `prefix` (IsUnder) that it may cover are under; nullopt: it covers none there.
  std::optional<std::string> Narrowed(absl::string_view prefix) const;
  // `organizations/{organization}` when all that it covers is one organization's; else empty.
  std::string OnlyOrganization() const;
  // For people, and to tell scopes apart: `everywhere`, or e.g. `organizations acme, beta; zones US-EAST-04A`.
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

// A name for what is seen by whom answers are narrowed to `narrowed_to`; null: all. Equal on all replicas, and for equal scopes alone.
std::string ViewOf(const Scope* narrowed_to);

}  // namespace muster::access
