#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/page/cell_links.h"
#include "services/page/live_board.h"
#include "services/page/page_listener.h"
#include "services/page/page_watches.h"
#include "services/page/questions.h"

namespace muster::page {

// A service that runs in this process, as the page shows it.
struct ServiceHealth {
  std::string service = {};
  bool ready = false;
  int64_t revision = 0;
  int64_t queued = 0;  // commands that wait to be committed
  int64_t watchers = 0;
  int64_t commands = 0;  // answered since the process began
  int64_t failed_batches = 0;
  std::optional<int64_t> epoch = {};  // lifecycle only: of its lead; 0: another replica leads
  bool leaderless = false;            // lifecycle only: no replica leads
  // Age of the oldest change that its journal has; nullopt: not known.
  std::optional<absl::Duration> journal_age = {};
};

// The page for people: follows the services by their watches, and serves what it knows over HTTP.
class Page {
 public:
  struct Options {
    std::string address = {};          // `127.0.0.1:7605`
    std::set<std::string> hosts = {};  // see PageListener
    Channels channels = {};
    std::function<std::vector<ServiceHealth>()> health = {};  // may be null
    std::vector<CellLink> cells = {};                         // the pages of other cells
    // How long after its preemption began a spot Node is drained, and switched off at the latest
    // (--preemption_notice, --preemption_end).
    absl::Duration preemption_notice = absl::Minutes(2);
    absl::Duration preemption_end = absl::Minutes(7);
  };

  // UNAVAILABLE: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<Page>> Create(const Options& options);
  // Ends the readers' streams and the watches. To be destroyed before the servers that the channels
  // lead to.
  ~Page();

  int port() const { return listener_->port(); }

 private:
  explicit Page(const Options& options);
  std::string Health() const;

  const std::function<std::vector<ServiceHealth>()> health_;
  LiveBoard board_;
  Questions questions_;
  PageWatches watches_;
  std::unique_ptr<PageListener> listener_;
};

// JSON of the event `begin`: the names of states and the times of preemption that the scripts need,
// and the links to other cells.
std::string BeginJson(absl::Duration preemption_notice, absl::Duration preemption_end,
                      const std::vector<CellLink>& cells = {});

}  // namespace muster::page
