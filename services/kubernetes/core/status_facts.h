#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/kubernetes/core/objects.h"

// What a NodePool's status is made from.
namespace muster::kubernetes {

// Which edition's names conditions and events bear.
enum class Edition { kCurrent, kFirst, kBoth };

// A spec, or a deletion, that Muster did not take.
struct Refusal {
  int64_t generation = 0;    // of the object
  std::string message = {};  // every fault, which limit, or which cluster
  enum class Kind {
    kInvalid,
    // Nothing is wrong with these: the organization has as much as it may have, Muster does not
    // have the cluster, or Muster or the API server forbids the adapter to take it up. They are
    // taken once that has changed.
    kLimit,
    kNoCluster,
    kForbidden,
    // Muster took a later generation of the object: the cluster's etcd was restored.
    kRestored,
    // The pool of an earlier object of its name is on its way out.
    kFormer,
    // Muster forbids the adapter to delete the pool, or may not know its Nodes.
    kUndeleted,
  };
  Kind kind = Kind::kInvalid;

  // Whether somebody has to act.
  bool stalls() const { return kind != Kind::kFormer; }
  bool may_pass() const { return kind != Kind::kInvalid; }
  // Whoever forbids it may say so in other words each time, and nobody who makes pools can mend it.
  bool forbids() const { return kind == Kind::kForbidden || kind == Kind::kUndeleted; }
  // Whether Muster may have the pool although it does not show it.
  bool hides_pool() const { return kind == Kind::kNoCluster || forbids(); }
  // Whether orders are refused, too, and do not wait for the spec: it has to be written anew, or
  // the orders are out of the past as well.
  bool ends_orders() const { return kind == Kind::kInvalid || kind == Kind::kRestored; }
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// Whether the metadata of a pool's Nodes is as it should be, for the first edition's
// MetadataSynced.
struct Synced {
  int64_t nodes = 0;    // that are to have a v1 Node
  int64_t pending = 0;  // of them: it is not there yet, or not all of it is on it
  int64_t unknown = 0;  // of them: it is not known whether the v1 Node is that Node's
};

// What the API server does not let us write: labels, annotations, taints, `unschedulable`.
struct MetadataRefusal {
  int64_t nodes = 0;         // of how many of a pool's Nodes
  std::string message = {};  // of one of them, and what the server said
};

// Whether the Nodes of a pool take work, for the condition Ready.
struct Service {
  int64_t nodes = 0;   // of Muster's
  int64_t absent = 0;  // of them: not in production, or their v1 Node is not as it should be
};

// `pool`: Muster's of that uid, or null while there is none.
struct StatusFacts {
  const NodePoolObject* object = nullptr;
  const lifecycle::v1::NodePool* pool = nullptr;
  std::optional<Refusal> refusal = {};
  bool gone = false;  // deleted, and Muster has nothing left of it
  Edition edition = Edition::kCurrent;
  Synced synced = {};  // read for the first edition only
  std::optional<MetadataRefusal> metadata_refusal = {};
  bool ready = false;    // show Ready, and what goes with it
  Service service = {};  // read for that only
  // What the brake says of the pool (core/brake.h); nullopt: nothing is held.
  std::optional<std::string> held = {};
};

}  // namespace muster::kubernetes
