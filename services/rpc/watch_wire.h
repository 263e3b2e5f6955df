#pragma once

#include <muster/type/v1/watch.pb.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/access/scope.h"
#include "services/common/error.h"
#include "services/common/resource_name.h"

// The parts that every Watch RPC's messages share (muster.type.v1.WatchStart). The lane's types are
// template arguments, so that this folder does not know storage/.
namespace muster::rpc {

// The options of a watch that begins at `start`, for a caller of number `turn` (TurnOf).
// INVALID_ARGUMENT: start.after_revision.
template <class WatchOptions>
absl::StatusOr<WatchOptions> ToWatchOptions(const type::v1::WatchStart& start, uint64_t turn) {
  WatchOptions options;
  options.turn = turn;
  if (!start.has_after_revision()) return options;
  if (start.after_revision() < 0)
    return error::InvalidField("start.after_revision", "must be at least 0.");
  options.after_revision = start.after_revision();
  options.incarnation = start.incarnation();
  return options;
}

// A prefix that no key has: in requests `-` stands for any id, and none is called so.
inline constexpr char kNoKey[] = "-";

// Narrows a watch to what a caller with `scope` sees (null: all). `zone_of(key, revision)`: the
// zone of the resource as it was when it was changed; it must be the same function for all watches
// of a lane.
template <class WatchOptions, class ZoneOf>
void Narrow(WatchOptions& options, const std::shared_ptr<const access::Scope>& scope,
            ZoneOf zone_of) {
  if (scope == nullptr) return;
  options.sees = [scope, zone_of = std::move(zone_of)](absl::string_view key, int64_t revision) {
    return scope->Covers(key) || (scope->has_zones() && scope->Covers(key, zone_of(key, revision)));
  };
  options.sees_text = scope->ToString();
  options.key_prefix = scope->Narrowed(options.key_prefix).value_or(kNoKey);
}

// Whether a watch that is narrowed by zones may resume: the key of a deleted resource tells no
// zone, and the zones of resources are known only from the revision `zones_known_since` on.
// OUT_OF_RANGE: it must begin with a snapshot.
template <class WatchOptions>
absl::Status CheckResume(const WatchOptions& options,
                         const std::shared_ptr<const access::Scope>& scope,
                         int64_t zones_known_since) {
  const bool by_zone = scope != nullptr && scope->has_zones();
  if (!by_zone || !options.after_revision || *options.after_revision >= zones_known_since)
    return absl::OkStatus();
  return error::RevisionCompacted(*options.after_revision, zones_known_since);
}

// Leaves out what is not in `zone`; empty: leaves out nothing. `zone_of(item)`: the zone of an item
// that has bytes. Deletions of all zones are told. INVALID_ARGUMENT: zone.
template <class WatchOptions, class ZoneOf>
absl::Status KeepZone(WatchOptions& options, const std::string& zone, ZoneOf zone_of) {
  if (zone.empty()) return absl::OkStatus();
  if (!IsZoneId(zone)) return error::InvalidField("zone", "must be a zone id, or empty for all.");
  options.keeps = [zone, zone_of = std::move(zone_of)](const auto& item) {
    return zone_of(item) == zone;
  };
  return absl::OkStatus();
}

// Fills in all of a Watch response but its resource. True: it has one, `item.bytes`.
template <class Item, class Response>
bool FillWatchResponse(const Item& item, Response& response) {
  const auto set = [&](type::v1::WatchEventType type) {
    response.set_type(type);
    response.set_revision(item.revision);
    response.set_key(item.key);
    response.set_incarnation(item.incarnation);
  };
  switch (item.type) {
    case Item::Type::kSnapshot:
      set(type::v1::WATCH_EVENT_TYPE_SNAPSHOT);
      return true;
    case Item::Type::kSnapshotEnd:
      set(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
      return false;
    case Item::Type::kChanged:
      set(type::v1::WATCH_EVENT_TYPE_CHANGED);
      return true;
    case Item::Type::kDeleted:
      set(type::v1::WATCH_EVENT_TYPE_DELETED);
      return false;
    case Item::Type::kProgress:
      set(type::v1::WATCH_EVENT_TYPE_PROGRESS);
      return false;
  }
  return false;
}

// The message of an item; its bytes become the field number `field_of(item)` of the response. They
// are sent as they are, unread, so that a change that a hundred watch is encoded once. Throws if
// there is no such field (0): a later release wrote the item.
template <class Response, class Item, class FieldOf>
Response ToWatchResponse(const Item& item, FieldOf field_of) {
  Response response;
  if (FillWatchResponse(item, response)) {
    const int field = field_of(item);
    if (field == 0) throw std::runtime_error("The journal has a kind that is not known.");
    Response::GetReflection()->MutableUnknownFields(&response)->AddLengthDelimited(field,
                                                                                   *item.bytes);
  }
  return response;
}

// Adds a kind to watch, unless it is there already: each change is compared with all of them.
template <class Options>
void AddKind(Options& options, absl::string_view kind) {
  const auto known = std::find(options.kinds.begin(), options.kinds.end(), kind);
  if (known == options.kinds.end()) options.kinds.emplace_back(kind);
}

}  // namespace muster::rpc
