#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/resource_name.h"
#include "services/musterctl/client/connection.h"

namespace muster::musterctl {
namespace {

// `convert` makes an Item of a response, or nothing when it is not about a resource of the kind.
template <class Stub, class Request, class Response, class Convert>
absl::Status Stream(Connection& connection,
                    std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(
                        grpc::ClientContext*, const Request&),
                    Request request, const type::v1::WatchStart& start, Convert convert,
                    const WatchReceiver& receive) {
  *request.mutable_start() = start;
  auto watch = connection.client().Watch(method, request, {.resumes = false});
  bool heard = false;
  for (const Response& response : watch) {
    heard = true;
    WatchMessage message{.type = response.type(),
                         .revision = response.revision(),
                         .incarnation = response.incarnation(),
                         .view = response.view(),
                         .key = response.key()};
    message.item = convert(response);
    if (!receive(message)) return absl::OkStatus();
  }
  if (heard || !absl::IsDeadlineExceeded(watch.status())) return FromServer(watch.status());
  return FromServer(
      absl::DeadlineExceededError(absl::StrCat("no answer from ", connection.server(), " within ",
                                               absl::FormatDuration(connection.timeout()))));
}

// One resource of a Watch response, by its kind.
struct FromLifecycle {
  using Response = lifecycle::v1::WatchLifecycleResponse;
  std::optional<Item> operator()(const Response& response) const {
    switch (response.resource_case()) {
      case Response::kCluster:
        return response.cluster();
      case Response::kNodePool:
        return response.node_pool();
      case Response::kNode:
        return response.node();
      case Response::kEvent:
        return response.event();
      case Response::RESOURCE_NOT_SET:
        break;
    }
    return std::nullopt;
  }
};

struct FromCapacity {
  using Response = capacity::v1::WatchCapacityResponse;
  std::optional<Item> operator()(const Response& response) const {
    switch (response.resource_case()) {
      case Response::kZone:
        return response.zone();
      case Response::kInstanceType:
        return response.instance_type();
      case Response::kMachine:
        return response.machine();
      case Response::kClaim:
        return response.claim();
      case Response::RESOURCE_NOT_SET:
        break;
    }
    return std::nullopt;
  }
};

// A Watch carries Quotas without `held`: it is the sum of their Holdings, kept here.
class FromQuotas {
 public:
  using Response = quota::v1::WatchQuotasResponse;

  std::optional<Item> operator()(const Response& response) {
    const auto holding = MatchName("organizations/*/quotas/*/holdings/*", response.key());
    const std::string quota_name =
        holding ? absl::StrCat("organizations/", (*holding)[0], "/quotas/", (*holding)[1])
                : response.key();
    Known& known = known_[quota_name];
    if (holding) {
      known.holdings[(*holding)[2]] = response.has_holding() ? response.holding().nodes() : 0;
    } else {
      known.quota = response.has_quota() ? std::optional(response.quota()) : std::nullopt;
    }
    if (!known.quota) return std::nullopt;
    quota::v1::Quota quota = *known.quota;
    int64_t held = 0;
    for (const auto& [pool, nodes] : known.holdings) held += nodes;
    quota.set_held(held);
    return quota;
  }

 private:
  struct Known {
    std::optional<quota::v1::Quota> quota = {};
    std::map<std::string, int64_t> holdings = {};
  };
  std::map<std::string, Known> known_;
};

struct FromHoldings {
  using Response = quota::v1::WatchQuotasResponse;
  std::optional<Item> operator()(const Response& response) const {
    if (response.has_holding()) return response.holding();
    return std::nullopt;
  }
};

struct FromConfigurations {
  using Response = configuration::v1::WatchConfigurationsResponse;
  Kind kind = Kind::kRelease;
  std::optional<Item> operator()(const Response& response) const {
    if (kind == Kind::kRelease && response.has_release()) return response.release();
    if (kind == Kind::kConfiguration && response.has_configuration()) {
      return response.configuration();
    }
    if (kind == Kind::kNodeProfile && response.has_node_profile()) return response.node_profile();
    return std::nullopt;
  }
};

// The longest prefix that all names are under.
std::string CommonPrefix(const std::vector<std::string>& names) {
  std::string common = names.front();
  for (const std::string& name : names) {
    while (!IsUnder(name, common)) {
      if (absl::EndsWith(common, "/")) common.pop_back();
      common.resize(common.rfind('/') + 1);
    }
  }
  return common;
}

// The names, or prefixes of names, that the range consists of; empty: they are not known.
std::vector<std::string> NamesOf(const Connection& connection, const WatchRange& range) {
  std::vector<std::string> names;
  for (const std::string& id : range.ids) {
    auto name = ResolveName(connection, {range.kind, id});
    if (!name.ok()) return {};
    names.push_back(*std::move(name));
  }
  if (!names.empty() || range.pool.empty()) return names;
  const std::string pool = connection.PoolName(range.pool);
  // Events have names of their own, beside that of what they are about.
  return {absl::StrCat(range.kind == Kind::kEvent ? ClusterOf(pool) : pool, "/")};
}

std::string PrefixOf(const Connection& connection, const WatchRange& range) {
  const std::vector<std::string> names = NamesOf(connection, range);
  const bool is_anywhere = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return absl::StrContains(name, "/-/");
  });
  return names.empty() || is_anywhere ? connection.Prefix(range.kind) : CommonPrefix(names);
}

// One kind's changes, by the Watch of its service.
struct KindStream {
  absl::Status Lifecycle(lifecycle::v1::WatchLifecycleRequest::Kind kind) const {
    lifecycle::v1::WatchLifecycleRequest request;
    request.set_name_prefix(prefix);
    request.add_kinds(kind);
    return Stream(connection, &Connection::Lifecycle::WatchLifecycle, request, start,
                  FromLifecycle(), receive);
  }
  absl::Status Capacity(capacity::v1::WatchCapacityRequest::Kind kind) const {
    capacity::v1::WatchCapacityRequest request;
    request.add_kinds(kind);
    return Stream(connection, &Connection::Capacity::WatchCapacity, request, start, FromCapacity(),
                  receive);
  }
  template <class Convert>
  absl::Status Quotas(Convert convert) const {
    quota::v1::WatchQuotasRequest request;
    request.set_name_prefix(prefix);
    return Stream(connection, &Connection::Quota::WatchQuotas, request, start, std::move(convert),
                  receive);
  }
  absl::Status Configurations(Kind kind) const {
    return Stream(connection, &Connection::Configuration::WatchConfigurations,
                  configuration::v1::WatchConfigurationsRequest(), start, FromConfigurations{kind},
                  receive);
  }

  Connection& connection;
  const type::v1::WatchStart& start;
  const WatchReceiver& receive;
  std::string prefix = {};
};

}  // namespace

absl::Status WatchStream(Connection& connection, const WatchRange& range,
                         const type::v1::WatchStart& start, const WatchReceiver& receive) {
  using OfLifecycle = lifecycle::v1::WatchLifecycleRequest;
  using OfCapacity = capacity::v1::WatchCapacityRequest;
  const KindStream watch{connection, start, receive, PrefixOf(connection, range)};
  switch (range.kind) {
    case Kind::kNodePool:
      return watch.Lifecycle(OfLifecycle::KIND_NODE_POOL);
    case Kind::kNode:
      return watch.Lifecycle(OfLifecycle::KIND_NODE);
    case Kind::kEvent:
      return watch.Lifecycle(OfLifecycle::KIND_EVENT);
    case Kind::kCluster:
      return watch.Lifecycle(OfLifecycle::KIND_CLUSTER);
    case Kind::kZone:
      return watch.Capacity(OfCapacity::KIND_ZONE);
    case Kind::kInstanceType:
      return watch.Capacity(OfCapacity::KIND_INSTANCE_TYPE);
    case Kind::kMachine:
      return watch.Capacity(OfCapacity::KIND_MACHINE);
    case Kind::kClaim:
      return watch.Capacity(OfCapacity::KIND_CLAIM);
    case Kind::kHolding:
      return watch.Quotas(FromHoldings());
    case Kind::kQuota:
      return watch.Quotas(FromQuotas());
    case Kind::kRelease:
    case Kind::kConfiguration:
    case Kind::kNodeProfile:
      return watch.Configurations(range.kind);
  }
  return absl::InternalError("not a kind of this call");
}

}  // namespace muster::musterctl
