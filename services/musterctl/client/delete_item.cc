#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/connection.h"

// One resource that is no NodePool is removed by its name, each by the Delete of its kind.
namespace muster::musterctl {
namespace {

template <class Stub, class Request, class Response>
absl::Status DeleteBy(Connection& connection,
                      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      const std::string& name, bool dry_run) {
  Request request;
  request.set_name(name);
  request.set_validate_only(dry_run);
  return connection.Call(method, request).status();
}

}  // namespace

absl::Status DeleteItem(Connection& connection, const ResourceId& resource, bool dry_run) {
  ASSIGN_OR_RETURN(const std::string name, ResolveName(connection, resource));
  switch (resource.kind) {
    case Kind::kCluster:
      return DeleteBy(connection, &Connection::Lifecycle::DeleteCluster, name, dry_run);
    case Kind::kQuota:
      return DeleteBy(connection, &Connection::Quota::DeleteQuota, name, dry_run);
    case Kind::kZone:
      return DeleteBy(connection, &Connection::Capacity::DeleteZone, name, dry_run);
    case Kind::kInstanceType:
      return DeleteBy(connection, &Connection::Capacity::DeleteInstanceType, name, dry_run);
    case Kind::kMachine:
      return DeleteBy(connection, &Connection::Capacity::DeleteMachine, name, dry_run);
    case Kind::kRelease:
      return DeleteBy(connection, &Connection::Configuration::DeleteRelease, name, dry_run);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(KindWord(resource.kind), ": cannot be deleted"));
  }
}

}  // namespace muster::musterctl
