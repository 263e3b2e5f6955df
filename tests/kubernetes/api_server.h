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
// the environment names in KUBEBUILDER_ASSETS, or the fake server where that is unset. No
// controllers run beside either. Ends with the object, the real one at the latest with the process.
class ApiServer {
 public:
  // Returns when it serves. Throws std::runtime_error, with the end of the server's log, if it does
  // not.
  static std::unique_ptr<ApiServer> Start();
  virtual ~ApiServer() = default;
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // For the log of a test, e.g. `kube-apiserver v1.36.2`.
  virtual std::string name() const = 0;
  // Null: it is the real one.
  virtual FakeApiServer* fake_or_null() = 0;
  bool is_real() { return fake_or_null() == nullptr; }

  // Path of a kubeconfig whose user may do everything (system:masters).
  const std::string& kubeconfig() const { return kubeconfig_; }
  kubernetes::Endpoint endpoint() const;
  std::unique_ptr<kubernetes::Client> Connect(absl::string_view user_agent = "test") const;

  // Plays a cluster's disruption controller once: sets the status of every PodDisruptionBudget by
  // the Pods that are there now. Until that is done the real server refuses evictions; then it goes
  // by the status. Only for budgets with matchLabels and integers.
  void SettleBudgets();

 protected:
  // Makes the server's folder.
  ApiServer();
  const std::string& folder() const { return folder_.path(); }
  // `cluster`, `user`: members of the file's cluster and user in YAML's flow style, e.g. `token:
  // x`.
  void WriteKubeconfig(absl::string_view cluster, absl::string_view user);

 private:
  const TempFolder folder_;
  std::string kubeconfig_;
};

}  // namespace muster::testing
