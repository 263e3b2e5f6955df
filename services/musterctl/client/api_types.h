#pragma once

#include <google/protobuf/any.pb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "muster/capacity/v1/capacity_service.pb.h"
#include "muster/history/v1/history_service.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.pb.h"
#include "muster/type/v1/watch.pb.h"
#include "services/musterctl/manifest/kinds.h"
#include "services/musterctl/manifest/resources.h"

namespace grpc {
class ChannelCredentials;
}

// What goes into the Api and comes out of it, beside API messages.
namespace muster::musterctl {

struct ApiOptions {
  std::string server = {};
  std::shared_ptr<grpc::ChannelCredentials> credentials = {};  // null: plain text
  Scope scope = {};
  absl::Duration timeout = absl::Seconds(10);  // of each call, and until a watch begins
  // As client::Options has it. Empty: a random one.
  std::string request_id = {};
  std::string reason = {};  // why, for the history of what is changed; empty: not said
  // Between a call and its repetition; null: sleeps in real time.
  std::function<void(absl::Duration)> sleep = {};
};

// One resource, as people name it.
struct ResourceId {
  Kind kind = {};
  std::string id = {};  // as IdOf returns it, for a Node POOL/MACHINE; or the whole resource name
};

// Which resources of a kind a list returns. It may return more where the server cannot filter: the
// caller has to.
struct ListRange {
  std::string pool = {};    // of this NodePool, by id or whole name: its Nodes, its events
  std::string begin = {};   // only ids (for a Node POOL/MACHINE) with this prefix; empty: all
  std::string filter = {};  // of the List (type.v1.ListChoice), instead of `begin`; empty: none
  // Of events: in the cluster of this whole name; empty: the scope's, or the one that `pool` is in.
  std::string cluster = {};
};

// Which resources a watch follows. It may tell of more where the server cannot filter: the caller
// has to.
struct WatchRange {
  Kind kind = {};
  std::string pool = {};              // only Nodes and events of this NodePool, as in ListRange
  std::vector<std::string> ids = {};  // only these, as in ResourceId; empty: all
};

// The names (of contexts) of the cells in which something was done; empty: there is one server.
using CellNames = std::vector<std::string>;

// What FindPlacements answered.
struct FoundPlacements {
  capacity::v1::FindPlacementsResponse answer = {};
  CellNames cells = {};  // in which each of its zones is
};

// Takes a page of a list; false: no more are wanted.
using PageReceiver = std::function<bool(std::vector<Item> items)>;

// A revision of the service that keeps the resource, or a time.
using Moment = std::variant<int64_t, absl::Time>;

// Unpacks a resource of an answer about the past. INTERNAL: it is of no kind that can be shown.
absl::StatusOr<Item> ToItem(const google::protobuf::Any& resource);

// Changes of a resource, the newest first.
struct ToldChanges {
  history::v1::ListChangesResponse answer = {};
  CellNames cells = {};  // in which each of the changes was made
};

// A resource as it was.
struct ToldPast {
  std::string cell = {};  // in which it was, as Item has it
  history::v1::GetPastResponse answer = {};
};

// The last time that a Timestamp can hold. Asked how things were at that time, the server answers
// how they are now, even if its clock is ahead of ours.
inline constexpr absl::Time kLastTime = absl::FromUnixSeconds(253'402'300'799);

// How a resource is written.
struct WriteMode {
  bool dry_run = false;    // nothing is written
  bool must_fit = false;   // of a NodePool: only if quota covers it now
  bool overrides = false;  // of a Quota: its overrides are written also if there are none
  // Called after each call of a MachineSet that takes several, with how many of its machines are
  // done. Null: not called.
  std::function<void(size_t done, size_t all)> progress = {};
};

// What a manifest did, or would do.
enum class Outcome { kCreated, kConfigured, kUnchanged };
struct Applied {
  Outcome outcome = Outcome::kUnchanged;
  // E.g. `16 machines, 16 new`; for a NodePool that existed the fields that changed, e.g.
  // `spec.target_nodes`.
  std::string detail = {};
  std::optional<lifecycle::v1::NodePoolPreview> preview = {};  // of a NodePool, with `dry_run`
  std::vector<std::string> warnings = {};                      // of NodePools and machines
};

enum class ReconfigurationVerb { kPause, kResume, kCancel };

// What is ordered of one Node: see the RPCs of these names.
enum class NodeVerb { kCordon, kUncordon, kDrain, kReboot };
struct NodeOrder {
  NodeVerb verb = NodeVerb::kCordon;
  bool force = false;                           // kDrain
  lifecycle::v1::NodeOrders::Reboot mode = {};  // kReboot
  bool validate_only = false;
};

// A message of a Watch, of whatever kind.
struct WatchMessage {
  type::v1::WatchEventType type = {};
  int64_t revision = 0;
  std::string incarnation = {};  // the history that `revision` belongs to; empty: as before
  std::string view = {};         // what the caller may see; empty: as before
  std::string key = {};
  std::optional<Item> item = {};
};
// Returns false when it wants no more.
using WatchReceiver = std::function<bool(const WatchMessage& message)>;

}  // namespace muster::musterctl
