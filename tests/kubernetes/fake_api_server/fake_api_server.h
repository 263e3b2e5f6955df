#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/kubernetes/fake_api_server/misbehaviour.h"
#include "tests/kubernetes/fake_api_server/registry.h"
#include "tests/kubernetes/fake_api_server/store.h"

namespace muster::testing {

// A Kubernetes API server in this process, over plain HTTP, as far as Muster's adapter can tell:
// Nodes, Pods, Namespaces, PodDisruptionBudgets, Leases, Events (events.k8s.io) and NodePools, with
// list, watch, server-side apply, finalizers, graceful ends of Pods and evictions. It takes any
// bearer token. Controllers and kubelets it has none, so a bound Pod that was deleted stays until
// somebody deletes it with grace period 0. It knows nothing of CRD schemas and admission policies.
// Thread-safe.
class FakeApiServer {
 public:
  FakeApiServer();
  ~FakeApiServer();
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;

  // e.g. `http://127.0.0.1:40123`
  std::string url() const;

  void Set(const Misbehaviour& misbehaviour);
  void FailNext(const Failure& failure);
  // Takes back all of FailNext that has not happened yet.
  void FailNoMore();
  // Deletes the object of this path, whatever its finalizers, when the next patch of it arrives,
  // before that is carried out.
  void DeleteDuringNextPatch(absl::string_view path);
  // Forgets all history: running watches and continued lists end with 410.
  void CompactHistory();
  // Save: a backup of all objects. Restore: makes them again those of a backup, also another
  // server's.
  Store::Backup Save() const;
  void Restore(const Store::Backup& backup);
  // Accepts requests, answers none; watches fall silent.
  void SetHanging(bool is_hanging);
  // Cuts all connections and refuses new ones. Not from several threads at once.
  void SetRefusing(bool is_refusing);

  // The resourceVersion: how many changes there were.
  int64_t version() const;
  // The answered requests, oldest first; all since the last ClearRequests.
  std::vector<RecordedRequest> requests() const;
  void ClearRequests();
  // The number of requests other than GET, LIST and WATCH, whatever came of them. Requests whose
  // path contains `except`, e.g. `/leases`, do not count.
  int64_t WritesBy(absl::string_view user_agent_prefix, absl::string_view except = "") const;
  PodCounts CountsOf(absl::string_view pod_uid) const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::testing
