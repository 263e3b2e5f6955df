#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/backoff.h"
#include "services/musterctl/client/watch_view.h"
#include "services/musterctl/commands/reading.h"
#include "services/musterctl/commands/references.h"

namespace muster::musterctl {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(200);
constexpr absl::Duration kLastRetry = absl::Seconds(5);

// The streams of one watch, one after the other. The first must begin within the timeout of a call;
// then it goes on for ever.
class Streams {
 public:
  explicit Streams(Session& session)
      : world_(session.world), first_until_(world_.clock.Now() + session.timeout) {}

  void Heard() {
    connected_ = true;
    told_ = false;
    backoff_.Reset();
  }
  // Waits until the next one is due. False: there is none, the watch ends as this one did.
  bool AwaitNext(const absl::Status& end) {
    if (!Passes(end)) return false;
    absl::Duration pause = backoff_.Next();
    if (!connected_) {
      const absl::Duration left = first_until_ - world_.clock.Now();
      if (left <= absl::ZeroDuration()) return false;
      pause = std::min(pause, left);
    } else if (!told_ && !absl::IsOutOfRange(end)) {
      told_ = true;
      world_.err << "note: the watch broke off (" << end.message() << "), reconnecting"
                 << std::endl;
    }
    world_.sleep(pause);
    return true;
  }

 private:
  bool Passes(const absl::Status& end) const {
    return absl::IsOutOfRange(end) || absl::IsUnavailable(end) || absl::IsResourceExhausted(end) ||
           (connected_ && absl::IsDeadlineExceeded(end));
  }

  World& world_;
  const absl::Time first_until_;
  bool connected_ = false;
  bool told_ = false;  // that the last one broke
  Backoff backoff_{kFirstRetry, kLastRetry};
};

bool IsNamed(const Watched& watched, const std::string& name) {
  return watched.ids.empty() ||
         std::any_of(watched.ids.begin(), watched.ids.end(), [&](const std::string& id) {
           const std::string short_id = IdOfName(watched.kind, name);
           return id == name || id == short_id ||
                  (watched.kind == Kind::kNode &&
                   absl::EndsWith(name, absl::StrCat("/nodePools/", id.substr(0, id.find('/')),
                                                     "/nodes/", short_id)) &&
                   absl::EndsWith(id, absl::StrCat("/", short_id)));
         });
}

}  // namespace

absl::Status WatchKind(Session& session, const Watched& watched, Printer& printer) {
  const Kind kind = watched.kind;
  WatchView view;
  std::set<std::string> shown;  // what was printed, and is there
  Streams streams(session);
  while (true) {
    // A Quota's `held` is a sum over the whole stream, which a resumed stream does not have.
    if (kind == Kind::kQuota) view.Forget();
    const absl::Status status =
        session.api.Watch(kind, view.Begin(), [&](const WatchMessage& message) {
          streams.Heard();
          std::vector<Item> items;
          for (WatchView::Change& change : view.Feed(message)) {
            if (!IsNamed(watched, change.name)) continue;
            if (!change.item) {
              if (shown.erase(change.name) > 0) printer.PrintDeleted(change.name);
            } else if (watched.fits(*change.item)) {
              shown.insert(change.name);
              items.push_back(*std::move(change.item));
            }
          }
          if (kind == Kind::kEvent) SortEvents(items);
          if (!items.empty() || message.type == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END)
            printer.Print(items);
          return true;
        });
    if (absl::IsOutOfRange(status)) view.Forget();
    if (!streams.AwaitNext(status)) return status;
  }
}

}  // namespace muster::musterctl
