#include "services/lifecycle/reconcile/orphan_collector.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "services/common/cause.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/limits.h"
#include "services/trace/span.h"

namespace muster::lifecycle {
namespace {

// How often it looks whether it leads.
constexpr absl::Duration kTick = absl::Milliseconds(200);
// Differences of one round that are logged.
constexpr size_t kMostLogged = 20;
// Commands of one round that forget events of deleted pools.
constexpr size_t kMostPieces = 64;

// Whether nobody was there to answer, so that the next round tries again: no rule is broken.
bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

}  // namespace

OrphanCollector::OrphanCollector(Options options)
    : options_(std::move(options)), metrics_(std::make_shared<BooksMetrics>()) {}

void OrphanCollector::SetPeers(const Peers& peers) {
  peers_ = std::make_unique<PeerBooks>(peers, options_.lane);
}

void OrphanCollector::Start(const Peers& peers) {
  SetPeers(peers);
  thread_ = std::thread([this] { Run(); });
}

void OrphanCollector::Stop() {
  stopper_.Stop();
  if (peers_ != nullptr) peers_->Cancel();
  if (thread_.joinable()) thread_.join();
}

void OrphanCollector::Run() {
  absl::Duration next = absl::ZeroDuration();
  do {
    const absl::Duration now = options_.steady->Now();
    if (!Leads() || (led_ != 0 && now >= next)) {
      RoundAndRest();
      next = now + options_.orphans.interval;
    }
  } while (stopper_.Sleep(kTick));
}

void OrphanCollector::RoundAndRest() {
  CpuStretch stretch(options_.cpu.get());
  Round();
  stretch.EndWork();
  if (options_.cpu == nullptr) return;
  stretch.Rest([this](absl::Duration pause) { stopper_.Sleep(pause); });
}

void OrphanCollector::Round() {
  if (!Leads()) {
    led_ = options_.epoch();
    differences_.Forget();
    orphans_.Forget();
    metrics_->Clear();
  }
  if (led_ == 0) return;
  const trace::Work work("lifecycle orphan round");
  ForgetEvents();
  const absl::StatusOr<Books> books = peers_->Read();
  if (!books.ok()) {
    metrics_->Failed();
    if (!absl::IsCancelled(books.status()))
      log::Warn("the books could not be read",
                {{"error", books.status()}, {"cause", muster::error::CauseOf(books.status())}});
    return;
  }
  if (!Leads()) return;
  // Taken after the books were read, however long that took: a uid without a pool in them has none
  // by now.
  const absl::Duration now = options_.steady->Now();
  differences_.Note(*books, now);
  const OrphanMemory::Verdict verdict = orphans_.Update(*books, options_.orphans.policy, now);
  Tell(*books, verdict);
  for (const std::string& uid : verdict.release) {
    if (!Release(*books, uid)) return;
  }
}

// In pieces, so that others get their turn in between; what is left is for the next round.
void OrphanCollector::ForgetEvents() {
  Lane& lane = *options_.lane;
  const absl::Time now = lane.clock().Now();
  const ExpireEvents command{options_.orphans.event_keep,
                             static_cast<size_t>(options_.orphans.event_most)};
  const size_t pieces = lane.Peek([&](const State& state, int64_t) {
    const State::EventsByTime& gone = state.EventsOfGone();
    const bool over =
        !gone.empty() && (gone.size() > command.most || now - gone.begin()->time() >= command.keep);
    return over ? std::min(gone.size() / kMaxExpiredEvents + 1, kMostPieces) : 0;
  });
  const auto told = std::make_shared<std::atomic<bool>>(false);  // once a round
  for (size_t i = 0; i < pieces; ++i) {
    lane.Submit([command](StagedState<State>& staged,
                          absl::Time at) { return Decide(staged, command, at).status(); },
                [told](const absl::Status& status, int64_t) {
                  // A database that is away is told elsewhere, and the next round tries again.
                  if (status.ok() || absl::IsUnavailable(status) || told->exchange(true)) return;
                  log::Warn("events of deleted pools could not be forgotten",
                            {{"error", muster::error::ForOperators(status)}});
                });
  }
}

void OrphanCollector::Tell(const Books& books, const OrphanMemory::Verdict& verdict) {
  const auto standing = differences_.Stood(options_.orphans.policy.grace);
  metrics_->Found(books, standing, verdict.withheld);
  for (size_t i = 0; i < standing.size() && i < kMostLogged; ++i) {
    const Difference& difference = standing[i].difference;
    log::Error("the books differ", {{"kind", DifferenceKindName(difference.kind)},
                                    {"uid", difference.pool_uid},
                                    {"pool", difference.pool},
                                    {"subject", difference.subject},
                                    {"message", difference.message},
                                    {"for", standing[i].age}});
  }
  if (standing.size() > kMostLogged)
    log::Error("the books differ in more", {{"differences", standing.size()}});
  if (verdict.withheld) {
    log::Error("what belongs to no pool is kept: it is too much, or was asked for before a restore",
               {{"orphans", verdict.orphans},
                {"of_an_earlier_history", verdict.of_the_past},
                {"uids", verdict.uids},
                {"mass_percent", options_.orphans.policy.mass_percent}});
  }
}

bool OrphanCollector::Release(const Books& books, const std::string& uid) {
  const absl::StatusOr<bool> known = peers_->HasPool(uid);
  if (!known.ok()) {
    if (absl::IsCancelled(known.status())) return false;  // it stops
    log::Warn("an orphan could not be looked at again",
              {{"uid", uid}, {"error", muster::error::ForOperators(known.status())}});
    return Leads();
  }
  if (!Leads()) return false;
  if (!*known) GiveBack(books, uid);
  return true;
}

// As at a pool's end: machines first, then what they are charged for. The configuration goes before
// both: left alone it would not show in which history it was asked for, and would be kept after a
// restore.
void OrphanCollector::GiveBack(const Books& books, const std::string& uid) {
  int64_t machines = 0;
  int64_t charged = 0;
  std::string pool;
  const auto release = [&](const auto& entry, Keeper keeper) {
    const absl::Status status = peers_->Release(entry);
    if (status.ok()) metrics_->Released(keeper);
    return status;
  };
  const absl::Status status = [&]() -> absl::Status {
    for (const ConfigurationEntry& configuration : books.configurations) {
      if (configuration.pool_uid == uid)
        RETURN_IF_ERROR(release(configuration, Keeper::kConfiguration));
    }
    for (const ClaimEntry& claim : books.claims) {
      if (claim.pool_uid != uid) continue;
      RETURN_IF_ERROR(release(claim, Keeper::kCapacity));
      machines += static_cast<int64_t>(claim.machines.size());
      pool = claim.pool;
    }
    for (const HoldingEntry& holding : books.holdings) {
      if (holding.pool_uid != uid) continue;
      RETURN_IF_ERROR(release(holding, Keeper::kQuota));
      charged += holding.nodes;
      pool = holding.pool;
    }
    return absl::OkStatus();
  }();
  if (status.ok()) {
    log::Warn("gave back what belonged to no pool",
              {{"uid", uid}, {"pool", pool}, {"machines", machines}, {"charged", charged}});
  } else if (!absl::IsCancelled(status)) {  // else it stops
    if (!IsAway(status)) metrics_->NotReleased();
    log::Warn("what belongs to no pool could not be given back",
              {{"uid", uid}, {"pool", pool}, {"error", status}});
  }
}

}  // namespace muster::lifecycle
