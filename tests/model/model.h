#pragma once

#include "tests/model/round.h"

namespace muster::model {

// The rules of queue, gangs, racks and spot for one zone and one instance type, in the plainest
// code: everything is worked out anew from lists. Slow.
class Model {
 public:
  explicit Model(int32_t nodes_per_rack) { books_.nodes_per_rack = nodes_per_rack; }

  // These say whether anything changed.
  bool Register(const std::vector<capacity::MachineRow>& machines);
  bool SetState(const std::string& id, MachineState wanted);
  bool SetOffer(bool offered, bool spot_offered);
  // One decision. A request that the core refuses is left out by the caller.
  bool Sync(const std::vector<capacity::SyncClaim>& claims, absl::Time now);

  // Whether a gang has waited for so long that it keeps no machines any more: the core notices that
  // only at its next decision.
  bool IsOverdue(absl::Time now, const Terms& terms) const;
  // The end of every decision: the queue is served.
  void Finish(const Guide& guide, absl::Time now, const Terms& terms) {
    Round(books_, guide, now, terms).Run();
  }

  const Books& books() const { return books_; }

 private:
  void GiveBack(Claim& claim, const capacity::MachineReturn& given);
  // When what the claim adds counts as asked for, of a request at `time`.
  absl::Time AskedAlone(const Claim& claim, absl::Time time) const;

  Books books_;
};

}  // namespace muster::model
