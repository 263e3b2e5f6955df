// client [ADDRESS]: a NodePool from its spec to its end. Without an address at the server of
// musterctl's current context.
#include "services/client/client.h"

#include <functional>
#include <iostream>

#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace {

namespace v1 = muster::lifecycle::v1;
using Lifecycle = v1::LifecycleService::Stub;
using muster::client::Client;

constexpr char kName[] = "organizations/acme/clusters/example/nodePools/cpp";

// Until `done` holds of the pool (null: it is gone), from `pool` on.
absl::Status Follow(Client& muster, const v1::NodePool& pool,
                    const std::function<bool(const v1::NodePool*)>& done) {
  if (done(&pool)) return absl::OkStatus();
  v1::WatchLifecycleRequest request;
  request.set_name_prefix(kName);
  request.add_kinds(v1::WatchLifecycleRequest::KIND_NODE_POOL);
  request.mutable_start()->set_after_revision(pool.revision());
  auto watch = muster.Watch(&Lifecycle::WatchLifecycle, request);
  bool is_there = true;
  for (const v1::WatchLifecycleResponse& change : watch) {
    // Where the server no longer knew the revision there is a snapshot anew: what it does not tell
    // of is gone.
    if (watch.begins_snapshot()) is_there = false;
    const bool is_about_it = change.key() == kName;
    if (is_about_it) is_there = change.has_node_pool();
    const bool is_snapshots_end = change.type() == muster::type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
    if (!is_about_it && (!is_snapshots_end || is_there)) continue;
    if (done(is_there ? &change.node_pool() : nullptr)) return absl::OkStatus();
  }
  return watch.status();
}

bool IsReady(const v1::NodePool* pool) {
  if (pool == nullptr) return false;
  for (const auto& condition : pool->status().conditions()) {
    const bool newest = condition.observed_generation() == pool->generation();
    if (condition.type() == "Ready" && condition.status() == "True" && newest) {
      std::cout << "ready: " << pool->status().current_nodes() << " Nodes\n";
      return true;
    }
  }
  return false;
}

// Prints what an error says beside its message.
void Explain(const absl::Status& error) {
  const auto detail = muster::error::DetailOf(error);
  std::cout << "refused: " << (detail ? detail->reason : "") << " " << error.message() << "\n";
  if (!detail) return;
  for (const auto& [field, description] : detail->fields)
    std::cout << "  " << field << " " << description << "\n";
}

absl::Status Run(Client& muster) {
  v1::ApplyNodePoolRequest apply;
  apply.mutable_node_pool()->set_name(kName);
  apply.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
  apply.mutable_node_pool()->mutable_spec()->set_target_nodes(2);
  ASSIGN_OR_RETURN(v1::NodePool pool, muster.Call(&Lifecycle::ApplyNodePool, apply));
  RETURN_IF_ERROR(Follow(muster, pool, IsReady));
  for (const int64_t nodes : {5000, 200000, 3}) {
    v1::ResizeNodePoolRequest resize;
    resize.set_name(kName);
    resize.set_target_nodes(nodes);
    resize.set_must_fit(true);  // is refused where the quota is not enough
    const auto resized = muster.Call(&Lifecycle::ResizeNodePool, resize);
    resized.ok() ? void(pool = *resized) : Explain(resized.status());
  }
  RETURN_IF_ERROR(Follow(muster, pool, IsReady));
  v1::DeleteNodePoolRequest remove;
  remove.set_name(kName);
  ASSIGN_OR_RETURN(pool, muster.Call(&Lifecycle::DeleteNodePool, remove));
  RETURN_IF_ERROR(Follow(muster, pool, [](const auto* left) { return left == nullptr; }));
  std::cout << "deleted\n";
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  muster::client::Options options;
  if (argc > 1) {
    options.server = argv[1];
  } else {
    ASSIGN_OR_RETURN(options, muster::client::OptionsFromContext());
  }
  Client muster(options);
  return Run(muster);
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = Main(argc, argv);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
