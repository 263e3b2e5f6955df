#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/api/endpoint.h"
#include "tests/kubernetes/fake_api_server/fake_api_server.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {

// An API server of the test's own that serves NodePools: kube-apiserver and etcd of the folder that
// the environment names in KUBEBUILDER_ASSETS, or the fake server where that is unset. No controllers
// run beside either. Ends with the object, the real one at the latest with the process.
class ApiServer {
 public:
  // Ready to serve. Throws std::runtime_error, with the end of the server's log.
  static std::unique_ptr<ApiServer> Start();
  virtual ~ApiServer() = default;
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // For the log of a test, e.g. `kube-apiserver v1.36.2`.
  virtual std::string name() const = 0;
  // Null: it is the real one.
  virtual FakeApiServer* fake_or_null() = 0;
  bool is_real() { return fake_or_null() == nullptr; }

  // A file; its user may do everything (system:masters).
  const std::string& kubeconfig() const { return kubeconfig_; }
  kubernetes::Endpoint endpoint() const;
  std::unique_ptr<kubernetes::Client> Connect(absl::string_view user_agent = "test") const;

  // What the disruption controller of a cluster does once: the status of every
  // PodDisruptionBudget as it follows from the Pods of now. The real server refuses evictions
  // before, and goes by it after. Budgets with matchLabels and integers only.
  void SettleBudgets();

 protected:
  // Makes a folder for it.
  ApiServer();
  const std::string& folder() const { return folder_.path(); }
  // `user`: what the file's user consists of, e.g. `token: x`. `cluster`: likewise, of the cluster.
  void WriteKubeconfig(absl::string_view cluster, absl::string_view user);

 private:
  const TempFolder folder_;
  std::string kubeconfig_;
};

}  // namespace muster::testing
