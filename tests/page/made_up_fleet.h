#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/page/live_board.h"
#include "services/page/page_listener.h"
#include "tests/testing/reserved_port.h"

namespace muster::testing {

// The page's own listener on a board that this class fills with a made-up fleet: the page shows
// just that. Machines stand in racks of 18 and 8, pools have 1,000 machines or fewer.
class MadeUpFleet {
 public:
  MadeUpFleet();
  ~MadeUpFleet();

  // Machines with their pools, most of them Nodes in production.
  void AddMachines(int machines);
  // Changes the next `count` machines: the state of their Nodes, or their pools.
  void Change(int count);

  std::string url() const;
  page::LiveBoard& board() { return board_; }
  int readers() const { return listener_->readers(); }
  // SetPast: what /api/past answers from now on. pasts: the moments that it was asked for, in
  // order.
  void SetPast(std::function<page::Questions::Answer(absl::Time)> past);
  std::vector<absl::Time> pasts() const;
  // Starts the listener anew on the same port; readers lose their connections.
  void RestartListener();

  // The id of a machine, from 0.
  static std::string MachineId(int number);

 private:
  void TellMachine(int number, int step);
  void TellPool(int number);
  void Listen();

  // Nobody else gets it while the listener starts anew.
  const ReservedPort port_;
  page::LiveBoard board_{"made-up"};
  mutable Mutex mutex_;
  std::function<page::Questions::Answer(absl::Time)> past_ MUSTER_GUARDED_BY(mutex_);
  std::vector<absl::Time> pasts_ MUSTER_GUARDED_BY(mutex_);
  std::unique_ptr<page::PageListener> listener_;
  int machines_ = 0;
  int next_ = 0;
  int step_ = 0;
};

}  // namespace muster::testing
