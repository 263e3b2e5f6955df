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
  std::function<void(absl::Duration)> sleep =
      {};  // between a call and its repetition; null: really
};

// One resource, as people name it.
struct ResourceId {
  Kind kind = {};
  std::string id = {};  // as IdOf; of a Node POOL/MACHINE; or its whole resource name
};

// Which of a kind a list is of. What the server cannot leave out comes too: whoever asks sifts.
struct ListRange {
  std::string pool = {};    // of this NodePool, by id or whole name: its Nodes, its events
  std::string begin = {};   // only those whose id, of a Node POOL/MACHINE, begins so; empty: all
  std::string filter = {};  // of the List (type.v1.ListChoice), instead of `begin`; empty: none
};

// What a watch is of. What the server cannot leave out comes too: whoever asks sifts.
struct WatchRange {
  Kind kind = {};
  std::string pool = {};              // only Nodes and events of this NodePool, as in ListRange
  std::vector<std::string> ids = {};  // only these, as in ResourceId; empty: all
};

// The cells in which something was done, by their contexts' names; empty: there is one server.
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

// A resource that the server tells of, as it was. INTERNAL: it is of no kind that can be shown.
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

// The last time that a timestamp tells: asked how things were then, the server tells how they are now, whoever's clock is ahead.
inline constexpr absl::Time kLastTime = absl::FromUnixSeconds(253'402'300'799);

// How a resource is written.
struct WriteMode {
  bool dry_run = false;   // nothing is written
  bool must_fit = false;  // of a NodePool: only if quota covers it now
  // Told of a MachineSet that takes several calls, after each: how many of its machines are done. Null: nobody looks.
  std::function<void(size_t done, size_t all)> progress = {};
};

// What a manifest did, or would do.
enum class Outcome { kCreated, kConfigured, kUnchanged };
struct Applied {
  Outcome outcome = Outcome::kUnchanged;
  // E.g. `16 machines, 16 new`; of a NodePool that was there the fields that changed, `spec.target_nodes`.
  std::string detail = {};
  std::optional<lifecycle::v1::NodePoolPreview> preview = {};  // of a NodePool that was only tried
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
  std::string incarnation = {};  // of the history that `revision` is of; empty: as before
  std::string view = {};         // what the caller sees; likewise
  std::string key = {};
  std::optional<Item> item = {};
};
// Returns false when it wants no more.
using WatchReceiver = std::function<bool(const WatchMessage& message)>;

}  // namespace muster::musterctl
