#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/musterctl/client/connection.h"

// One resource by its name, each by the Get of its kind.
namespace muster::musterctl {
namespace {

// The name that `id` stands for.
absl::StatusOr<std::string> NameFor(const Connection& connection, const ResourceId& resource) {
  const std::string& id = resource.id;
  const auto below = [&](absl::string_view parent, absl::string_view collection) {
    return absl::StrCat(parent, parent.empty() ? "" : "/", collection, "/", id);
  };
  switch (resource.kind) {
    case Kind::kNodePool:
      return connection.PoolName(id);
    case Kind::kNode: {
      const std::vector<std::string> parts = absl::StrSplit(id, '/');
      if (parts.size() != 2)
        return absl::InvalidArgumentError(
            absl::StrCat("node: is named POOL/MACHINE, not \"", id, "\""));
      return absl::StrCat(connection.PoolName(parts[0]), "/nodes/", parts[1]);
    }
    case Kind::kCluster:
      return below(connection.Organization(), "clusters");
    case Kind::kQuota:
      return below(connection.Organization(), "quotas");
    case Kind::kZone:
      return below("", "zones");
    case Kind::kInstanceType:
      return below("", "instanceTypes");
    case Kind::kMachine:
      return below("", "machines");
    case Kind::kClaim:
      return below("", "claims");
    case Kind::kConfiguration:
      return below("", "poolConfigurations");
    case Kind::kNodeProfile:
      return below("", "nodeProfiles");
    case Kind::kRelease:
      if (std::optional<std::string> name = ReleaseName(id)) return *std::move(name);
      return absl::InvalidArgumentError(
          absl::StrCat("release: is named CHANNEL~COMPONENT~VERSION, not \"", id, "\""));
    case Kind::kEvent:
      break;
  }
  return absl::InvalidArgumentError("events: each tells of the past itself; see get events");
}

template <class Stub, class Request, class Response>
absl::StatusOr<Item> GetBy(Connection& connection, const std::unique_ptr<Stub>& stub,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           const std::string& name) {
  Request request;
  request.set_name(name);
  ASSIGN_OR_RETURN(Response answer, connection.Call(stub, method, request));
  return Item(std::move(answer));
}

absl::Status NoSuch(Kind kind, const std::string& id) {
  return FromServer(
      absl::NotFoundError(absl::StrCat(KindWord(kind), " \"", id, "\" does not exist.")));
}

// The first of the list that has the id.
absl::StatusOr<Item> Search(Connection& connection, Kind kind, const std::string& id) {
  std::optional<Item> found;
  RETURN_IF_ERROR(ListPages(connection, kind, "", [&](std::vector<Item> items) {
    for (Item& item : items) {
      if (IdOf(item) == id || NameOf(item) == id) found = std::move(item);
    }
    return !found;
  }));
  if (found) return *std::move(found);
  return NoSuch(kind, id);
}

// A Node by its machine alone: capacity knows who holds that. Who may not ask capacity has to look for it.
absl::StatusOr<Item> GetNodeOfMachine(Connection& connection, const std::string& machine) {
  const auto asked = GetBy(connection, connection.capacity, &Connection::Capacity::GetMachine,
                           absl::StrCat("machines/", machine));
  if (absl::IsNotFound(asked.status()) || absl::IsInvalidArgument(asked.status()))
    return NoSuch(Kind::kNode, machine);
  if (!asked.ok()) {
    return absl::IsPermissionDenied(asked.status()) ? Search(connection, Kind::kNode, machine)
                                                    : asked;
  }
  const auto& holder = std::get<capacity::v1::Machine>(*asked).claim();
  if (holder.empty()) return NoSuch(Kind::kNode, machine);
  const auto claim = GetBy(connection, connection.capacity, &Connection::Capacity::GetClaim,
                           absl::StrCat("claims/", holder));
  if (!claim.ok()) return Search(connection, Kind::kNode, machine);
  const std::string& pool = std::get<capacity::v1::Claim>(*claim).pool();
  if (!absl::StartsWith(absl::StrCat(pool, "/"), connection.Prefix(Kind::kNode)))
    return NoSuch(Kind::kNode, machine);
  return GetBy(connection, connection.lifecycle, &Connection::Lifecycle::GetNode,
               absl::StrCat(pool, "/nodes/", machine));
}

}  // namespace

// A whole name is one already.
absl::StatusOr<std::string> ResolveName(const Connection& connection, const ResourceId& resource) {
  for (const char* begin : {"organizations/", "zones/", "instanceTypes/", "machines/", "claims/",
                            "poolConfigurations/", "nodeProfiles/", "channels/"}) {
    if (absl::StartsWith(resource.id, begin)) return resource.id;
  }
  return NameFor(connection, resource);
}

absl::StatusOr<Item> GetItem(Connection& connection, Kind kind, const std::string& id) {
  if (kind == Kind::kNode && !absl::StrContains(id, "/")) return GetNodeOfMachine(connection, id);
  // No call tells one of them.
  if (kind == Kind::kEvent) return Search(connection, kind, id);
  ASSIGN_OR_RETURN(const std::string name, ResolveName(connection, {kind, id}));
  switch (kind) {
    case Kind::kNodePool:
      return GetBy(connection, connection.lifecycle, &Connection::Lifecycle::GetNodePool, name);
    case Kind::kNode:
      return GetBy(connection, connection.lifecycle, &Connection::Lifecycle::GetNode, name);
    case Kind::kCluster:
      return GetBy(connection, connection.lifecycle, &Connection::Lifecycle::GetCluster, name);
    case Kind::kQuota:
      return GetBy(connection, connection.quota, &Connection::Quota::GetQuota, name);
    case Kind::kZone:
      return GetBy(connection, connection.capacity, &Connection::Capacity::GetZone, name);
    case Kind::kInstanceType:
      return GetBy(connection, connection.capacity, &Connection::Capacity::GetInstanceType, name);
    case Kind::kMachine:
      return GetBy(connection, connection.capacity, &Connection::Capacity::GetMachine, name);
    case Kind::kClaim:
      return GetBy(connection, connection.capacity, &Connection::Capacity::GetClaim, name);
    case Kind::kRelease:
      return GetBy(connection, connection.configuration, &Connection::Configuration::GetRelease,
                   name);
    case Kind::kConfiguration:
      return GetBy(connection, connection.configuration,
                   &Connection::Configuration::GetPoolConfiguration, name);
    case Kind::kNodeProfile:
      return GetBy(connection, connection.configuration, &Connection::Configuration::GetNodeProfile,
                   name);
    case Kind::kEvent:
      break;
  }
  return absl::InternalError("not a kind of this call");
}

}  // namespace muster::musterctl
