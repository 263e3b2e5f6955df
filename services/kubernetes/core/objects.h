#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/kubernetes/api/json.h"

// What the adapter keeps of the objects of a cluster: only the parts that it needs for its
// decisions. Read from objects as the API server sends them; what is missing or of another type
// reads as empty.
namespace muster::kubernetes {

using StringMap = std::map<std::string, std::string>;

struct NodePoolObject {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  int64_t generation = 0;
  bool deleting = false;
  std::vector<std::string> finalizers = {};
  std::optional<std::string> promote = {};  // the annotations' values
  std::optional<std::string> rollback = {};
  std::optional<std::string> grantable = {};
  Json spec = Json::object();
  Json status = Json::object();

  bool HasFinalizer() const;  // ours
};

struct TaintObject {
  std::string key = {};
  std::string value = {};
  std::string effect = {};
  Json json = Json::object();  // whole, e.g. with `timeAdded`
};

struct NodeObject {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  std::string provider_id = {};
  StringMap labels = {};
  StringMap annotations = {};
  std::vector<TaintObject> taints = {};
  bool unschedulable = false;
  bool deleting = false;
  // What server-side apply says is ours.
  std::set<std::string> own_labels = {};
  std::set<std::string> own_annotations = {};
  bool owns_unschedulable = false;
  bool foreign_unschedulable = false;  // somebody else set it
  std::optional<bool> ready = {};      // the condition Ready; nullopt: not there yet
  std::string not_ready_why = {};      // its reason and message when it is not True
  // When its kubelet posted that condition last: at its start, at changes and every five minutes;
  // in between its Lease says that it lives.
  absl::Time heartbeat_time = absl::InfinitePast();
  std::string boot_id = {};         // as its kubelet says
  Json conditions = Json::array();  // CWRegistered, CWActive, CWNodeRemoval as they are
};

struct PodObject {
  enum class Class {
    kInterruptable,  // goes first and at once
    kGraceful,       // is given its own grace period
    kGuarded,        // through the Eviction API
    kFixed,          // a DaemonSet's or a mirror Pod: left alone
  };
  std::string name_space = {};
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  std::string node = {};  // empty: not scheduled
  Class kind = Class::kGuarded;
  bool deleting = false;
  absl::Time deletion_time = absl::InfinitePast();  // where it is deleting: the end of its grace
  bool finished = false;                            // Succeeded or Failed

  // Counts as work: what keeps a Node active and what a drain moves.
  bool IsWork() const { return kind != Class::kFixed && !finished; }
  std::string key() const;
};

struct NamespaceObject {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  std::string organization = {};  // the label's value; empty: none
  bool deleting = false;
};

NodePoolObject ReadNodePool(const Json& object);
NodeObject ReadNode(const Json& object);
PodObject ReadPod(const Json& object);
NamespaceObject ReadNamespace(const Json& object);

// The last part of its provider id (`muster://US-EAST-04A/g8fd930`, whatever the scheme); empty
// without one. If Muster knows that machine, the v1 Node is that machine; else the one of its name.
std::string ProviderMachine(const NodeObject& node);

// DeleteOptions: the body of a request that deletes the object of that uid, and no other of the
// same name.
Json OptionsToDelete(const std::string& uid);

}  // namespace muster::kubernetes
