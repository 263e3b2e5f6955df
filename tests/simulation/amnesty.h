#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/lifecycle/core/books.h"
#include "tests/simulation/cloud.h"

namespace muster::simulation {

// What may differ because a service was restored to a past, and until when. Three things cannot be
// otherwise: a service that forgot what it agreed to says something else until it is asked again;
// what was sent in the lost future may be taken for new until the service knows a request as new as
// the newest one it forgot; and plans may use what it answered there until the row of the pool
// changes. Nothing else is excused: no pool that the restore did not touch, no pool whose books
// were equal again after a newer request, nothing at rest, and never a machine that is a Node of
// two pools.
class Amnesty {
 public:
  explicit Amnesty(const Cloud& cloud) : cloud_(cloud) {}

  // The service was just restored; `lost`: its state before that.
  void Forgot(const lifecycle::State& lost);
  void Forgot(const quota::State& lost);
  void Forgot(const capacity::State& lost);
  void Forgot(const configuration::State& lost);

  // `difference` must not be a passing one.
  bool Excuses(const lifecycle::Difference& difference) const;
  // Whether a restore of that service concerned the pool and its excuse has not ended yet.
  bool OwesQuota(const std::string& uid) const { return quota_.contains(uid); }
  bool OwesCapacity(const std::string& uid) const { return capacity_.contains(uid); }
  bool OwesLifecycle(const std::string& uid) const { return lifecycle_.contains(uid); }
  bool Owes(const std::string& uid) const {
    return OwesQuota(uid) || OwesCapacity(uid) || OwesLifecycle(uid);
  }
  // Whether lifecycle forgot the pool, or another service that the pool was released.
  bool IsGhost(const std::string& uid) const;
  // Whether something that was sent long ago can bring a pool back that was released: a service
  // forgot that it was, and was not told again.
  bool MayHaunt() const;

  // Ends the excuses of all that is level again. `differences`: of the books now.
  void End(const std::vector<lifecycle::Difference>& differences);

 private:
  struct Debt {
    int64_t generation = 0;  // of the newest request that was forgotten
    int64_t version = 0;     // of the pool's row at the restore
  };
  using Debts = std::map<std::string, Debt>;  // by uid

  int64_t VersionOf(const std::string& uid) const;
  void Owe(Debts& debts, const std::string& uid, int64_t generation) const;

  void NoteReleased(const ReleasedPool& pool);
  bool IsFenced(const std::string& uid, int64_t quota, int64_t capacity) const;

  const Cloud& cloud_;
  Debts lifecycle_;
  Debts quota_;
  Debts capacity_;
  // By service: uids whose release it forgot, or whose pool lifecycle forgot.
  std::set<std::string> holdings_;
  std::set<std::string> claims_;
  std::set<std::string> configurations_;
  // The newest generation of a release that a service forgot, by uid: lifecycle does not know it
  // when it is restored to a time at which it had the pool.
  std::map<std::string, int64_t> released_;
};

}  // namespace muster::simulation
