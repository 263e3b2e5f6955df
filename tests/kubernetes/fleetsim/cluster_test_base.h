#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/fleetsim/cluster.h"
#include "tests/kubernetes/fake_api_server/fake_api_server.h"

namespace muster::fleetsim {

using kubernetes::Client;
using testing::FakeApiServer;
using Power = DesiredMachine::Power;
using Change = DesiredMachine::Change;

inline const absl::Time kBirth = absl::FromUnixSeconds(1'750'000'000);

inline std::unique_ptr<Client> Connect(const FakeApiServer& server, const std::string& user_agent) {
  auto client = Client::Create({.server = server.url()}, {.user_agent = user_agent});
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

// All objects of a collection, as a watch shows them.
class Watched final : public kubernetes::Sink {
 public:
  using Objects = std::map<std::string, Json>;  // by name

  Watched(const FakeApiServer& server, const std::string& path)
      : client_(Connect(server, "watcher")),
        reflector_(client_.get(),
                   {.path = path,
                    .first_retry = absl::Milliseconds(1),
                    .last_retry = absl::Milliseconds(5)},
                   this) {
    reflector_.Start();
  }
  ~Watched() override {
    client_->Stop();
    reflector_.Stop();
  }

  // Blocks until it is so.
  Objects WaitUntil(const std::function<bool(const Objects&)>& is_so) {
    MutexLock lock(mutex_);
    while (true) {
      Objects objects;
      for (const Seen* seen : view_.OnMachine("")) objects[seen->key().second] = seen->object;
      if (is_so(objects)) return objects;
      changed_.Wait(mutex_);
    }
  }
  // Blocks until there are so many, and of each it is so.
  Objects WaitForAll(size_t count, const std::function<bool(const Json&)>& is_so) {
    return WaitUntil([&](const Objects& objects) {
      return objects.size() == count &&
             std::all_of(objects.begin(), objects.end(),
                         [&](const auto& entry) { return is_so(entry.second); });
    });
  }

  void BeginList() override {
    Change([&] { view_.BeginList(); });
  }
  void PutListed(const Json& object) override {
    const Seen seen(object);
    Change([&] { view_.PutListed(seen.key(), seen); });
  }
  void EndList(const std::string& version) override {
    Change([&] { view_.EndList(version); });
  }
  void Put(const Json& object) override {
    const Seen seen(object);
    Change([&] { view_.Put(seen.key(), seen); });
  }
  void Remove(const Json& object) override {
    const Seen seen(object);
    Change([&] { view_.Remove(seen.key(), seen.resource_version); });
  }

 private:
  struct Seen {
    Seen() = default;
    explicit Seen(const Json& json)
        : object(json), resource_version(object["metadata"]["resourceVersion"]) {}
    std::pair<std::string, std::string> key() const { return {"", object["metadata"]["name"]}; }
    Json object = {};
    std::string resource_version = {};
  };
  void Change(const std::function<void()>& change) {
    MutexLock lock(mutex_);
    change();
    changed_.SignalAll();
  }

  const std::unique_ptr<Client> client_;
  Mutex mutex_;
  CondVar changed_;
  ClusterView<Seen> view_ MUSTER_GUARDED_BY(mutex_){[](const Seen*, const Seen*) {}};
  kubernetes::Reflector reflector_;
};

inline std::string ReadyOf(const Json& node) {
  for (const Json& condition : node["status"]["conditions"]) {
    if (condition["type"] == "Ready") return condition["status"];
  }
  return "";
}

inline bool IsReady(const Json& node) { return ReadyOf(node) == "True"; }
inline bool Runs(const Json& pod) {
  return pod.contains("status") && pod["status"].value("phase", "") == "Running";
}
inline bool IsMarked(const Json& node) {
  const std::vector<Json> taints = node["spec"].value("taints", std::vector<Json>());
  return std::any_of(taints.begin(), taints.end(),
                     [](const Json& taint) { return taint["key"] == kAutoscalerTaint; });
}
inline bool Anything(const Json&) { return true; }
inline bool IsOwnedByItsNode(const Json& lease, const Watched::Objects& nodes) {
  const Json& owner = lease["metadata"]["ownerReferences"][0];
  const auto node = nodes.find(lease["metadata"]["name"]);
  return node != nodes.end() && owner["kind"] == "Node" && owner["name"] == node->first &&
         owner["uid"] == node->second["metadata"]["uid"] &&
         lease["spec"]["holderIdentity"] == node->first;
}
inline std::string RenewTimeOf(const Json& lease) { return lease["spec"]["renewTime"]; }

class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() : client_(Connect(server_, "test")) {
    options_.calls = 4;
    options_.first_retry = absl::Milliseconds(1);
    options_.last_retry = absl::Milliseconds(20);
    options_.kubelet.speed = 1000;
  }
  // Runs from now on.
  void Begin() {
    cluster_ = std::make_unique<Cluster>(Connect(server_, "fleetsim"), options_, clock_);
    cluster_->Start();
  }
  DesiredMachine Up(int machine) const {
    return {.machine = absl::StrCat("g", 100000 + machine),
            .create_time = kBirth,
            .zone = "US-EAST-04A",
            .hardware = {.cpus = 96, .memory_kib = 1 << 20, .pods = 110, .architecture = "amd64"},
            .power = Power::kRunning,
            .ready = true,
            .reason = "KubeletReady"};
  }
  void WantAll(
      int machines, const std::function<void(DesiredMachine&)>& change = [](DesiredMachine&) {}) {
    for (int i = 0; i < machines; ++i) {
      DesiredMachine desired = Up(i);
      change(desired);
      cluster_->Want(desired);
    }
  }
  void DeleteNode(const std::string& machine) {
    const absl::Status status = client_->Delete(NodePath(machine));
    EXPECT_TRUE(status.ok()) << status;
  }
  void AddPod(const std::string& name, const std::string& machine, int grace) {
    const Json container = {{"name", "c"}, {"image", "i"}};
    const auto added =
        client_->Create(PodsPath("default"), {{"apiVersion", "v1"},
                                              {"kind", "Pod"},
                                              {"metadata", {{"name", name}}},
                                              {"spec",
                                               {{"nodeName", machine},
                                                {"terminationGracePeriodSeconds", grace},
                                                {"containers", Json::array({container})}}}});
    EXPECT_TRUE(added.ok()) << added.status();
  }
  SystemClock clock_;
  FakeApiServer server_;
  const std::unique_ptr<Client> client_;
  ClusterOptions options_;
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace muster::fleetsim
