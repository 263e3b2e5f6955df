#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/client/stream_retries.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/watch_view.h"
#include "services/musterctl/commands/reading.h"
#include "services/musterctl/commands/references.h"

namespace muster::musterctl {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(200);
constexpr absl::Duration kLastRetry = absl::Seconds(5);

// The streams of one watch, one after the other. The first must begin within the timeout of a call.
class Streams {
 public:
  explicit Streams(Session& session)
      : world_(session.world), first_until_(world_.clock.Now() + session.timeout) {}

  void Heard() {
    told_ = false;
    retries_.Heard();
  }
  // Waits until the next one is due. False: there is none, the watch ends as this one did.
  bool AwaitNext(const absl::Status& end) {
    const auto pause = retries_.PauseAfter(end, first_until_ - world_.clock.Now());
    if (!pause) return false;
    if (retries_.heard() && !told_ && !absl::IsOutOfRange(end)) {
      told_ = true;
      world_.err << "note: the watch broke off (" << end.message() << "), reconnecting"
                 << std::endl;
    }
    world_.sleep(*pause);
    return true;
  }

 private:
  World& world_;
  const absl::Time first_until_;
  client::StreamRetries retries_{kFirstRetry, kLastRetry};
  bool told_ = false;  // that the last one broke
};

bool IsNamed(const WatchRange& range, const std::string& name) {
  return range.ids.empty() ||
         std::any_of(range.ids.begin(), range.ids.end(), [&](const std::string& id) {
           const std::string short_id = IdOfName(range.kind, name);
           return id == name || id == short_id ||
                  (range.kind == Kind::kNode &&
                   absl::EndsWith(name, absl::StrCat("/nodePools/", id.substr(0, id.find('/')),
                                                     "/nodes/", short_id)) &&
                   absl::EndsWith(id, absl::StrCat("/", short_id)));
         });
}

// Of what was not found: all that are named, or the whole range.
absl::Status CheckRange(Session& session, const WatchRange& range) {
  if (range.ids.empty()) return CheckClusterOf(session, {range.kind, range.pool});
  for (const std::string& id : range.ids)
    RETURN_IF_ERROR(CheckClusterOf(session, {range.kind, id}));
  return absl::OkStatus();
}

// What is printed of the messages.
class Shown {
 public:
  Shown(const Watched& watched, Printer& printer) : watched_(watched), printer_(printer) {}

  // The part of the changes that is wanted. Tells of those that are gone.
  std::vector<Item> Take(std::vector<WatchView::Change> changes) {
    std::vector<Item> items;
    for (WatchView::Change& change : changes) {
      if (!IsNamed(watched_.range, change.name)) continue;
      if (!change.item) {
        if (names_.erase(change.name) > 0) printer_.PrintDeleted(change.name);
      } else if (watched_.fits(*change.item)) {
        names_.insert(change.name);
        items.push_back(*std::move(change.item));
      }
    }
    if (watched_.range.kind == Kind::kEvent) SortEvents(items);
    return items;
  }
  bool empty() const { return names_.empty(); }

 private:
  const Watched& watched_;
  Printer& printer_;
  std::set<std::string> names_;  // of what was printed, and is there
};

}  // namespace

absl::Status WatchKind(Session& session, const Watched& watched, Printer& printer) {
  WatchView view;
  Shown shown(watched, printer);
  Streams streams(session);
  absl::Status where;  // why nothing can be there
  while (true) {
    // A Quota's `held` is a sum over the whole stream, which a resumed stream does not have.
    if (watched.range.kind == Kind::kQuota) view.Forget();
    const absl::Status status =
        session.api.Watch(watched.range, view.Begin(), [&](const WatchMessage& message) {
          streams.Heard();
          const std::vector<Item> items = shown.Take(view.Feed(message));
          const bool is_all = message.type == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
          if (is_all && shown.empty()) where = CheckRange(session, watched.range);
          if (where.ok() && (is_all || !items.empty())) printer.Print(items);
          return where.ok();
        });
    RETURN_IF_ERROR(where);
    if (absl::IsOutOfRange(status)) view.Forget();
    if (!streams.AwaitNext(status)) return status;
  }
}

}  // namespace muster::musterctl
