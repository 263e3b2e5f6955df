#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "services/lifecycle/peers/peer_client.h"

namespace muster::lifecycle {

// What capacity told last of claims with many machines. A pass sends the print of it; while that is
// still the claim's, capacity leaves the machines out, and the pass goes by what was told before.
// Nothing is lost by forgetting: capacity then tells all. Only who leads asks, so the others keep
// none. Not thread-safe.
class KnownClaims {
 public:
  // Fewer are listed as fast as looked up.
  static constexpr size_t kFewMachines = 100;
  // Of all claims, at about 350 bytes; what is told of more is not kept.
  static constexpr size_t kMaxMachines = 300'000;

  // Hands each pass what is known of the claim that it asks for.
  void Lend(absl::Span<PoolPass> passes) {
    for (PoolPass& pass : passes) {
      const auto it = known_.find(pass.snapshot.pool->uid);
      if (!pass.demand.claim || it == known_.end()) continue;
      machines_ -= it->second.facts.machines.size();
      pass.known_claim = std::move(it->second);
      known_.erase(it);
    }
  }
  // Takes that back, once the passes are planned, or what was answered instead, out of the answer.
  void TakeBack(absl::Span<PoolPass> passes) {
    for (PoolPass& pass : passes) {
      PeerReply<ClaimFacts>& answer = pass.snapshot.answers.claim;
      KnownClaim& known = pass.known_claim;
      if (known.print.empty() || answer.state == PeerReply<ClaimFacts>::State::kRefused) continue;
      if (answer.here()) known.facts = std::move(answer.value);
      const size_t machines = known.facts.machines.size();
      if (machines < kFewMachines || machines_ + machines > kMaxMachines) continue;
      machines_ += machines;
      known_[pass.snapshot.pool->uid] = std::move(known);
    }
  }
  // Forgets those of which `is_there(uid)` is false. To be called once a pass; looks at one claim a
  // call, on average.
  template <class IsThere>
  void ForgetGone(const IsThere& is_there) {
    if (++calls_ <= known_.size()) return;
    calls_ = 0;
    for (auto it = known_.begin(); it != known_.end();) {
      const auto at = it++;
      if (is_there(at->first)) continue;
      machines_ -= at->second.facts.machines.size();
      known_.erase(at);
    }
  }
  void Clear() {
    known_.clear();
    machines_ = 0;
  }
  size_t machines() const { return machines_; }

 private:
  absl::flat_hash_map<std::string, KnownClaim> known_;  // by pool uid
  size_t machines_ = 0;                                 // of all
  size_t calls_ = 0;                                    // of ForgetGone since it looked
};

}  // namespace muster::lifecycle
