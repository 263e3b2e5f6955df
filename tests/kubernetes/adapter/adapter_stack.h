#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "services/kubernetes/api/client.h"
#include "tests/integration/child.h"
#include "tests/integration/mini_muster.h"
#include "tests/kubernetes/api_paths.h"
#include "tests/kubernetes/api_server.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {

// The Lease that decides which replica of the adapter works; it also names the history that the
// cluster is in.
inline constexpr char kAdapterLease[] =
    "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases/muster-kubernetes";

// A cluster as a user has it: an API server with NodePools, the whole of Muster behind it, the
// adapter between the two, and a simulated fleet that registers `v1` Nodes and runs Pods on them.
// Throws std::runtime_error when something fails that the test cannot do without.
class AdapterStack {
 public:
  struct Options {
    MiniMuster::Options muster = {};
    // The adapter's Lease lasts 60 s unless they say otherwise: a busy machine does not lose it.
    std::vector<std::string> adapter_flags = {};
    int replicas = 1;
    // The real server only: applies deploy/kubernetes (base, admission-v1); the adapter then works
    // as the service account from there, with its rights only, and the fleet as kubelets do.
    bool as_deployed = false;
  };

  AdapterStack() : AdapterStack(Options()) {}
  explicit AdapterStack(Options options);
  ~AdapterStack();

  MiniMuster& muster() { return *muster_; }
  ApiServer& server() { return *server_; }
  // The real server only: runs kubectl with these words, as an administrator.
  Finished Kubectl(const std::vector<std::string>& words);
  // Its user agent is `test`.
  kubernetes::Client& client() { return *client_; }

  // --- the adapter's replicas ---
  // `flags` come after those of the options, and win over them.
  void StartAdapter(size_t replica = 0, const std::vector<std::string>& flags = {});
  // SIGKILL.
  void KillAdapter(size_t replica = 0);
  // SIGTERM; waits for the end, and returns the exit code.
  int TerminateAdapter(size_t replica = 0);
  // SIGSTOP and SIGCONT.
  void FreezeAdapter(size_t replica = 0);
  void WakeAdapter(size_t replica = 0);
  bool AdapterRuns(size_t replica = 0);
  // The running replica that holds the Lease; -1: none.
  int LeadingReplica();
  // Where it serves /metrics, `127.0.0.1:port`.
  std::string AdapterMetricsAddress(size_t replica = 0) const;
  // What /metrics says; empty: no answer.
  std::string AdapterMetrics(size_t replica = 0);
  // What its health says of `ready`.
  bool AdapterReady(size_t replica = 0) const;
  pid_t AdapterPid(size_t replica = 0) const { return adapters_[replica]->pid(); }

  // --- the cluster's objects ---
  static nlohmann::json ExampleNodePool();  // deploy/kubernetes/samples
  nlohmann::json Create(const nlohmann::json& node_pool);
  nlohmann::json GetNodePool(const std::string& name);  // null: there is none
  nlohmann::json PatchNodePool(const std::string& name, const nlohmann::json& merge_patch);
  void DeleteNodePool(const std::string& name);
  std::vector<nlohmann::json> Nodes();  // v1
  nlohmann::json GetNode(const std::string& name);
  nlohmann::json PatchNode(const std::string& name, const nlohmann::json& merge_patch);
  std::vector<nlohmann::json> Events();  // events.k8s.io
  // Bound to the Node and Running.
  nlohmann::json CreatePod(const std::string& name, const std::string& node,
                           const nlohmann::json& labels = nlohmann::json::object());

  // Follows a collection by list and watch until `wanted` holds for its objects, by name (with
  // the namespace where there is one: `ns/name`). False: it took too long.
  using Objects = std::map<std::string, nlohmann::json>;
  bool Await(const std::string& path, const std::function<bool(const Objects&)>& wanted,
             absl::Duration patience = absl::Seconds(60));
  // Likewise of one NodePool; null: it is gone.
  bool AwaitNodePool(const std::string& name,
                     const std::function<bool(const nlohmann::json&)>& wanted,
                     absl::Duration patience = absl::Seconds(60));
  // Waits until every condition of the object is as in the reference's example, for its present
  // generation, and it has so many Nodes, each of them with its metadata.
  bool AwaitHealthy(const std::string& name, int64_t nodes,
                    absl::Duration patience = absl::Seconds(90));

  // All that musterds and adapters have logged, one after the other.
  std::string ServerLogs() const;
  // The ends of all logs, for failure messages.
  std::string LogEnds() const;

 private:
  std::string File(absl::string_view name) const;
  // `127.0.0.1:port` of the listener that the replica's port file has under that name.
  std::string AddressOf(size_t replica, const std::string& name) const;
  void Deploy();
  // Fails the test if a signal has ended the replica's adapter that no test sent. With an exit code
  // it ends by itself where it finds that it is at the wrong place.
  void ExpectNoCrash(size_t replica);

  const TempFolder folder_;  // deleted last
  const Options options_;
  std::unique_ptr<ApiServer> server_;
  std::string adapter_kubeconfig_;
  std::string fleet_kubeconfig_;
  std::unique_ptr<kubernetes::Client> client_;
  std::unique_ptr<MiniMuster> muster_;
  std::vector<std::unique_ptr<Child>> adapters_;
};

// The reason of a condition of an object's status; empty: it has none of that type.
std::string ReasonOf(const nlohmann::json& object, absl::string_view type);
// The condition; null: there is none.
nlohmann::json ConditionOf(const nlohmann::json& object, absl::string_view type);

}  // namespace muster::testing
