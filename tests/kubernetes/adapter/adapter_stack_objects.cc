// The cluster's objects, as tests make, read and await them.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/kubernetes/adapter/adapter_stack.h"
#include "tests/kubernetes/manifests.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

Json OrThrow(absl::StatusOr<Json> answer) {
  if (!answer.ok()) throw std::runtime_error(answer.status().ToString());
  return *std::move(answer);
}

std::string NameOf(const Json& object) {
  const Json& metadata = object.at("metadata");
  const std::string name_space = metadata.value("namespace", "");
  const std::string name = metadata.at("name");
  return name_space.empty() ? name : absl::StrCat(name_space, "/", name);
}

// Events may come again, and late.
int64_t VersionOf(const Json& object) {
  int64_t version = 0;
  (void)absl::SimpleAtoi(object["metadata"].value("resourceVersion", ""), &version);
  return version;
}

// Does something after a time, unless it is destroyed before.
class Timer {
 public:
  Timer(absl::Duration after, std::function<void()> what)
      : thread_([this, after, what = std::move(what)] {
          std::unique_lock<std::mutex> lock(mutex_);
          if (!over_.wait_for(lock, absl::ToChronoNanoseconds(after), [&] { return done_; }))
            what();
        }) {}
  ~Timer() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace

Json ConditionOf(const Json& object, absl::string_view type) {
  const Json status = object.is_object() ? object.value("status", Json::object()) : Json::object();
  for (const Json& condition : status.value("conditions", Json::array())) {
    if (condition.value("type", "") == type) return condition;
  }
  return nullptr;
}

std::string ReasonOf(const Json& object, absl::string_view type) {
  const Json condition = ConditionOf(object, type);
  return condition.is_null() ? "" : condition.value("reason", "");
}

Json AdapterStack::ExampleNodePool() {
  return ReadDeployed("kubernetes/samples/example-nodepool.yaml").front();
}

Json AdapterStack::Create(const Json& node_pool) {
  return OrThrow(client_->Create(kNodePoolsPath, node_pool));
}

Json AdapterStack::GetNodePool(const std::string& name) {
  auto found = client_->Get(absl::StrCat(kNodePoolsPath, "/", name));
  if (absl::IsNotFound(found.status())) return nullptr;
  return OrThrow(std::move(found));
}

Json AdapterStack::PatchNodePool(const std::string& name, const Json& merge_patch) {
  return OrThrow(client_->Patch(kubernetes::PatchType::kMerge,
                                absl::StrCat(kNodePoolsPath, "/", name), merge_patch));
}

void AdapterStack::DeleteNodePool(const std::string& name) {
  const absl::Status status = client_->Delete(absl::StrCat(kNodePoolsPath, "/", name));
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::vector<Json> AdapterStack::Nodes() {
  std::vector<Json> nodes;
  const auto listed =
      client_->List(kNodesPath, {}, [&](Json node) { nodes.push_back(std::move(node)); });
  if (!listed.ok()) throw std::runtime_error(listed.status().ToString());
  return nodes;
}

Json AdapterStack::GetNode(const std::string& name) {
  auto found = client_->Get(absl::StrCat(kNodesPath, "/", name));
  if (absl::IsNotFound(found.status())) return nullptr;
  return OrThrow(std::move(found));
}

Json AdapterStack::PatchNode(const std::string& name, const Json& merge_patch) {
  return OrThrow(client_->Patch(kubernetes::PatchType::kMerge, absl::StrCat(kNodesPath, "/", name),
                                merge_patch));
}

std::vector<Json> AdapterStack::Events() {
  std::vector<Json> events;
  const auto listed =
      client_->List(kEventsPath, {}, [&](Json event) { events.push_back(std::move(event)); });
  if (!listed.ok()) throw std::runtime_error(listed.status().ToString());
  return events;
}

Json AdapterStack::CreatePod(const std::string& name, const std::string& node, const Json& labels) {
  const Json container = {{"name", "main"}, {"image", "none"}};
  const Json made = OrThrow(
      client_->Create(kDefaultPodsPath,
                      {{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", labels}}},
                       {"spec",
                        {{"nodeName", node},
                         {"terminationGracePeriodSeconds", 1},
                         {"containers", Json::array({container})}}}}));
  const auto running = client_->Patch(kubernetes::PatchType::kMerge,
                                      absl::StrCat(kDefaultPodsPath, "/", name, "/status"),
                                      {{"status", {{"phase", "Running"}}}});
  return running.ok() ? *running : made;
}

bool AdapterStack::Await(const std::string& path, const std::function<bool(const Objects&)>& wanted,
                         absl::Duration patience) {
  const absl::Time give_up = absl::Now() + patience;
  // Its own client: it is stopped when the time is over.
  const auto client = server_->Connect("test-await");
  const Timer timer(patience, [&client] { client->Stop(); });
  bool met = false;
  while (!met && absl::Now() < give_up) {
    Objects objects;
    const auto version = client->List(path, {}, [&](Json object) {
      const std::string name = NameOf(object);
      objects[name] = std::move(object);
    });
    if (!version.ok()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    met = wanted(objects);
    if (met) break;
    (void)client->Watch(path, {}, *version, [&](absl::string_view type, Json object) {
      if (type == "BOOKMARK") return absl::Now() < give_up;
      const std::string name = NameOf(object);
      const auto known = objects.find(name);
      if (type == "DELETED") {
        objects.erase(name);
      } else if (known == objects.end() || VersionOf(object) > VersionOf(known->second)) {
        objects[name] = std::move(object);
      }
      met = wanted(objects);
      return !met && absl::Now() < give_up;
    });
  }
  return met;
}

bool AdapterStack::AwaitNodePool(const std::string& name,
                                 const std::function<bool(const Json&)>& wanted,
                                 absl::Duration patience) {
  return Await(
      kNodePoolsPath,
      [&](const Objects& objects) {
        const auto found = objects.find(name);
        return wanted(found == objects.end() ? Json(nullptr) : found->second);
      },
      patience);
}

bool AdapterStack::AwaitHealthy(const std::string& name, int64_t nodes, absl::Duration patience) {
  static const auto& reasons =
      *new std::map<std::string, std::string>{{"Validated", "Valid"},
                                              {"Capacity", "Sufficient"},
                                              {"Quota", "Under"},
                                              {"AtTarget", "TargetMet"},
                                              {"NodeReconfigurationRequired", "AllNodesUpToDate"}};
  std::string uid;
  const bool shown = AwaitNodePool(
      name,
      [&](const Json& object) {
        if (object.is_null()) return false;
        uid = object["metadata"]["uid"];
        for (const auto& [type, reason] : reasons) {
          const Json condition = ConditionOf(object, type);
          if (condition.is_null() || condition["reason"] != reason) return false;
          if (condition["observedGeneration"] != object["metadata"]["generation"]) return false;
        }
        return object["spec"]["targetNodes"] == nodes &&
               object["status"].value("currentNodes", int64_t{-1}) == nodes;
      },
      patience);
  if (!shown) return false;
  return Await(
      kNodesPath,
      [&](const Objects& objects) {
        int64_t settled = 0;
        for (const auto& [node_name, node] : objects) {
          const Json labels = node["metadata"].value("labels", Json::object());
          if (labels.value("compute.coreweave.com/node-pool-uid", "") != uid) continue;
          if (labels.value("node.coreweave.cloud/state", "") != "production") return false;
          if (ReasonOf(node, "CWRegistered").empty()) return false;
          ++settled;
        }
        return settled == nodes;
      },
      patience);
}

}  // namespace muster::testing
