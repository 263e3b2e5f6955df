#include "tests/simulation/lease_thread.h"

#include "services/lifecycle/core/decide.h"

namespace muster::simulation {
namespace {

// One (not kMaxRaisedPools): a world has few pools, and a takeover is to have several pieces.
constexpr size_t kMostRaised = 1;

// How much likelier than that a commit is late it is that a piece is, so that the rest of the
// takeover waits for the next beat.
constexpr int kSlowPiece = 5;

// A probe that writes.
struct Rewrite {};
absl::Status Decide(StagedState<lifecycle::State>& staged, const Rewrite&, absl::Time) {
  return lifecycle::RewriteLease(staged);
}

}  // namespace

void LeaseThread::Beat(Trouble trouble) {
  if (Now() < waits_until_ && trouble == Trouble::kCommitsHang) return;
  if (std::exchange(waits_until_, -absl::InfiniteDuration()) > absl::ZeroDuration()) Release();
  Probe(trouble);
  using Step = lifecycle::LeaseKeeper::Step;
  switch (keeper_.Next(Now())) {
    case Step::kWait:
      return;
    case Step::kRenew:
      return Ask(trouble);
    case Step::kGiveUp:
      around_.checker.Notice("lease: given up by who cannot commit");
      around_.cloud.trace(around_.cloud.now, holder_, ": cannot commit, leads no more");
      if (trouble != Trouble::kNoBeats) Release();
  }
}

void LeaseThread::Resign() {
  keeper_.StepDown();
  Release();
}

void LeaseThread::PlanEnded(const absl::Status& status, absl::Duration submitted) {
  if (around_.bug != Bug::kLeaseWithoutProof) keeper_.CommandEnded(status, submitted);
}

void LeaseThread::Probe(Trouble trouble) {
  const bool hangs = trouble == Trouble::kCommitsHang;
  const auto works = [&] {
    return trouble != Trouble::kNoCommits && !(trouble == Trouble::kNoChanges && probe_->second);
  };
  if (probe_ && !hangs) EndProbe(works());
  if (!probe_) probe_ = {Now(), keeper_.probe_writes()};
  if (around_.bug == Bug::kLeaseWithoutProof)
    keeper_.ProbeEnded(absl::OkStatus(), Now(), /*wrote=*/true);
  const bool is_late = around_.random.Percent(around_.weather.late_commit);
  if (hangs || is_late) return;
  EndProbe(works());
}

void LeaseThread::EndProbe(bool works) {
  const auto [since, writes] = *std::exchange(probe_, std::nullopt);
  Cloud& cloud = around_.cloud;
  if (works && writes) (void)cloud.lifecycle.RunOn(*clock_, Rewrite(), cloud.now);
  keeper_.ProbeEnded(works ? absl::OkStatus() : absl::UnavailableError("no commit"), since, writes);
}

void LeaseThread::Ask(Trouble trouble) {
  const absl::Duration length = keeper_.Ask(Now());
  const absl::StatusOr<int64_t> epoch =
      trouble == Trouble::kNoBeats ? absl::UnavailableError("no connection") : Write(length);
  const std::string incarnation = absl::StrCat(around_.cloud.lifecycle.incarnation());
  using Verdict = lifecycle::LeaseKeeper::Verdict;
  if (keeper_.Answered(epoch, Now(), incarnation) == Verdict::kTakeOver) TakeOver(*epoch, trouble);
}

absl::StatusOr<int64_t> LeaseThread::Write(absl::Duration length) {
  Cloud& cloud = around_.cloud;
  const auto* lease =
      cloud.lifecycle.state().table<lifecycle::Lease>().Find(lifecycle::Lease::kName);
  const auto& row = cloud.lease.row();
  const absl::Time now = DatabaseNow();
  const bool in_future = row && now < row->write_time;
  // As long as its end lies ahead.
  if (around_.bug == Bug::kLeaseFromTheFuture && row && now < row->expire_time &&
      row->holder != holder_)
    return 0;
  const auto next =
      lifecycle::RenewLease(row, lease == nullptr ? 0 : lease->epoch, holder_, length, now);
  if (!next) return 0;
  if (in_future && row->holder != holder_) around_.checker.Notice("lease: of the future is taken");
  cloud.lease.Put(*next, cloud.now);
  if (!around_.random.Percent(around_.weather.lost_answer)) return next->epoch;
  around_.checker.lead().Shaken(Now());
  return absl::UnknownError("no answer");
}

void LeaseThread::TakeOver(int64_t epoch, Trouble trouble) {
  const int64_t incarnation = around_.cloud.lifecycle.incarnation();
  if (taking_.epoch != epoch || taking_.incarnation != incarnation) {
    if (!taking_.raised_through.empty())
      around_.checker.Notice("lease: a takeover begins anew after some pieces");
    taking_ = {epoch, incarnation};
  }
  do {
    if (!TakeOverSome(trouble)) return;
    if (taking_.raised_through.empty()) {
      around_.checker.Notice("lease: taken over");
      return keeper_.TookOver(epoch);
    }
    around_.checker.Notice("lease: a piece of a takeover");
  } while (!around_.random.Percent(kSlowPiece * around_.weather.late_commit));
  // Anything may happen before the next beat.
  around_.checker.Notice("lease: the rest of a takeover waits for a beat");
  around_.checker.lead().GotOn(Now());
}

bool LeaseThread::TakeOverSome(Trouble trouble) {
  Cloud& cloud = around_.cloud;
  const lifecycle::TakeLease command{holder_, taking_.epoch, absl::StrCat(taking_.incarnation),
                                     taking_.raised_through, kMostRaised};
  const auto commit = [&cloud, command, incarnation = taking_.incarnation,
                       clock = clock_]() -> absl::StatusOr<std::string> {
    if (incarnation != cloud.lifecycle.incarnation()) return absl::AbortedError("another history");
    const auto outcome = cloud.lifecycle.RunOn(*clock, command, cloud.now);
    if (!outcome.ok()) return outcome.status();
    return outcome->raised_through;
  };
  if (trouble == Trouble::kCommitsHang) {
    around_.hang([commit] { (void)commit(); });
    waits_until_ = Now() + Cloud::kLeaseTtl;
    return false;
  }
  const bool fails = trouble == Trouble::kNoCommits || trouble == Trouble::kNoChanges;
  absl::StatusOr<std::string> through = absl::UnavailableError("no commit");
  if (!fails) through = commit();
  if (through.ok() && !through->empty() && around_.random.Percent(around_.weather.lost_answer)) {
    around_.checker.Notice("lease: a piece is committed, and its answer lost");
    around_.checker.lead().GotOn(Now());
    through = absl::UnknownError("no answer");
  }
  PlanEnded(through.status(), Now());
  cloud.trace(cloud.now, holder_, ": takes over under epoch ", taking_.epoch, " -> ",
              through.ok() ? absl::StrCat("OK", through->empty() ? "" : " up to ", *through)
                           : through.status().ToString());
  if (through.ok()) {
    taking_.raised_through = *std::move(through);
    return true;
  }
  around_.checker.Notice("lease: a takeover fails");
  Release();
  return false;
}

void LeaseThread::Release() {
  Cloud& cloud = around_.cloud;
  const auto next = lifecycle::Release(cloud.lease.row(), holder_, DatabaseNow());
  if (next) cloud.lease.Put(*next, cloud.now);
}

}  // namespace muster::simulation
