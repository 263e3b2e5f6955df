#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "nlohmann/json.hpp"
#include "tests/kubernetes/adapter/adapter_stack.h"

namespace muster::testing {

using Json = nlohmann::json;

inline constexpr char kPoolUidLabel[] = "compute.coreweave.com/node-pool-uid";
inline constexpr char kState[] = "node.coreweave.cloud/state";

// What tests on a AdapterStack have in common. NodePools and Pods that a test makes through it are gone,
// or on their way, when it ends; when it failed the logs are shown.
class AdapterTestBase : public ::testing::Test {
 protected:
  virtual AdapterStack& stack() = 0;
  void TearDown() override;

  // A name that no test of this program used.
  static std::string Name(absl::string_view prefix = "pool");

  // --- NodePools ---
  // The reference's example under another name; `spec` is merged over its spec.
  static Json PoolObject(const std::string& name, const Json& spec = Json::object());
  Json CreatePool(const std::string& name, const Json& spec = Json::object());
  // Waits until it is healthy with its targetNodes; its uid. Throws when it does not come to that.
  std::string CreateHealthyPool(const std::string& name, const Json& spec = Json::object());
  void PatchSpec(const std::string& name, const Json& spec);
  // A condition with that reason, for the object's generation of now.
  bool AwaitReason(const std::string& pool, const std::string& type, const std::string& reason);
  // An event of that reason about the object of that name.
  bool AwaitEvent(const std::string& object, const std::string& reason);

  // --- v1 Nodes ---
  std::vector<Json> NodesOf(const std::string& pool_uid);
  std::vector<std::string> NodeNamesOf(const std::string& pool_uid);  // sorted
  // Null: it is gone.
  bool AwaitNode(const std::string& name, const std::function<bool(const Json&)>& wanted);
  bool AwaitGone(const std::string& node);
  // Whether it has work, as its condition CWActive says.
  bool AwaitActive(const std::string& node, bool active = true);
  // Until the pool's v1 Nodes are just these.
  bool AwaitNodeNames(const std::string& pool_uid, const std::vector<std::string>& names);

  // --- kubelets, played by the test ---
  // Machines boot for ever: the test creates their v1 Nodes.
  static AdapterStack::Options WithoutKubelets();
  // A pool of one Node; the machine that is to become it.
  std::string Deliver(const std::string& pool, const Json& spec = Json::object());
  // While no adapter looks, and once they are told to boot, their kubelets come up and find the v1
  // Nodes of an earlier life. The machines, one of each pool.
  std::vector<std::string> TakeOver(const std::vector<std::string>& pools);
  // As a kubelet does. The v1 Node is gone when the test ends.
  void Register(const std::string& name, const std::string& provider_id,
                const Json& annotations = Json::object());
  // As its kubelet says, from now on.
  void SetReady(const std::string& node, bool ready);
  bool AwaitState(const std::string& node, const std::string& state);
  // A machine of that pool joins as a v1 Node of its name, until that is in production.
  void JoinAs(const std::string& machine);
  // A pool of one Node in production; the v1 Node's name.
  std::string Join(const std::string& pool, const Json& spec = Json::object());

  // --- Pods, in `default` ---
  // Bound to the Node and running, one second of grace; `changes` is merged over it.
  Json CreatePod(const std::string& name, const std::string& node,
                 const Json& changes = Json::object());
  // As its kubelet does once its containers are gone.
  void EndPod(const std::string& name);
  // A PodDisruptionBudget of that name: one Pod with the label app={app} must stay.
  void Guard(const std::string& name, const std::string& app);
  bool AwaitPod(const std::string& name, const std::function<bool(const Json&)>& wanted);

  // --- Muster ---
  // Until the adapter has taken the history that Muster is in for the cluster's: what etcd is restored to
  // then has the word on it.
  void AwaitAccepted();
  // Fails the test, with what musterctl said, when it refuses.
  void Ctl(const std::vector<std::string>& words);
  void ApplyToMuster(const std::string& manifest);
  lifecycle::v1::NodePool MusterPool(const std::string& name);
  std::vector<lifecycle::v1::Node> MusterNodesOf(const std::string& pool);

 private:
  std::vector<std::string> pools_;
  std::vector<std::string> pods_;
  std::vector<std::string> registered_;  // v1 Nodes
};

// One AdapterStack for all tests of a suite: `class XTest : public AdapterTest<XTest>` with a static
// `AdapterStack::Options MakeOptions()`.
template <class Suite>
class AdapterTest : public AdapterTestBase {
 public:
  static void SetUpTestSuite() { Shared() = std::make_unique<AdapterStack>(Suite::MakeOptions()); }
  static void TearDownTestSuite() { Shared().reset(); }
  static AdapterStack::Options MakeOptions() { return AdapterStack::Options(); }

 protected:
  AdapterStack& stack() override { return *Shared(); }

 private:
  static std::unique_ptr<AdapterStack>& Shared() {
    static auto& shared = *new std::unique_ptr<AdapterStack>;
    return shared;
  }
};

// The value of a label or annotation; empty without.
std::string LabelOf(const Json& object, absl::string_view key);
std::string AnnotationOf(const Json& object, absl::string_view key);
// The Node's taint of that key; null: it has none.
Json TaintOf(const Json& node, absl::string_view key);
bool IsCordoned(const Json& node);
bool IsLeaving(const Json& object);  // asked to go

}  // namespace muster::testing
