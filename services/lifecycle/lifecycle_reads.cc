#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/error.h"
#include "services/common/resource_name.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/handlers.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/rpc/list.h"
#include "services/rpc/read.h"
#include "services/rpc/unary.h"
#include "services/rpc/watch_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::lifecycle {
namespace {

// A list's parent, in which `-` stands for any id: how the names of its children begin, and which
// parts they must have.
class Parent {
 public:
  // `pattern`: e.g. `organizations/*/clusters/*`. INVALID_ARGUMENT parent.
  static absl::StatusOr<Parent> Parse(absl::string_view pattern, absl::string_view parent) {
    const auto ids = MatchName(pattern, parent);
    if (!ids) {
      return muster::error::InvalidField(
          "parent", absl::StrCat("must be like `", pattern, "`; `-` stands for any id."));
    }
    Parent parsed;
    parsed.parts_ = absl::StrSplit(parent, '/');
    for (const std::string& part : parsed.parts_) {
      if (part == "-") break;
      absl::StrAppend(&parsed.prefix_, part, "/");
    }
    return parsed;
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

absl::StatusOr<storage::WatchOptions> ParseWatch(const v1::WatchLifecycleRequest& request) {
  auto options = rpc::ToWatchOptions<storage::WatchOptions>(request.start());
  if (!options.ok()) return options;
  for (int i = 0; i < request.kinds_size(); ++i) {
    const char* kind = KindName(request.kinds(i));
    if (kind == nullptr) {
      return muster::error::InvalidField(absl::StrCat("kinds[", i, "]"),
                                         "must be one of the known kinds.");
    }
    options->kinds.emplace_back(kind);
  }
  // The lease is nobody's business.
  if (options->kinds.empty())
    options->kinds = {Cluster::kKind, Pool::kKind, Node::kKind, Event::kKind};
  options->key_prefix = request.name_prefix();
  return options;
}

bool ParseResource(const storage::WatchItem& item, v1::WatchLifecycleResponse& response) {
  if (item.kind == Cluster::kKind) return response.mutable_cluster()->ParseFromString(*item.bytes);
  if (item.kind == Pool::kKind) return response.mutable_node_pool()->ParseFromString(*item.bytes);
  if (item.kind == Node::kKind) return response.mutable_node()->ParseFromString(*item.bytes);
  return response.mutable_event()->ParseFromString(*item.bytes);
}

v1::WatchLifecycleResponse ToWatchResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchLifecycleResponse>(item, &ParseResource);
}

// Answers with one page of the rows of `Row` below the request's parent for which `keep` holds.
template <class Row, class Request, class Response, class Keep, class Add>
Handlers::Unary List(Lane& lane, Handlers::Context context, absl::string_view pattern,
                     const Request& request, Response* response, Keep keep, Add add) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    absl::StatusOr<Parent> parent = Parent::Parse(pattern, request.parent());
    if (!parent.ok()) return void(responder.Finish(parent.status()));
    absl::StatusOr<rpc::Page> page = rpc::ReadPage(request);
    if (!page.ok()) return void(responder.Finish(page.status()));
    rpc::AnswerFrom(
        lane, std::move(responder),
        [request, parent = *std::move(parent), page = *std::move(page), response, keep, add](
            const State& state, int64_t) {
          response->set_next_page_token(rpc::ListPage(
              state.table<Row>().rows(), request, page, parent.prefix(),
              [&](const auto& row) { return parent.Holds(row.first) && keep(*row.second.row); },
              [&](const auto& row) { *add(response) = ToProto(row.second); }));
          return absl::OkStatus();
        });
  });
}

constexpr auto kAll = [](const auto&) { return true; };

}  // namespace

template <class Row, class Response>
Handlers::Unary Handlers::Get(Context context, const std::string& name, bool well_formed,
                              const char* shape, Response* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!well_formed) return void(responder.Finish(muster::error::InvalidField("name", shape)));
    rpc::AnswerFrom(lane_, std::move(responder),
                    [name, response](const State& state, int64_t) -> absl::Status {
                      const Versioned<Row>* row = state.table<Row>().FindVersioned(name);
                      if (row == nullptr) return muster::error::NotFound(name);
                      *response = ToProto(*row);
                      return absl::OkStatus();
                    });
  });
}

Handlers::Unary Handlers::ExplainNodePool(Context context,
                                          const v1::ExplainNodePoolRequest* request,
                                          v1::ExplainNodePoolResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!ParsePoolName(request->name()))
      return void(responder.Finish(muster::error::InvalidField("name", kPoolNameShape)));
    const std::shared_ptr<Advisor> asked = advisor();
    if (asked == nullptr)
      return void(
          responder.Finish(absl::UnavailableError("The other services are not known yet.")));
    const absl::Time deadline = responder.deadline();
    lane_.Read(
        [asked, deadline, name = request->name(), response,
         shared = std::make_shared<rpc::Responder>(std::move(responder))](
            const absl::Status& status, const State* state, int64_t) {
          if (!status.ok()) return shared->Finish(status);
          std::optional<Picture> picture = PictureOf(*state, name);
          if (!picture) return shared->Finish(muster::error::NotFound(name));
          const Versioned<Pool> pool = *state->table<Pool>().FindVersioned(name);
          asked->Explain(*std::move(picture), deadline,
                         [pool, response, shared](std::vector<v1::NodePoolObstacle> obstacles) {
                           shared->Reply([&] {
                             *response->mutable_node_pool() = ToProto(pool);
                             for (v1::NodePoolObstacle& obstacle : obstacles)
                               *response->add_obstacles() = std::move(obstacle);
                           });
                         });
        },
        deadline);
  });
}

Handlers::Unary Handlers::GetCluster(Context context, const v1::GetClusterRequest* request,
                                     v1::Cluster* response) {
  return Get<Cluster>(context, request->name(), ParseClusterName(request->name()).has_value(),
                      kClusterNameShape, response);
}

Handlers::Unary Handlers::GetNodePool(Context context, const v1::GetNodePoolRequest* request,
                                      v1::NodePool* response) {
  return Get<Pool>(context, request->name(), ParsePoolName(request->name()).has_value(),
                   kPoolNameShape, response);
}

Handlers::Unary Handlers::GetNode(Context context, const v1::GetNodeRequest* request,
                                  v1::Node* response) {
  return Get<Node>(context, request->name(), ParseNodeName(request->name()).has_value(),
                   kNodeNameShape, response);
}

Handlers::Unary Handlers::ListClusters(Context context, const v1::ListClustersRequest* request,
                                       v1::ListClustersResponse* response) {
  return List<Cluster>(lane_, context, "organizations/*", *request, response, kAll,
                       [](auto* out) { return out->add_clusters(); });
}

Handlers::Unary Handlers::ListNodePools(Context context, const v1::ListNodePoolsRequest* request,
                                        v1::ListNodePoolsResponse* response) {
  return List<Pool>(lane_, context, "organizations/*/clusters/*", *request, response, kAll,
                    [](auto* out) { return out->add_node_pools(); });
}

Handlers::Unary Handlers::ListNodes(Context context, const v1::ListNodesRequest* request,
                                    v1::ListNodesResponse* response) {
  return List<Node>(lane_, context, "organizations/*/clusters/*/nodePools/*", *request, response,
                    kAll, [](auto* out) { return out->add_nodes(); });
}

Handlers::Unary Handlers::ListEvents(Context context, const v1::ListEventsRequest* request,
                                     v1::ListEventsResponse* response) {
  const auto about = [uid = request->pool_uid()](const Event& event) {
    return uid.empty() || event.pool_uid == uid;
  };
  return List<Event>(lane_, context, "organizations/*/clusters/*", *request, response, about,
                     [](auto* out) { return out->add_events(); });
}

Handlers::Stream<v1::WatchLifecycleResponse> Handlers::WatchLifecycle(
    Context context, const v1::WatchLifecycleRequest* request) {
  const auto options = ParseWatch(*request);
  if (!options.ok()) return rpc::FailStream<v1::WatchLifecycleResponse>(context, options.status());
  return rpc::WatchStream<v1::WatchLifecycleResponse>(context, lane_.Watch(*options),
                                                      &ToWatchResponse, request->start().bundle());
}

}  // namespace muster::lifecycle
