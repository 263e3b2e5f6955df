#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/page/core/board.h"

// Messages of the watches, and a reader of a board, for tests.
namespace muster::page {

using nlohmann::json;

inline constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";
inline constexpr char kQuota[] = "organizations/acme/quotas/Z1A~t~default";

template <class Response>
Response EndOfSnapshot() {
  Response response;
  response.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
  return response;
}

template <class Response>
Response Deleted(const std::string& key) {
  Response response;
  response.set_type(type::v1::WATCH_EVENT_TYPE_DELETED);
  response.set_key(key);
  return response;
}

using CapacityMessage = capacity::v1::WatchCapacityResponse;
using LifecycleMessage = lifecycle::v1::WatchLifecycleResponse;
using QuotaMessage = quota::v1::WatchQuotasResponse;

inline CapacityMessage MachineMessage(const std::string& id, capacity::v1::Machine::State state,
                                      int slot = 0) {
  CapacityMessage message;
  message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  message.set_key("machines/" + id);
  capacity::v1::Machine& machine = *message.mutable_machine();
  machine.set_name(message.key());
  machine.set_zone("Z1A");
  machine.set_instance_type("t");
  machine.set_rack("r1");
  machine.set_slot(slot);
  machine.set_state(state);
  return message;
}

inline LifecycleMessage NodeMessage(const std::string& machine, lifecycle::v1::Node::State state,
                                    const std::string& pool = kPool) {
  LifecycleMessage message;
  message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  message.set_key(absl::StrCat(pool, "/nodes/", machine));
  lifecycle::v1::Node& node = *message.mutable_node();
  node.set_name(message.key());
  node.set_machine(machine);
  node.set_pool_uid("u1");
  node.set_state(state);
  node.mutable_observed()->set_node_profile("np-1");
  return message;
}

inline LifecycleMessage PoolMessage(int64_t target, const std::string& name = kPool) {
  LifecycleMessage message;
  message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  message.set_key(name);
  message.mutable_node_pool()->set_name(name);
  message.mutable_node_pool()->set_uid("u1");
  message.mutable_node_pool()->set_zone("Z1A");
  message.mutable_node_pool()->mutable_spec()->set_instance_type("t");
  message.mutable_node_pool()->mutable_spec()->set_target_nodes(target);
  return message;
}

inline QuotaMessage QuotaLimit(int64_t limit) {
  QuotaMessage message;
  message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  message.set_key(kQuota);
  message.mutable_quota()->set_name(kQuota);
  message.mutable_quota()->set_limit(limit);
  message.mutable_quota()->set_limit_in_force(limit);
  return message;
}

inline QuotaMessage HoldingMessage(const std::string& uid, int64_t nodes) {
  QuotaMessage message;
  message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  message.set_key(absl::StrCat(kQuota, "/holdings/", uid));
  message.mutable_holding()->set_nodes(nodes);
  return message;
}

// A reader as the page's script is: applies frames to what it has.
class Reader {
 public:
  explicit Reader(const Board* board) : board_(*board) {}

  // Frames of `most` rows until it has caught up. How many.
  int Read(size_t most = 1000) {
    if (!board_.CanResumeAt(place_)) *this = Reader(&board_);
    for (int frames = 1;; ++frames) {
      const Board::Frame frame = board_.TellAfter(place_, most);
      place_ = frame.place;
      Apply(json::parse(frame.json));
      if (frame.caught_up) return frames;
    }
  }

  struct Cell {
    int state = -1;
    int flags = 0;
    std::string pool, profile, id, zone, type, rack;
    int slot = -1;
    bool operator==(const Cell&) const = default;
  };
  Cell cell(const std::string& id) const {
    for (const auto& [index, cell] : cells_)
      if (cell.id == id) return cell;
    return {};
  }
  CellState state(const std::string& id) const { return static_cast<CellState>(cell(id).state); }
  json document(const std::string& kind, const std::string& key) const {
    const auto found = documents_.find(kind + ":" + key);
    return found == documents_.end() ? json() : found->second;
  }
  // Of the last frame.
  const json& last() const { return last_; }
  bool operator==(const Reader& other) const {
    return cells_ == other.cells_ && documents_ == other.documents_;
  }

 private:
  std::string WordAt(const json& number) const { return words_.at(number.get<size_t>()); }
  Reader& operator=(const Reader& other) {
    cells_ = other.cells_;
    documents_ = other.documents_;
    words_ = other.words_;
    place_ = other.place_;
    return *this;
  }

  void Apply(json frame) {
    if (frame.contains("words")) {
      EXPECT_EQ(frame["words"][0], words_.size());
      for (const json& word : frame["words"][1]) words_.push_back(word);
    }
    for (const json& row : frame.value("cells", json::array())) {
      Cell& cell = cells_[row[0]];
      cell.state = row[1];
      if (cell.state < 0) {
        cells_.erase(row[0].get<int>());
        continue;
      }
      cell.flags = row[2];
      cell.pool = WordAt(row[3]);
      cell.profile = WordAt(row[4]);
      if (row.size() == 5) {
        EXPECT_NE(cell.id, "") << "a cell that was never placed";
        continue;
      }
      cell.id = row[5];
      cell.zone = WordAt(row[6]);
      cell.type = WordAt(row[7]);
      cell.rack = WordAt(row[8]);
      cell.slot = row[9];
    }
    for (const json& row : frame.value("documents", json::array())) {
      const std::string name = row[0].get<std::string>() + ":" + row[1].get<std::string>();
      if (row[2].is_null()) {
        documents_.erase(name);
      } else {
        documents_[name] = row[2];
      }
    }
    last_ = std::move(frame);
  }

  const Board& board_;
  Place place_;
  std::vector<std::string> words_ = {""};
  std::map<int, Cell> cells_;
  std::map<std::string, json> documents_;
  json last_;
};

}  // namespace muster::page
