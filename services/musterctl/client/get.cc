#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/timestamp.h"
#include "services/musterctl/client/connection.h"

// One resource by its name, each by the Get of its kind.
namespace muster::musterctl {
namespace {

absl::Status Misnamed(absl::string_view kind, absl::string_view form, const std::string& id) {
  return absl::InvalidArgumentError(absl::StrCat(kind, ": is named ", form, ", not \"", id, "\""));
}

// The resource name of an id. INVALID_ARGUMENT: it has not the form of the kind's ids.
absl::StatusOr<std::string> NameFor(const Connection& connection, const ResourceId& resource) {
  const std::string& id = resource.id;
  const std::vector<std::string> parts = absl::StrSplit(id, '/');
  switch (resource.kind) {
    case Kind::kNodePool:
      return connection.PoolName(id);
    case Kind::kNode:
      if (parts.size() != 2) return Misnamed("node", "POOL/MACHINE", id);
      return absl::StrCat(connection.PoolName(parts[0]), "/nodes/", parts[1]);
    case Kind::kCluster:
      return absl::StrCat(connection.Organization(), "/clusters/", id);
    case Kind::kHolding:
      if (parts.size() != 2) return Misnamed("holding", "QUOTA/UID", id);
      return absl::StrCat(connection.Organization(), "/quotas/", parts[0], "/holdings/", parts[1]);
    case Kind::kQuota:
      return absl::StrCat(connection.Organization(), "/quotas/", id);
    case Kind::kZone:
      return absl::StrCat("zones/", id);
    case Kind::kInstanceType:
      return absl::StrCat("instanceTypes/", id);
    case Kind::kMachine:
      return absl::StrCat("machines/", id);
    case Kind::kClaim:
      return absl::StrCat("claims/", id);
    case Kind::kConfiguration:
      return absl::StrCat("poolConfigurations/", id);
    case Kind::kNodeProfile:
      return absl::StrCat("nodeProfiles/", id);
    case Kind::kRelease:
      if (std::optional<std::string> name = ReleaseName(id)) return *std::move(name);
      return Misnamed("release", "CHANNEL~COMPONENT~VERSION", id);
    case Kind::kEvent:
      break;
  }
  return absl::InvalidArgumentError("events: each tells of the past itself; see get events");
}

template <class Stub, class Request, class Response>
absl::StatusOr<Item> GetBy(Connection& connection,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           const std::string& name) {
  Request request;
  request.set_name(name);
  ASSIGN_OR_RETURN(Response answer, connection.Call(method, request));
  return Item(std::move(answer));
}

// Whether the Node `a` came to be after `b`.
bool IsLater(const lifecycle::v1::Node& a, const lifecycle::v1::Node& b) {
  return FromTimestamp(a.create_time()) > FromTimestamp(b.create_time());
}

// Finds by a filtered list what no Get returns: an event, or a Node by its machine alone (not every
// caller may ask capacity for it). Until an earlier Node is purged its machine has two, in two
// NodePools: the later is meant. A `*` in `id` is a wildcard for the server but not here, so its
// answer is compared again.
absl::StatusOr<Item> Search(Connection& connection, Kind kind, const std::string& id) {
  const std::string filter = kind == Kind::kNode
                                 ? absl::StrCat("machine = ", FilterText(id))
                                 : absl::StrCat("name = ", FilterText(absl::StrCat("*", id)));
  std::optional<Item> found;
  RETURN_IF_ERROR(ListPages(connection, kind, {.filter = filter}, [&](std::vector<Item> items) {
    for (Item& item : items) {
      if (IdOf(item) != id && NameOf(item) != id) continue;
      const auto* node = std::get_if<lifecycle::v1::Node>(&item);
      if (found && node != nullptr && !IsLater(*node, std::get<lifecycle::v1::Node>(*found)))
        continue;
      found = std::move(item);
    }
    return !found || kind == Kind::kNode;
  }));
  if (found) return *std::move(found);
  return FromServer(
      absl::NotFoundError(absl::StrCat(KindWord(kind), " \"", id, "\" does not exist.")));
}

}  // namespace

// A whole name is returned as it is.
absl::StatusOr<std::string> ResolveName(const Connection& connection, const ResourceId& resource) {
  for (const char* begin : {"organizations/", "zones/", "instanceTypes/", "machines/", "claims/",
                            "poolConfigurations/", "nodeProfiles/", "channels/"}) {
    if (absl::StartsWith(resource.id, begin)) return resource.id;
  }
  return NameFor(connection, resource);
}

absl::StatusOr<Item> GetItem(Connection& connection, Kind kind, const std::string& id) {
  const bool by_machine = kind == Kind::kNode && !absl::StrContains(id, "/");
  if (by_machine || kind == Kind::kEvent) return Search(connection, kind, id);
  ASSIGN_OR_RETURN(const std::string name, ResolveName(connection, {kind, id}));
  switch (kind) {
    case Kind::kNodePool:
      return GetBy(connection, &Connection::Lifecycle::GetNodePool, name);
    case Kind::kNode:
      return GetBy(connection, &Connection::Lifecycle::GetNode, name);
    case Kind::kCluster:
      return GetBy(connection, &Connection::Lifecycle::GetCluster, name);
    case Kind::kHolding:
      return GetBy(connection, &Connection::Quota::GetHolding, name);
    case Kind::kQuota:
      return GetBy(connection, &Connection::Quota::GetQuota, name);
    case Kind::kZone:
      return GetBy(connection, &Connection::Capacity::GetZone, name);
    case Kind::kInstanceType:
      return GetBy(connection, &Connection::Capacity::GetInstanceType, name);
    case Kind::kMachine:
      return GetBy(connection, &Connection::Capacity::GetMachine, name);
    case Kind::kClaim:
      return GetBy(connection, &Connection::Capacity::GetClaim, name);
    case Kind::kRelease:
      return GetBy(connection, &Connection::Configuration::GetRelease, name);
    case Kind::kConfiguration:
      return GetBy(connection, &Connection::Configuration::GetPoolConfiguration, name);
    case Kind::kNodeProfile:
      return GetBy(connection, &Connection::Configuration::GetNodeProfile, name);
    case Kind::kEvent:
      break;
  }
  return absl::InternalError("not a kind of this call");
}

}  // namespace muster::musterctl
