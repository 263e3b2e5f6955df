#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/types.h"
#include "services/lifecycle/core/validate.h"

// One consistent picture of a pool and of what the other services said: all that Plan looks at.
namespace muster::lifecycle {

// What the catalogue says that matters to one pool.
struct CatalogueFacts {
  bool known = false;                  // false: the catalogue could not be read yet
  std::optional<TypeFacts> type = {};  // nullopt: there is no such type
  bool offered = false;                // the zone exists and offers the type
  bool general_access = false;         // the zone serves all customers
};

// What another service said. An answer that did not come is a fact too.
template <class T>
struct Answer {
  enum class State { kNotAsked, kAway, kHere };
  State state = State::kNotAsked;
  T value = {};
  std::string error = {};  // kAway: why

  bool here() const { return state == State::kHere; }
  bool away() const { return state == State::kAway; }
};

struct HoldingAnswer {
  enum class Verdict { kUnder, kOver, kNotSet };
  Verdict verdict = Verdict::kUnder;
  int64_t nodes = 0;  // charged after the request
};

struct ClaimAnswer {
  enum class Reason {
    kSufficient,
    kQueued,
    kPartial,
    kNoneAvailable,
    kPartialNodeAffinity,
    kNoneAvailableNodeAffinity
  };
  Reason reason = Reason::kSufficient;
  int64_t nodes = 0;                       // that the claim wants in all, as capacity knows it
  std::vector<std::string> machines = {};  // held, sorted
  int64_t outstanding = 0;
  int64_t in_service = 0;
  int64_t matching = 0;  // of these: match the node affinity
};

struct ConfigurationAnswer {
  std::string active = {};
  std::optional<NodeConfiguration> pending = {};
  std::vector<NodeConfiguration> revisions = {};
  std::string problem = {};
};

struct Answers {
  Answer<HoldingAnswer> holding = {};
  Answer<ClaimAnswer> claim = {};
  Answer<ConfigurationAnswer> configuration = {};
};

// The rows must outlive it.
struct Snapshot {
  const Cluster* cluster = nullptr;
  const Pool* pool = nullptr;
  std::vector<const Node*> nodes = {};  // by name
  int64_t version = 0;                  // State::VersionOf
  CatalogueFacts catalogue = {};
  Answers answers = {};
  Policy policy = {};
  absl::Time now = kNever;
};

}  // namespace muster::lifecycle
