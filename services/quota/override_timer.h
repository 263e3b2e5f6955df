#pragma once

#include <memory>
#include <thread>

#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/worker_signal.h"
#include "services/quota/store/lane.h"

namespace muster::quota {

// Lets overrides come into force and lapse: a thread that sleeps until the next one does, then
// submits ApplyOverrides, so that watchers hear of it. What is due follows from the rows: a
// restart loses nothing, and of several replicas the first one writes.
class OverrideTimer {
 public:
  // To be made before the lane's first Submit. Both must outlive it.
  OverrideTimer(Lane* lane, const Clock* clock);
  // Ends the thread.
  ~OverrideTimer();

 private:
  void Run();
  // False: nothing was written, or it failed.
  bool ApplyDue();

  Lane& lane_;
  const Clock& clock_;
  const std::shared_ptr<WorkerSignal> signal_;  // the lane's subscription and a late answer keep it
  std::thread thread_;
};

}  // namespace muster::quota
