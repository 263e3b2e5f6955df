#pragma once

#include <prometheus/collectable.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "services/common/cpu_share.h"
#include "services/common/steady_clock.h"
#include "services/common/stopper.h"
#include "services/lifecycle/core/books_memory.h"
#include "services/lifecycle/peers/peer_books.h"
#include "services/lifecycle/reconcile/books_metrics.h"
#include "services/lifecycle/reconcile/options.h"

namespace muster::lifecycle {

// Holds the books of the four services against each other, on the replica that leads: when it
// begins to lead and every few minutes. Differences that stand for longer than the grace are
// counted and logged; what has had no pool for that long is given back, a few uids a round. When
// too large a share of all has no pool, nothing is given back; what was last asked for before
// lifecycle was restored to a past never is: a person has to look (OrphanPolicy). Also forgets
// events of deleted pools. After a round its thread rests (CpuShare). Keeps no state that must
// last: a new leader begins the grace anew.
class OrphanCollector {
 public:
  struct Options {
    Lane* lane = nullptr;  // outlives the collector
    OrphanOptions orphans = {};
    std::shared_ptr<CpuShare> cpu = {};  // of all slow work of the process; null: there is no other
    // The epoch under which this replica leads; 0: it does not. Called from any thread.
    std::function<int64_t()> epoch = {};
    const SteadyClock* steady = TheSteadyClock();  // outlives the collector
  };
  explicit OrphanCollector(Options options);
  ~OrphanCollector() { Stop(); }

  // Says whom to ask. Without Start() rounds are made by hand.
  void SetPeers(const Peers& peers);
  // SetPeers, and rounds from now on.
  void Start(const Peers& peers);
  // Ends the round under way and the thread. Idempotent.
  void Stop();

  // One round, now. From one thread at a time.
  void Round();

  std::shared_ptr<prometheus::Collectable> collectable() const { return metrics_; }
  storage::Auditor::Stats stats() const { return metrics_->stats(); }

 private:
  void Run();
  void RoundAndRest();
  void ForgetEvents();
  void Tell(const Books& books, const OrphanMemory::Verdict& verdict);
  // False: no longer the leader, or it stops.
  bool Release(const Books& books, const std::string& uid);
  void GiveBack(const Books& books, const std::string& uid);
  bool Leads() const { return options_.epoch() == led_; }

  const Options options_;
  const std::shared_ptr<BooksMetrics> metrics_;
  std::unique_ptr<PeerBooks> peers_;
  int64_t led_ = 0;  // the epoch that the memories belong to
  BooksMemory differences_;
  OrphanMemory orphans_;
  Stopper stopper_;
  std::thread thread_;
};

}  // namespace muster::lifecycle
