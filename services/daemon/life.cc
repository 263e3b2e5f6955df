#include "services/daemon/life.h"

#include <algorithm>
#include <utility>

#include "services/common/log.h"

namespace muster::daemon {
namespace {

// Between looks, where systemd does not ask for more of them.
constexpr absl::Duration kLookInterval = absl::Seconds(1);

absl::Duration IntervalFor(absl::Duration watchdog) {
  return watchdog > absl::ZeroDuration() ? std::min(kLookInterval, watchdog / 3) : kLookInterval;
}

}  // namespace

Life::Life(Options options) : options_(std::move(options)), beat_(options_.clock->Now()) {
  if (!options_.thread) return;
  thread_ = std::thread([this] {
    do {
      Look();
    } while (stopper_.Sleep(IntervalFor(options_.notifier.watchdog())));
  });
}

Life::~Life() { Stop(); }

void Life::Beat(bool ready) {
  MutexLock lock(mutex_);
  beat_ = options_.clock->Now();
  ready_ = ready;
}

bool Life::alive() const {
  MutexLock lock(mutex_);
  return options_.clock->Now() - beat_ <= options_.patience;
}

void Life::Look() {
  MutexLock looking(looking_);
  if (stopper_.stopped()) return;
  const bool alive = this->alive();
  bool ready = false;
  {
    MutexLock lock(mutex_);
    ready = ready_;
  }
  // systemd first: what is told of the change may hang with the rest.
  if (ready && !began_) began_ = options_.notifier.Tell("READY=1");
  if (alive) options_.notifier.Tell("WATCHDOG=1");
  const bool changed = told_alive_ != alive;
  if (changed || told_ready_ != ready) {
    options_.notifier.Tell(!alive  ? "STATUS=hangs: no sign of life"
                           : ready ? "STATUS=ready"
                                   : "STATUS=alive, not ready");
  }
  told_ready_ = ready;
  if (!changed) return;
  told_alive_ = alive;
  if (!alive)
    log::Error("the process hangs: no sign of life",
               {{"seconds", absl::ToDoubleSeconds(options_.patience)}});
  if (options_.on_change) options_.on_change(alive);
}

void Life::Stop() {
  if (stopper_.stopped()) return;
  stopper_.Stop();
  if (thread_.joinable()) thread_.join();
  options_.notifier.Tell("STOPPING=1\nSTATUS=ends");
}

}  // namespace muster::daemon
