#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/timestamp.h"
#include "services/musterctl/client/connection.h"

// The past, by muster.history.v1.
namespace muster::musterctl {
namespace {

constexpr int kPage = 200;

template <class Request>
void SetMoment(const Moment& then, Request& request) {
  if (const auto* revision = std::get_if<int64_t>(&then)) {
    request.set_revision(*revision);
  } else {
    SetTimestamp(std::get<absl::Time>(then), request.mutable_time());
  }
}

// Sets `item` when the resource is of the alternative `at` or a later one.
template <size_t at = 0>
bool Unpack(const google::protobuf::Any& resource, Item& item) {
  if constexpr (at < std::variant_size_v<AnyKind>) {
    if (resource.Is<std::variant_alternative_t<at, AnyKind>>())
      return resource.UnpackTo(&item.emplace<at>());
    return Unpack<at + 1>(resource, item);
  }
  return false;
}

// Of the kinds whose past is told as lists; empty: of the others.
const char* PastCollectionOf(Kind kind) {
  switch (kind) {
    case Kind::kCluster:
      return "clusters";
    case Kind::kQuota:
      return "quotas";
    case Kind::kHolding:
      return "holdings";
    case Kind::kNodePool:
      return "nodePools";
    case Kind::kNode:
      return "nodes";
    default:
      return "";
  }
}

}  // namespace

absl::StatusOr<Item> ToItem(const google::protobuf::Any& resource) {
  Item item;
  if (Unpack(resource, item)) return item;
  return absl::InternalError(absl::StrCat("The server tells of a ", resource.type_url(), "."));
}

absl::StatusOr<history::v1::ListChangesResponse> ListChanges(Connection& connection,
                                                             const ResourceId& resource, int limit,
                                                             absl::Time since) {
  history::v1::ListChangesRequest request;
  ASSIGN_OR_RETURN(*request.mutable_name(), ResolveName(connection, resource));
  // One more tells whether there are more.
  request.set_page_size(std::min(limit + 1, kPage));
  history::v1::ListChangesResponse all;
  while (true) {
    ASSIGN_OR_RETURN(auto page, connection.Call(&Connection::History::ListChanges, request));
    all.set_service(page.service());
    all.set_complete(page.complete());
    all.set_next_page_token(page.next_page_token());
    for (history::v1::Change& change : *page.mutable_changes()) {
      if (FromTimestamp(change.change_time()) < since) {
        all.set_complete(true);  // as far back as was asked for
        all.clear_next_page_token();
        return all;
      }
      if (all.changes_size() == limit) {
        all.set_next_page_token("there are more");
        return all;
      }
      *all.add_changes() = std::move(change);
    }
    if (page.next_page_token().empty()) return all;
    request.set_page_token(page.next_page_token());
  }
}

absl::StatusOr<history::v1::GetPastResponse> GetPast(Connection& connection,
                                                     const ResourceId& resource,
                                                     const Moment& then) {
  history::v1::GetPastRequest request;
  ASSIGN_OR_RETURN(*request.mutable_name(), ResolveName(connection, resource));
  SetMoment(then, request);
  return connection.Call(&Connection::History::GetPast, request);
}

absl::StatusOr<std::vector<Item>> ListPast(Connection& connection, Kind kind,
                                           const std::string& pool, const Moment& then) {
  history::v1::ListPastRequest request;
  // For all clusters (`-`) the parent is the organization, or all of them.
  const bool of_cluster = kind <= Kind::kEvent && !absl::EndsWith(connection.Cluster(), "/-");
  request.set_parent(connection.IsPlaced(pool) ? connection.PoolName(pool)
                     : of_cluster              ? connection.Cluster()
                                               : connection.Organization());
  request.set_collection(PastCollectionOf(kind));
  if (request.collection().empty()) {
    return absl::InvalidArgumentError(
        "--at: lists are told of clusters, NodePools, Nodes, quotas and holdings; of others name "
        "one");
  }
  SetMoment(then, request);
  std::vector<Item> items;
  do {
    ASSIGN_OR_RETURN(const auto page, connection.Call(&Connection::History::ListPast, request));
    for (const auto& past : page.resources()) {
      ASSIGN_OR_RETURN(Item item, ToItem(past.resource()));
      items.push_back(std::move(item));
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return items;
}

}  // namespace muster::musterctl
