#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/lifecycle/core/books.h"
#include "tests/simulation/cloud.h"

namespace muster::simulation {

// What may differ because a service was restored to a past, and until when. By nature: a service
// that forgot what it agreed to says something else until it is asked again; what was sent in the
// lost future may be taken for new as long as the service does not know a request that is as new as
// the newest one it forgot; and what it answered there may be planned with as long as the pool's
// row is the one that the question was about. Nothing else: not of pools that the restore did not
// touch, not once the books of the pool were level again beyond that request, and never at rest.
// That one machine is a Node of two pools is never excused.
class Amnesty {
 public:
  explicit Amnesty(const Cloud& cloud) : cloud_(cloud) {}

  // The service was just restored; `lost`: what it was.
  void Forgot(const lifecycle::State& lost);
  void Forgot(const quota::State& lost);
  void Forgot(const capacity::State& lost);
  void Forgot(const configuration::State& lost);

  // `difference`: not passing.
  bool Excuses(const lifecycle::Difference& difference) const;
  // Whether a restore of that kind has left the pool's books uneven.
  bool OwesQuota(const std::string& uid) const { return quota_.contains(uid); }
  bool OwesCapacity(const std::string& uid) const { return capacity_.contains(uid); }
  bool OwesLifecycle(const std::string& uid) const { return lifecycle_.contains(uid); }
  bool Owes(const std::string& uid) const {
    return OwesQuota(uid) || OwesCapacity(uid) || OwesLifecycle(uid);
  }
  // Lifecycle forgot the pool, or a service that it was released.
  bool IsGhost(const std::string& uid) const;
  // Whether something that was sent long ago can bring a pool back that was released: a service
  // forgot that it was, and was not told again.
  bool MayHaunt() const;

  // Ends the excuses of all that is level again. `differences`: of the books now.
  void End(const std::vector<lifecycle::Difference>& differences);

 private:
  struct Debt {
    int64_t generation = 0;  // the newest that was forgotten
    int64_t version = 0;     // of the pool's row then
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
  // Uids that were released in a future which the service forgot, or whose pool lifecycle forgot.
  std::set<std::string> holdings_;
  std::set<std::string> claims_;
  std::set<std::string> configurations_;
  // The newest generation under which one was released that a service forgot: lifecycle may go back
  // to when there was the pool, and does not know it.
  std::map<std::string, int64_t> released_;
};

}  // namespace muster::simulation
