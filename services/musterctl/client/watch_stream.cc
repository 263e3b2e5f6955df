#include <atomic>
#include <map>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "services/common/stopper.h"
#include "services/musterctl/client/connection.h"
#include "services/rpc/status.h"

namespace muster::musterctl {
namespace {

// Cancels a stream that does not begin in time: it has no deadline of its own.
class BeginsWithin {
 public:
  BeginsWithin(absl::Duration limit, grpc::ClientContext& context)
      : thread_([this, limit, &context] {
          if (!begun_.Sleep(limit)) return;
          late_ = true;
          context.TryCancel();
        }) {}
  ~BeginsWithin() {
    begun_.Stop();
    thread_.join();
  }
  BeginsWithin(const BeginsWithin&) = delete;
  BeginsWithin& operator=(const BeginsWithin&) = delete;

  void Begun() { begun_.Stop(); }
  bool late() const { return late_; }

 private:
  Stopper begun_;
  std::atomic<bool> late_ = false;
  std::thread thread_;
};

// `convert` makes an Item of a response, or nothing when it is not about a resource of the kind.
template <class Stub, class Method, class Request, class Convert>
absl::Status Stream(const Connection& connection, const std::unique_ptr<Stub>& stub, Method method,
                    Request request, const type::v1::WatchStart& start, Convert convert,
                    const WatchReceiver& receive) {
  *request.mutable_start() = start;
  grpc::ClientContext context;
  // One that goes on after a revision may have nothing to say for long.
  BeginsWithin limit(start.has_after_revision() ? absl::InfiniteDuration() : connection.timeout(),
                     context);
  auto reader = (stub.get()->*method)(&context, request);
  typename std::decay_t<decltype(convert)>::Response response;
  while (reader->Read(&response)) {
    limit.Begun();
    WatchMessage message{.type = response.type(),
                         .revision = response.revision(),
                         .incarnation = response.incarnation(),
                         .key = response.key()};
    message.item = convert(response);
    if (receive(message)) continue;
    context.TryCancel();
    while (reader->Read(&response)) {
    }
    (void)reader->Finish();
    return absl::OkStatus();
  }
  const grpc::Status status = reader->Finish();
  if (limit.late()) {
    return FromServer(
        absl::DeadlineExceededError(absl::StrCat("no answer from ", connection.server(), " within ",
                                                 absl::FormatDuration(connection.timeout()))));
  }
  return status.ok() ? absl::UnavailableError("the server ended the watch")
                     : FromServer(rpc::FromGrpcStatus(status));
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
  explicit FromQuotas(std::string prefix) : prefix_(std::move(prefix)) {}

  std::optional<Item> operator()(const Response& response) {
    const std::vector<std::string> parts = absl::StrSplit(response.key(), "/holdings/");
    if (!absl::StartsWith(parts.front(), prefix_)) return std::nullopt;
    Known& known = known_[parts.front()];
    if (parts.size() == 2) {
      known.holdings[parts[1]] = response.has_holding() ? response.holding().nodes() : 0;
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
  std::string prefix_;
  std::map<std::string, Known> known_;
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

}  // namespace

absl::Status WatchStream(Connection& connection, Kind kind, const type::v1::WatchStart& start,
                         const WatchReceiver& receive) {
  lifecycle::v1::WatchLifecycleRequest nodes;
  capacity::v1::WatchCapacityRequest machines;
  nodes.set_name_prefix(connection.Prefix(kind));
  switch (kind) {
    case Kind::kNodePool:
      nodes.add_kinds(lifecycle::v1::WatchLifecycleRequest::KIND_NODE_POOL);
      break;
    case Kind::kNode:
      nodes.add_kinds(lifecycle::v1::WatchLifecycleRequest::KIND_NODE);
      break;
    case Kind::kEvent:
      nodes.add_kinds(lifecycle::v1::WatchLifecycleRequest::KIND_EVENT);
      break;
    case Kind::kCluster:
      nodes.add_kinds(lifecycle::v1::WatchLifecycleRequest::KIND_CLUSTER);
      break;
    case Kind::kZone:
      machines.add_kinds(capacity::v1::WatchCapacityRequest::KIND_ZONE);
      break;
    case Kind::kInstanceType:
      machines.add_kinds(capacity::v1::WatchCapacityRequest::KIND_INSTANCE_TYPE);
      break;
    case Kind::kMachine:
      machines.add_kinds(capacity::v1::WatchCapacityRequest::KIND_MACHINE);
      break;
    case Kind::kClaim:
      machines.add_kinds(capacity::v1::WatchCapacityRequest::KIND_CLAIM);
      break;
    case Kind::kQuota:
      return Stream(connection, connection.quota, &Connection::Quota::WatchQuotas,
                    quota::v1::WatchQuotasRequest(), start, FromQuotas(connection.Prefix(kind)),
                    receive);
    case Kind::kRelease:
    case Kind::kConfiguration:
    case Kind::kNodeProfile:
      return Stream(connection, connection.configuration,
                    &Connection::Configuration::WatchConfigurations,
                    configuration::v1::WatchConfigurationsRequest(), start,
                    FromConfigurations{kind}, receive);
  }
  if (machines.kinds_size() > 0) {
    return Stream(connection, connection.capacity, &Connection::Capacity::WatchCapacity, machines,
                  start, FromCapacity(), receive);
  }
  return Stream(connection, connection.lifecycle, &Connection::Lifecycle::WatchLifecycle, nodes,
                start, FromLifecycle(), receive);
}

}  // namespace muster::musterctl
