#pragma once

#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "services/page/core/cell.h"
#include "services/page/core/change_log.h"
#include "services/page/core/documents.h"
#include "services/page/core/place.h"
#include "services/page/core/source.h"
#include "services/page/core/words.h"

namespace muster::page {

// So many deletions of documents are remembered, the youngest. A reader who missed an older one
// begins anew.
inline constexpr size_t kMaxGone = 10'000;

// Words are never forgotten: see Board::Overgrown.
inline constexpr size_t kManyWords = 200'000;

// All that the page shows. Takes the messages of the four services' watches, and tells each reader
// what changed since his place. A machine and its Node are one cell; everything else is documents
// (documents.h). Not thread-safe.
//
// A frame is one JSON object:
//   {"caughtUp": bool,                         false: the next frame has more
//    "words": [FIRST, ["RNO2A", ...]],        words from number FIRST on
//    "cells": [[INDEX, STATE, FLAGS, POOL, PROFILE, (ID, ZONE, TYPE, RACK, SLOT, FABRIC)], ...],
//    "documents": [[KIND, KEY, {...}], ...]}  null: it is gone
// The part in parentheses is there if the reader does not know it yet. STATE -1: the cell is gone.
// POOL, PROFILE, ZONE, TYPE, RACK and FABRIC are words.
class Board {
 public:
  struct Frame {
    Place place = {};
    bool caught_up = false;
    std::string json = {};
  };

  // A snapshot of the source begins: rows that it does not repeat are gone at its end.
  void BeginSnapshot(Source source) { ++rounds_[static_cast<size_t>(source)]; }
  // Takes a message, with the messages bundled in it.
  void Take(const capacity::v1::WatchCapacityResponse& message);
  void Take(const quota::v1::WatchQuotasResponse& message);
  void Take(const lifecycle::v1::WatchLifecycleResponse& message);
  void Take(const configuration::v1::WatchConfigurationsResponse& message);

  // The rows that changed after `place` (Place(): all rows), at most `most`.
  Frame TellAfter(const Place& place, size_t most) const;
  // False: a reader who stands there has missed what is not told of any more, and begins anew.
  bool CanResumeAt(const Place& place) const {
    return place.whole <= place.at && place.at <= log_.last() && place.begun <= log_.last() &&
           (place.at == 0 || std::max(place.at, place.begun) >= forgotten_);
  }
  // Another board with the same machines where they stand, zones, types and profiles; nothing else
  // is known there.
  Board PlacesAlone() const;
  uint64_t last() const { return log_.last(); }
  // How many keys have a Quota, or Nodes held on them.
  size_t quota_rows() const { return quotas_.size(); }
  // Whether most words are names of things that are gone: time for a new board.
  bool Overgrown() const {
    return words_.size() > kManyWords + 2 * cells_.size() + 4 * document_by_name_.size();
  }

 private:
  struct Cell {
    std::string id = {};
    MachinePart machine = {};
    NodePart node = {};
    uint32_t machine_round = 0;
    uint32_t node_round = 0;
    int64_t node_created = 0;  // create_time of `node`, in microseconds
    uint64_t placed = 0;       // position in log_ of the last change of its place
  };
  struct Document {
    std::string kind = {};
    std::string key = {};
    std::string json = {};  // empty: gone
    Source source = Source::kCapacity;
    uint32_t round = 0;
  };
  struct QuotaRow {
    bool set = false;
    quota::v1::Quota quota = {};
    int64_t held = 0;
    uint32_t round = 0;
  };
  struct HoldingRow {
    int64_t nodes = 0;
    uint32_t round = 0;
  };
  // What cells need of a pool.
  struct PoolFacts {
    uint32_t zone = 0;
    uint32_t type = 0;
    bool spot = false;
  };

  uint32_t round(Source source) const { return rounds_[static_cast<size_t>(source)]; }
  uint32_t WordOf(absl::string_view word) { return words_.NumberOf(word, log_.last() + 1); }

  void TakeOne(const capacity::v1::WatchCapacityResponse& message);
  void TakeOne(const quota::v1::WatchQuotasResponse& message);
  void TakeOne(const lifecycle::v1::WatchLifecycleResponse& message);
  void TakeOne(const configuration::v1::WatchConfigurationsResponse& message);
  void EndSnapshot(Source source);
  void EndQuotas();

  uint32_t CellOf(absl::string_view machine);
  void TakeMachine(const capacity::v1::Machine& machine);
  void TakeNode(const lifecycle::v1::Node& node);
  // Whether the cell shows a later Node of the same machine. Until an earlier one is purged, a
  // machine may have two, in two pools, and a snapshot tells them in any order.
  bool HasLaterNode(const Cell& cell, const lifecycle::v1::Node& node) const;
  void TakePool(const lifecycle::v1::NodePool& pool);
  void SetMachine(uint32_t index, const MachinePart& part);
  void SetNode(uint32_t index, const NodePart& part);
  // The spot clock of a machine; if there is none, a new one, or null without `make`.
  SpotClock* ClockOf(absl::string_view machine, bool make);
  void ShowClock(absl::string_view machine);
  void ForgetMachine(uint32_t index);
  void ForgetNode(uint32_t index);
  void SetHeld(absl::string_view holding, int64_t nodes, bool there);
  void ShowQuota(const std::string& name);

  // An empty `json`: it is gone.
  void Show(absl::string_view kind, absl::string_view key, std::string json, Source source);
  void Forget(size_t document);

  uint32_t PoolOf(const Cell& cell) const;
  void AppendCell(const Cell& cell, uint32_t index, uint64_t whole, std::string& out) const;
  void AppendDocument(const Document& document, std::string& out) const;

  ChangeLog log_;  // row 2 i: cell i; 2 i + 1: document i
  Words words_;
  uint32_t rounds_[kSources] = {};
  std::vector<Cell> cells_;
  absl::flat_hash_map<std::string, uint32_t> cell_by_machine_;
  std::vector<Document> documents_;
  absl::flat_hash_map<std::string, size_t> document_by_name_;  // `kind:key`
  std::vector<size_t> unused_documents_;
  std::deque<std::pair<size_t, uint64_t>> gone_;  // documents, and the position of their deletion
  uint64_t forgotten_ = 0;  // position of the last deletion that was forgotten
  std::map<std::string, QuotaRow> quotas_;
  absl::flat_hash_map<std::string, HoldingRow> holdings_;
  absl::flat_hash_map<uint32_t, uint32_t> pool_by_uid_;     // words
  absl::flat_hash_map<uint32_t, PoolFacts> facts_by_pool_;  // by the word of its name
  absl::flat_hash_map<std::string, SpotClock> clocks_;      // by machine
};

}  // namespace muster::page
