#include "tests/simulation/collector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/decide.h"
#include "services/configuration/core/decide.h"
#include "services/quota/core/decide.h"
#include "tests/simulation/ledger.h"

namespace muster::simulation {
namespace {

// Far more than any world needs, when all calls arrive.
constexpr int kMostRounds = 20;

lifecycle::OrphanPolicy PolicyOf(Bug bug) {
  lifecycle::OrphanPolicy policy;
  if (bug == Bug::kCollectorTooEarly) policy.grace = absl::ZeroDuration();
  return policy;
}

}  // namespace

void Collector::Die() {
  stage_ = Stage::kIdle;
  led_ = 0;
  orphans_.Forget();
  releases_.clear();
}

void Collector::Step(int64_t epoch) {
  if (led_ != epoch) {
    Die();
    led_ = epoch;
  }
  if (led_ == 0) return;
  switch (stage_) {
    case Stage::kIdle:
      Read();
      stage_ = Stage::kPools;
      return;
    case Stage::kPools:
      (void)Judge(PolicyOf(bug_));
      stage_ = releases_.empty() ? Stage::kIdle : Stage::kReleasing;
      return;
    case Stage::kReleasing:
      ReleaseNext();
      if (releases_.empty()) stage_ = Stage::kIdle;
      return;
  }
}

bool Collector::CollectAll(int64_t epoch, const std::function<void()>& before_release) {
  const int64_t before = given_back_;
  Die();
  led_ = epoch;
  lifecycle::OrphanPolicy policy = PolicyOf(bug_);
  for (int round = 0; round < kMostRounds; ++round) {
    Read();
    // As a person who was told of it would allow by the flag.
    if (Judge(policy)) policy.mass_percent = 100;
    if (orphans_here_ == 0) return given_back_ > before;
    const int64_t incarnation = cloud_.lifecycle.incarnation();
    before_release();
    while (!releases_.empty()) ReleaseNext();
    // In another history a leader begins anew.
    if (cloud_.lifecycle.incarnation() != incarnation) return given_back_ > before;
    if (round == 0) cloud_.Pass(policy.grace);
  }
  checker_.Fail("what belongs to no pool cannot be given back");
  return false;
}

void Collector::Read() { books_ = BooksOf(cloud_); }

bool Collector::Judge(const lifecycle::OrphanPolicy& policy) {
  // The pools are read last: whatever is in the other services' books had its pool by then.
  books_.pools = BooksOf(cloud_).pools;
  lifecycle::OrphanMemory::Verdict verdict = orphans_.Update(books_, policy, cloud_.steady.Now());
  if (verdict.withheld) checker_.Notice("orphan: withheld, too many");
  orphans_here_ = verdict.orphans;
  releases_ = std::move(verdict.release);
  return verdict.withheld;
}

bool Collector::HasPool(const std::string& uid) const {
  return cloud_.lifecycle.state().FindPoolByUid(uid) != nullptr;
}

void Collector::ReleaseNext() {
  const std::string uid = std::move(releases_.back());
  releases_.pop_back();
  if (bug_ != Bug::kCollectorNoRecheck && HasPool(uid)) {
    checker_.Notice("orphan: has its pool again");
    return;
  }
  checker_.GivesBack(uid);
  GiveBack(uid);
}

// As a pool's end does: machines first, then what they are charged for.
void Collector::GiveBack(const std::string& uid) {
  cloud_.trace(cloud_.now, "collector: gives back what is left of ", uid);
  const auto all = [&](const auto& entries, auto give_back) {
    return std::all_of(entries.begin(), entries.end(), [&](const auto& entry) {
      return entry.pool_uid != uid || (this->*give_back)(entry);
    });
  };
  if (all(books_.claims, &Collector::GiveBackClaim) &&
      all(books_.holdings, &Collector::GiveBackHolding) &&
      all(books_.configurations, &Collector::GiveBackConfiguration))
    ++given_back_;
}

template <class F>
bool Collector::Send(bool away, absl::string_view what, F call) {
  const auto carry_out = [call, &checker = checker_, kind = absl::StrCat("orphan: ", what)] {
    if (!call()) return false;
    checker.Notice(kind);
    return true;
  };
  switch (network_.Send(away, [carry_out] { (void)carry_out(); })) {
    case Network::Fate::kArrives:
      return carry_out();
    case Network::Fate::kAnswerLost:
      (void)carry_out();
      return false;
    case Network::Fate::kLost:
    case Network::Fate::kLate:
      return false;
  }
  return false;
}

bool Collector::GiveBackClaim(const lifecycle::ClaimEntry& claim) {
  capacity::SyncClaim request;
  request.pool_uid = claim.pool_uid;
  request.generation = claim.generation + 1;
  request.zone = claim.zone;
  request.instance_type = claim.instance_type;
  request.compute_class = claim.compute_class == "spot" ? capacity::ComputeClass::kSpot
                                                        : capacity::ComputeClass::kDefault;
  request.pool = claim.pool;
  request.organization = claim.organization;
  request.release = true;
  for (const std::string& machine : claim.machines) {
    request.returns.push_back({machine, capacity::ReturnReason::kReleased});
  }
  return Send(network_.capacity_away, "claim given back",
              [&cloud = cloud_, request] { return cloud.capacity.Run(request, cloud.now).ok(); });
}

bool Collector::GiveBackHolding(const lifecycle::HoldingEntry& holding) {
  quota::SyncHolding request;
  request.quota = holding.name.substr(0, holding.name.find("/holdings/"));
  request.pool_uid = holding.pool_uid;
  request.generation = holding.generation + 1;
  request.pool = holding.pool;
  request.release = true;
  return Send(network_.quota_away, "holding given back",
              [&cloud = cloud_, request] { return cloud.quota.Run(request, cloud.now).ok(); });
}

bool Collector::GiveBackConfiguration(const lifecycle::ConfigurationEntry& configuration) {
  configuration::SyncPool request{.pool_uid = configuration.pool_uid,
                                  .generation = configuration.generation + 1,
                                  .release = true};
  return Send(network_.configuration_away, "configuration given back", [&cloud = cloud_, request] {
    return cloud.configuration.Run(request, cloud.now).ok();
  });
}

}  // namespace muster::simulation
