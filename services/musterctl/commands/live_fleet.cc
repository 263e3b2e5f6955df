#include "services/musterctl/commands/live_fleet.h"

#include <utility>

#include "services/common/status_macros.h"
#include "services/page/watch_sink.h"

namespace muster::musterctl {

// What one cell tells.
class LiveFleet::Sink final : public page::WatchSink {
 public:
  Sink(LiveFleet& fleet, size_t cell) : fleet_(fleet), cell_(cell) {}

  void BeginSnapshot(page::Source source) override {
    MutexLock lock(fleet_.mutex_);
    fleet_.fleet_.BeginSnapshot(source, cell_);
  }
  bool Take(const capacity::v1::WatchCapacityResponse& message) override { return Tell(message); }
  bool Take(const quota::v1::WatchQuotasResponse& message) override { return Tell(message); }
  bool Take(const lifecycle::v1::WatchLifecycleResponse& message) override { return Tell(message); }
  bool Take(const configuration::v1::WatchConfigurationsResponse&) override { return true; }

 private:
  template <class Message>
  bool Tell(const Message& message) {
    const absl::Time now = fleet_.clock_.Now();
    MutexLock lock(fleet_.mutex_);
    fleet_.fleet_.Take(message, now, cell_);
    return true;
  }

  LiveFleet& fleet_;
  const size_t cell_;
};

absl::StatusOr<std::unique_ptr<LiveFleet>> LiveFleet::Follow(const std::vector<Cell>& cells,
                                                             const Clock& clock) {
  std::unique_ptr<LiveFleet> fleet(new LiveFleet(clock));
  for (const Cell& cell : cells) {
    fleet->names_.push_back(cell.name);
    fleet->sinks_.push_back(std::make_unique<Sink>(*fleet, fleet->sinks_.size()));
    ASSIGN_OR_RETURN(std::unique_ptr<FleetLink> link, cell.api->WatchFleet(*fleet->sinks_.back()));
    fleet->links_.push_back(std::move(link));
  }
  return fleet;
}

LiveFleet::LiveFleet(const Clock& clock) : clock_(clock) {}

LiveFleet::~LiveFleet() { Stop(); }

std::vector<top::CellWatches> LiveFleet::health() const {
  std::vector<top::CellWatches> all;
  for (size_t cell = 0; cell < links_.size(); ++cell)
    all.push_back({names_[cell], links_[cell]->health()});
  return all;
}

void LiveFleet::Stop() {
  for (const std::unique_ptr<FleetLink>& link : links_) link->Stop();
}

}  // namespace muster::musterctl
