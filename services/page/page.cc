#include "services/page/page.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/build_info.h"
#include "services/common/http_host.h"
#include "services/common/log.h"
#include "services/common/random_bits.h"
#include "services/common/status_macros.h"
#include "services/page/core/cell.h"

namespace muster::page {
namespace {

using nlohmann::json;

std::string NewEpoch() { return absl::StrCat(absl::Hex(RandomBits(), absl::kZeroPad16)); }

json ToJson(const ServiceHealth& health) {
  json out = {{"service", health.service},
              {"ready", health.ready},
              {"revision", health.revision},
              {"queued", health.queued},
              {"watchers", health.watchers},
              {"commands", health.commands},
              {"failedBatches", health.failed_batches}};
  if (health.epoch) out["epoch"] = *health.epoch;
  if (health.leaderless) out["leaderless"] = true;
  if (health.journal_age) out["oldest"] = absl::ToUnixMillis(absl::Now() - *health.journal_age);
  return out;
}

}  // namespace

std::string BeginJson(absl::Duration preemption_notice, absl::Duration preemption_end,
                      const std::vector<CellLink>& cells) {
  json links = json::array();
  for (const CellLink& link : cells) links.push_back({{"cell", link.cell}, {"url", link.url}});
  json states = json::array();
  for (const CellState state : kAllCellStates) states.push_back(std::string(CellStateName(state)));
  return json({{"states", std::move(states)},
               {"notice", absl::ToInt64Milliseconds(preemption_notice)},
               {"end", absl::ToInt64Milliseconds(preemption_end)},
               {"cells", std::move(links)},
               {"version", std::string(build_info::kVersion)}})
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Page::Page(const Options& options)
    : health_(options.health),
      board_(NewEpoch()),
      questions_(options.channels),
      watches_(options.channels, &board_) {}

Page::~Page() {
  // A question about the past must not hold up the end of the process.
  questions_.Stop();
  listener_.reset();
  watches_.Stop();
}

absl::StatusOr<std::unique_ptr<Page>> Page::Create(const Options& options) {
  auto page = std::unique_ptr<Page>(new Page(options));
  PageListener::Options listener;
  listener.address = options.address;
  listener.hosts = options.hosts;
  listener.board = &page->board_;
  listener.begin = BeginJson(options.preemption_notice, options.preemption_end, options.cells);
  listener.health = [raw = page.get()] { return raw->Health(); };
  listener.pool = [raw = page.get()](const std::string& name) {
    return raw->questions_.Pool(name);
  };
  listener.claim = [raw = page.get()](const std::string& uid) {
    return raw->questions_.Claim(uid);
  };
  listener.past = [raw = page.get()](absl::Time then) {
    return raw->questions_.Past(then, raw->board_.PlacesAlone());
  };
  ASSIGN_OR_RETURN(page->listener_, PageListener::Create(std::move(listener)));
  page->watches_.Start();
  if (!IsLoopback(options.address)) {
    log::Warn("the page is served beyond this machine: whoever reaches it reads the whole fleet",
              {{"address", options.address}});
  }
  return page;
}

std::string Page::Health() const {
  json watches = json::array();
  for (const WatchHealth& health : watches_.health()) {
    watches.push_back({{"service", health.service},
                       {"live", health.live},
                       {"since", absl::ToUnixMillis(health.since)},
                       {"error", health.told}});
  }
  json services = json::array();
  if (health_) {
    for (const ServiceHealth& health : health_()) services.push_back(ToJson(health));
  }
  return json({{"watches", std::move(watches)}, {"services", std::move(services)}})
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace muster::page
