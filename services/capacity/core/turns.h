#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/capacity/core/queue.h"

namespace muster::capacity {

// Nodes of one request that stand at one place.
struct Run {
  Selector selector = {};
  QueueKey key = {};
  PlaceKey place = {};
  int64_t nodes = 0;
};

// Walks through the queue Node by Node, in its order. Between two calls Nodes that Next returned
// may be granted, at the places that it returned; otherwise the queue must not change. Each call
// costs O(log).
class Walk {
 public:
  explicit Walk(const Queue& queue) : queue_(queue) {}

  std::optional<Run> Next();
  // Goes on with the places of class spot.
  void SkipDefault();

 private:
  // Where we are in an organization's requests.
  struct Cursor {
    std::optional<Queue::Request> request = {};
    int64_t left = 0;  // Nodes of it
  };
  void Advance(Cursor& cursor, const std::string& organization) const;

  const Queue& queue_;
  std::optional<PlaceKey> place_;
  int64_t left_ = 0;  // Nodes at it
  bool spot_ = false;
  std::map<std::string, Cursor> cursors_;  // by organization
};

// Nodes at a place.
struct PlaceUse {
  PlaceKey place = {};
  int64_t nodes = 0;
};

// A request whose turn it is, with the places that it takes: at once, or as far as one place goes.
struct Turn {
  Selector selector = {};
  QueueKey key = {};
  int64_t nodes = 0;
  std::vector<PlaceUse> places = {};

  Position position() const { return {places.back().place, key}; }
};

// The queue request by request, as their turns come.
class QueueCursor {
 public:
  explicit QueueCursor(const Queue& queue) : walk_(queue), queue_(queue) {}

  std::optional<Turn> Next();
  void SkipDefault() {
    gathering_.clear();
    walk_.SkipDefault();
  }

 private:
  Walk walk_;
  const Queue& queue_;
  std::map<std::string, Turn> gathering_;  // by organization: a gang's, until its last place
};

}  // namespace muster::capacity
