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

// What tests on an AdapterStack have in common. When a test ends, the NodePools and Pods that it
// made through this class are deleted or being deleted. When it failed, the logs are printed.
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
  // Creates a NodePool, waits until it is healthy with its targetNodes, and returns its uid. Throws
  // if it does not become so.
  std::string CreateHealthyPool(const std::string& name, const Json& spec = Json::object());
  void PatchSpec(const std::string& name, const Json& spec);
  // Waits until the condition has that reason, for the object's present generation.
  bool AwaitReason(const std::string& pool, const std::string& type, const std::string& reason);
  // Waits for an event of that reason about the object of that name.
  bool AwaitEvent(const std::string& object, const std::string& reason);

  // --- v1 Nodes ---
  std::vector<Json> NodesOf(const std::string& pool_uid);
  std::vector<std::string> NodeNamesOf(const std::string& pool_uid);  // sorted
  // Waits until `wanted` holds for the v1 Node; it is called with null when the Node is gone.
  bool AwaitNode(const std::string& name, const std::function<bool(const Json&)>& wanted);
  bool AwaitGone(const std::string& node);
  // Waits until its condition CWActive says that it has work, or has none.
  bool AwaitActive(const std::string& node, bool active = true);
  // Waits until the pool's v1 Nodes are just these.
  bool AwaitNodeNames(const std::string& pool_uid, const std::vector<std::string>& names);

  // --- kubelets, played by the test ---
  // Options with which machines boot for ever, so that only the test creates v1 Nodes.
  static AdapterStack::Options WithoutKubelets();
  // Makes a pool of one Node; returns the machine that is to become that Node.
  std::string Deliver(const std::string& pool, const Json& spec = Json::object());
  // Makes pools of one Node each, kills the adapter once the machines are told to boot, and makes
  // their v1 Nodes as of an earlier life, ready. Returns the machines, one for each pool.
  std::vector<std::string> TakeOver(const std::vector<std::string>& pools);
  // Creates a v1 Node as its kubelet does. It is deleted when the test ends.
  void Register(const std::string& name, const std::string& provider_id,
                const Json& annotations = Json::object());
  // Sets the Node's condition Ready, as its kubelet does.
  void SetReady(const std::string& node, bool ready);
  bool AwaitState(const std::string& node, const std::string& state);
  // Lets the machine join as a v1 Node of the same name; waits until that is in production.
  void JoinAs(const std::string& machine);
  // Makes a pool whose one Node is in production; returns the v1 Node's name.
  std::string Join(const std::string& pool, const Json& spec = Json::object());

  // --- Pods, in `default` --- Creates a Pod bound to the Node and running, with a grace period of
  // one second; `changes` is merged over it.
  Json CreatePod(const std::string& name, const std::string& node,
                 const Json& changes = Json::object());
  // Ends the Pod, as its kubelet does once its containers are gone.
  void EndPod(const std::string& name);
  // Creates a PodDisruptionBudget: one Pod with the label app={app} must stay.
  void Guard(const std::string& name, const std::string& app);
  bool AwaitPod(const std::string& name, const std::function<bool(const Json&)>& wanted);

  // --- Muster --- Waits until the adapter has written down Muster's present history as the
  // cluster's, so that an etcd that is restored to a later moment knows it.
  void AwaitAccepted();
  // Runs musterctl; the test fails, with its output, if it does not succeed.
  void Ctl(const std::vector<std::string>& words);
  void ApplyToMuster(const std::string& manifest);
  lifecycle::v1::NodePool MusterPool(const std::string& name);
  std::vector<lifecycle::v1::Node> MusterNodesOf(const std::string& pool);

 private:
  std::vector<std::string> pools_;
  std::vector<std::string> pods_;
  std::vector<std::string> registered_;  // v1 Nodes
};

// One AdapterStack for all tests of a suite: `class XTest : public AdapterTest<XTest>` with a
// static `AdapterStack::Options MakeOptions()`.
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

// The value of a label or annotation; empty if there is none.
std::string LabelOf(const Json& object, absl::string_view key);
std::string AnnotationOf(const Json& object, absl::string_view key);
// The Node's taint of that key; null: it has none.
Json TaintOf(const Json& node, absl::string_view key);
bool IsCordoned(const Json& node);
bool IsLeaving(const Json& object);  // asked to go

}  // namespace muster::testing
