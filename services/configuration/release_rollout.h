#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/common/worker_signal.h"
#include "services/configuration/store/lane.h"

namespace prometheus {
class Collectable;
}

namespace muster::configuration {

class ReleaseRolloutMetrics;

// Rolls a release out to the pools that it concerns, by settling them (core/settle.h): a thread
// that looks for them when releases change, whichever replica published, and at start, and settles
// them in commands of at most kMaxSettled. Which are left follows from the rows: a restart loses
// nothing, and of several replicas the first one writes. While the database is away it tries again
// every second.
class ReleaseRollout {
 public:
  // To be made before the lane's first Submit. The lane must outlive it.
  explicit ReleaseRollout(Lane* lane);
  // Ends the thread.
  ~ReleaseRollout();

  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  void Run();
  // False: some are left, because the database is away or it is to stop.
  bool RollOut();
  bool SettleBatch(std::vector<std::string> keys);

  Lane& lane_;
  const std::shared_ptr<WorkerSignal> signal_;  // the lane's subscription and a late answer keep it
  const std::shared_ptr<ReleaseRolloutMetrics> metrics_;
  std::thread thread_;
};

}  // namespace muster::configuration
