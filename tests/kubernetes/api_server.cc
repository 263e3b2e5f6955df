#include "tests/kubernetes/api_server.h"

#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/kubernetes/api/kubeconfig.h"
#include "tests/kubernetes/fake_api_server/budgets.h"

namespace muster::testing {
namespace {

template <class T>
T Need(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

std::vector<Json> All(kubernetes::Client& client, absl::string_view path) {
  std::vector<Json> objects;
  Need(client.List(path, {}, [&](Json object) { objects.push_back(std::move(object)); }));
  return objects;
}

}  // namespace

ApiServer::ApiServer() : kubeconfig_(folder_.Path("kubeconfig")) {}

void ApiServer::WriteKubeconfig(absl::string_view cluster, absl::string_view user) {
  std::ofstream(kubeconfig_) << "apiVersion: v1\nkind: Config\ncurrent-context: test\n"
                             << "clusters:\n- name: test\n  cluster: {" << cluster << "}\n"
                             << "users:\n- name: test\n  user: {" << user << "}\n"
                             << "contexts:\n- name: test\n  context: {cluster: test, user: test}\n";
}

kubernetes::Endpoint ApiServer::endpoint() const {
  return Need(kubernetes::LoadKubeconfig(kubeconfig_));
}

std::unique_ptr<kubernetes::Client> ApiServer::Connect(absl::string_view user_agent) const {
  kubernetes::ClientOptions options;
  options.user_agent = std::string(user_agent);
  return Need(kubernetes::Client::Create(endpoint(), std::move(options)));
}

void ApiServer::SettleBudgets() {
  const std::unique_ptr<kubernetes::Client> client = Connect("disruption-controller");
  for (Json& budget : All(*client, "/apis/policy/v1/poddisruptionbudgets")) {
    const std::string space = budget.at("metadata").at("namespace");
    const std::string name = budget.at("metadata").at("name");
    budget["status"] =
        BudgetStatus(budget, All(*client, absl::StrCat("/api/v1/namespaces/", space, "/pods")));
    Need(client->Replace(absl::StrCat("/apis/policy/v1/namespaces/", space,
                                      "/poddisruptionbudgets/", name, "/status"),
                         budget));
  }
}

}  // namespace muster::testing
