#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/common/error.h"
#include "services/common/resource_name.h"
#include "services/common/timestamp.h"
#include "services/lifecycle/api/handlers.h"
#include "services/lifecycle/api/newest_events.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/place.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/rpc/choose.h"
#include "services/rpc/read.h"
#include "services/rpc/revision.h"
#include "services/rpc/unary.h"
#include "services/rpc/watch_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::lifecycle {
namespace {

// Whether the ids of a parent's name are well-formed; `-`, which stands for any id, is.
bool HasIds(std::vector<std::string> parts) {
  for (std::string& part : parts) part = part == "-" ? "x" : part;
  if (parts.size() == 2) return IsDnsLabel(parts[1]);
  const std::string name = absl::StrJoin(parts, "/");
  return parts.size() == 4 ? ParseClusterName(name).has_value() : ParsePoolName(name).has_value();
}

// A list's parent, in which `-` stands for any id: how the names of its children begin, and which
// parts they must have.
class Parent {
 public:
  // `pattern`: e.g. `organizations/*/clusters/*`.
  Parent(absl::string_view pattern, absl::string_view parent, Faults& faults)
      : parts_(absl::StrSplit(parent, '/')) {
    faults.Require(MatchName(pattern, parent).has_value() && HasIds(parts_), "parent",
                   absl::StrCat("must be like `", pattern, "`; `-` stands for any id."));
    for (const std::string& part : parts_) {
      if (part == "-") break;
      absl::StrAppend(&prefix_, part, "/");
    }
  }

  const std::string& prefix() const { return prefix_; }
  bool Holds(absl::string_view name) const {
    size_t i = 0;
    for (absl::string_view part : absl::StrSplit(name, '/')) {
      if (i == parts_.size()) return true;
      if (parts_[i] != "-" && parts_[i] != part) return false;
      ++i;
    }
    return false;
  }

 private:
  std::vector<std::string> parts_;
  std::string prefix_;
};

const char* KindName(v1::WatchLifecycleRequest::Kind kind) {
  switch (kind) {
    case v1::WatchLifecycleRequest::KIND_CLUSTER:
      return Cluster::kKind;
    case v1::WatchLifecycleRequest::KIND_NODE_POOL:
      return Pool::kKind;
    case v1::WatchLifecycleRequest::KIND_NODE:
      return Node::kKind;
    case v1::WatchLifecycleRequest::KIND_EVENT:
      return Event::kKind;
    default:  // unspecified, or a number that this build does not know
      return nullptr;
  }
}

absl::StatusOr<storage::WatchOptions> ParseWatch(const v1::WatchLifecycleRequest& request,
                                                 uint64_t turn) {
  auto options = rpc::ToWatchOptions<storage::WatchOptions>(request.start(), turn);
  if (!options.ok()) return options;
  for (int i = 0; i < request.kinds_size(); ++i) {
    const char* kind = KindName(request.kinds(i));
    if (kind == nullptr) {
      return muster::error::InvalidField(absl::StrCat("kinds[", i, "]"),
                                         "must be one of the known kinds.");
    }
    rpc::AddKind(*options, kind);
  }
  // All kinds but the lease, which is internal.
  if (options->kinds.empty())
    options->kinds = {Cluster::kKind, Pool::kKind, Node::kKind, Event::kKind};
  options->key_prefix = request.name_prefix();
  return options;
}

int FieldOf(const storage::WatchItem& item) {
  using Response = v1::WatchLifecycleResponse;
  if (item.kind == Cluster::kKind) return Response::kClusterFieldNumber;
  if (item.kind == Pool::kKind) return Response::kNodePoolFieldNumber;
  if (item.kind == Node::kKind) return Response::kNodeFieldNumber;
  return item.kind == Event::kKind ? Response::kEventFieldNumber : 0;
}

v1::WatchLifecycleResponse ToWatchResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchLifecycleResponse>(item, &FieldOf);
}

// Selects the rows below the request's parent for which `keep(request, row)` holds.
template <class Row, class Keep>
auto Below(absl::string_view pattern, Keep keep) {
  return [pattern, keep](const auto& request, Faults& faults) {
    Parent parent(pattern, request.parent(), faults);
    std::string prefix = parent.prefix();
    return rpc::Selection<Row>{std::move(prefix), [request, keep, parent = std::move(parent)](
                                                      absl::string_view name, const Row& row) {
                                 return parent.Holds(name) && keep(request, row);
                               }};
  };
}

constexpr auto kAll = [](const auto&, const auto&) { return true; };
constexpr auto kRender = [](const State&, const auto& row) { return ToProto(row); };

// A Node with what the rows do not have: it follows from the server's flags.
v1::Node ShowNode(const Versioned<Node>& row, const Policy& policy) {
  v1::Node out = ToProto(row);
  const Node& node = *row.row;
  if (node.desired.cordoned) {
    SetTimestamp(CordonEffectiveTime(node, CordonDesiredTime(node), policy),
                 out.mutable_cordon_effective_time());
  }
  return out;
}

// Answers with what keeps the pool from where it should be.
void AnswerExplanation(Lane& lane, rpc::Responder responder, std::shared_ptr<Advisor> advisor,
                       const std::string& name, v1::ExplainNodePoolResponse* response) {
  const absl::Time deadline = responder.deadline();
  lane.Read(
      [advisor = std::move(advisor), name, response, responder = std::move(responder)](
          const absl::Status& status, const State* state, int64_t revision) mutable {
        if (!status.ok()) return responder.Finish(status);
        std::optional<Snapshot> snapshot = SnapshotOf(*state, name);
        if (!snapshot) return responder.Finish(muster::error::NotFound(name));
        const Versioned<Pool> pool = *state->table<Pool>().FindVersioned(name);
        responder.ShowRevision(revision);
        advisor->Explain(*std::move(snapshot), std::move(responder),
                         [pool, revision, response](std::vector<v1::NodePoolObstacle> obstacles) {
                           *response->mutable_node_pool() = ToProto(pool);
                           rpc::SetRevision(*response->mutable_node_pool(), revision);
                           for (v1::NodePoolObstacle& obstacle : obstacles)
                             *response->add_obstacles() = std::move(obstacle);
                         });
      },
      deadline);
}

}  // namespace

Handlers::Unary Handlers::ExplainNodePool(Context context,
                                          const v1::ExplainNodePoolRequest* request,
                                          v1::ExplainNodePoolResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!ParsePoolName(request->name()))
      return responder.Finish(muster::error::InvalidField("name", kPoolNameShape));
    std::shared_ptr<Advisor> asked = advisor();
    if (asked == nullptr) return responder.Finish(NoAdvisor());
    AnswerExplanation(lane_, std::move(responder), std::move(asked), request->name(), response);
  });
}

Handlers::Unary Handlers::GetCluster(Context context, const v1::GetClusterRequest* request,
                                     v1::Cluster* response) {
  return rpc::GetRow<Cluster>(context, lane_, *request, response,
                              rpc::NameShape{&ParseClusterName, kClusterNameShape}, kRender);
}

Handlers::Unary Handlers::GetNodePool(Context context, const v1::GetNodePoolRequest* request,
                                      v1::NodePool* response) {
  return rpc::GetRow<Pool>(context, lane_, *request, response,
                           rpc::NameShape{&ParsePoolName, kPoolNameShape}, kRender);
}

Handlers::Unary Handlers::GetNode(Context context, const v1::GetNodeRequest* request,
                                  v1::Node* response) {
  return rpc::GetRow<Node>(context, lane_, *request, response,
                           rpc::NameShape{&ParseNodeName, kNodeNameShape},
                           [policy = policy_](const State&, const Versioned<Node>& row) {
                             return ShowNode(row, policy);
                           });
}

Handlers::Unary Handlers::ListClusters(Context context, const v1::ListClustersRequest* request,
                                       v1::ListClustersResponse* response) {
  return rpc::ChooseRows<Cluster>(
      context, slow_, lane_, *request, response, Below<Cluster>("organizations/*", kAll),
      [](auto& page) { return page.add_clusters(); }, kRender);
}

Handlers::Unary Handlers::ListNodePools(Context context, const v1::ListNodePoolsRequest* request,
                                        v1::ListNodePoolsResponse* response) {
  return rpc::ChooseRows<Pool>(
      context, slow_, lane_, *request, response, Below<Pool>("organizations/*/clusters/*", kAll),
      [](auto& page) { return page.add_node_pools(); }, kRender);
}

Handlers::Unary Handlers::ListNodes(Context context, const v1::ListNodesRequest* request,
                                    v1::ListNodesResponse* response) {
  // A filter on one machine drops all other Nodes here, before they are rendered to be filtered.
  const auto filter = rpc::Filter::Parse(request->filter(), *v1::Node::descriptor());
  const auto machine = filter.ok() ? filter->Demanded(*v1::Node::descriptor()->FindFieldByNumber(
                                         v1::Node::kMachineFieldNumber))
                                   : std::nullopt;
  const auto may_be = [machine](const v1::ListNodesRequest&, const Node& node) {
    return !machine || node.machine == *machine;
  };
  return rpc::ChooseRows<Node>(
      context, slow_, lane_, *request, response,
      Below<Node>("organizations/*/clusters/*/nodePools/*", may_be),
      [](auto& page) { return page.add_nodes(); }, kRender);
}

Handlers::Unary Handlers::ListEvents(Context context, const v1::ListEventsRequest* request,
                                     v1::ListEventsResponse* response) {
  const auto below = [zones = zones_](const v1::ListEventsRequest& asked, Faults& faults) {
    NewestEvents::CheckToken(asked, faults);
    faults.Require(asked.pool_uid().empty() || IsPoolUid(asked.pool_uid()), "pool_uid",
                   "must be the uid of a NodePool, or empty.");
    auto selection = Below<Event>("organizations/*/clusters/*", kAll)(asked, faults);
    // Events outlive their cluster, and there may be another of its name in another zone by now.
    selection.zone_of = [zones](absl::string_view key, int64_t revision) {
      return zones->LearntZoneOf(key, revision);
    };
    return selection;
  };
  return rpc::ChooseRows<Event>(
      context, slow_, lane_, *request, response, below,
      [](auto& page) { return page.add_events(); }, kRender, NewestEvents(request->pool_uid()));
}

Handlers::Stream<v1::WatchLifecycleResponse> Handlers::WatchLifecycle(
    Context context, const v1::WatchLifecycleRequest* request) {
  auto options = ParseWatch(*request, rpc::TurnOf(*context));
  if (!options.ok()) return rpc::FailStream<v1::WatchLifecycleResponse>(context, options.status());
  const auto zone_of = [zones = zones_](absl::string_view key, int64_t revision) {
    return zones->ZoneOf(key, revision);
  };
  const auto scope = rpc::NarrowedTo(*context);
  const absl::Status resumes = rpc::CheckResume(*options, scope, zones_->known_since());
  if (!resumes.ok()) return rpc::FailStream<v1::WatchLifecycleResponse>(context, resumes);
  rpc::Narrow(*options, scope, zone_of);
  // A deleted resource's cluster may be deleted, too, and there may be another one of its name by
  // now.
  const absl::Status status = rpc::KeepZone(
      *options, request->zone(),
      [zone_of](const storage::WatchItem& item) { return zone_of(item.key, item.revision); });
  if (!status.ok()) return rpc::FailStream<v1::WatchLifecycleResponse>(context, status);
  return rpc::WatchStream<v1::WatchLifecycleResponse>(context, lane_.Watch(*options),
                                                      &ToWatchResponse, request->start());
}

}  // namespace muster::lifecycle
