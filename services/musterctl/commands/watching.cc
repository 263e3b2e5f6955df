#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/client/stream_retries.h"
#include "services/common/mutex.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/cells.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/client/side_by_side.h"
#include "services/musterctl/client/watch_view.h"
#include "services/musterctl/commands/reading.h"
#include "services/musterctl/commands/references.h"

namespace muster::musterctl {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(200);
constexpr absl::Duration kLastRetry = absl::Seconds(5);

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

// To be called when the range is empty. NOT_FOUND: a cluster that it is in does not exist.
absl::Status CheckRange(Session& session, const WatchRange& range) {
  if (range.ids.empty()) return CheckClusterOf(session, {range.kind, range.pool});
  for (const std::string& id : range.ids)
    RETURN_IF_ERROR(CheckClusterOf(session, {range.kind, id}));
  return absl::OkStatus();
}

// Shared by the streams of all cells: prints, and decides whether the watch goes on. Thread-safe.
class Joint {
 public:
  Joint(Session& session, const Watched& watched, Printer& printer)
      : session_(session),
        watched_(watched),
        printer_(printer),
        first_until_(session.env.steady.Now() + session.timeout),
        together_(session.cells, [this](const absl::Status& error) { Say(RenderError(error)); }),
        parts_(session.cells.size()) {}

  // Prints those changes of a cell that are wanted. `is_all`: they complete a snapshot. False: the
  // watch is over.
  bool Show(size_t cell, std::vector<WatchView::Change> changes, bool is_all) {
    std::vector<Item> items;
    {
      MutexLock lock(mutex_);
      items = Take(cell, std::move(changes));
      parts_[cell].is_known |= is_all;
      const bool is_in_doubt = is_all && where_.ok() && IsNothingThere();
      if (!is_in_doubt || is_checking_) {
        if (where_.ok() && (is_all || !items.empty())) Print(items);
        return where_.ok();
      }
      is_checking_ = true;
    }
    // Without the lock: a cell that does not answer must not hold up the lines of the others.
    const absl::Status answer = Check();
    MutexLock lock(mutex_);
    is_checking_ = false;
    if (IsNothingThere()) where_ = answer;
    // Other streams end only with their next message: print the reason at once.
    if (!where_.ok() && session_.of_cells) session_.env.err << RenderError(where_) << std::flush;
    if (where_.ok()) Print(items);
    return where_.ok();
  }
  // To be called when a message of any cell came.
  void Heard() {
    MutexLock lock(mutex_);
    is_heard_ = true;
  }
  // Until when, by the process's steady clock, a cell's first stream must have begun.
  absl::Duration first_until() const { return first_until_; }
  // Whether any cell was heard.
  bool is_heard() const {
    MutexLock lock(mutex_);
    return is_heard_;
  }
  // Why nothing can be there, which ends the watch.
  absl::Status where() const {
    MutexLock lock(mutex_);
    return where_;
  }
  void Say(const std::string& text) {
    MutexLock lock(mutex_);
    session_.env.err << text << std::flush;
  }

 private:
  // Ends the watch if the output cannot be written.
  void Print(const std::vector<Item>& items) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    printer_.Print(items);
    if (session_.env.out.good()) return;
    where_ = absl::DataLossError("the output could not be written");
    if (session_.of_cells) session_.env.err << RenderError(where_) << std::flush;
  }

  // Whether anything can be there. Called by one thread at a time, without the lock; errors of
  // cells are printed by Say, under it.
  absl::Status Check() {
    if (!session_.of_cells) return CheckRange(session_, watched_.range);
    Session asking{session_.line,    session_.scope,    together_,     session_.env,
                   session_.timeout, session_.of_cells, session_.cells};
    return CheckRange(asking, watched_.range);
  }

  struct Part {
    std::set<std::string> names = {};  // of the resources that were printed and still exist
    bool is_known = false;             // a snapshot was complete
  };

  // The changes that are wanted, to be printed. Prints at once which resources are gone.
  std::vector<Item> Take(size_t cell, std::vector<WatchView::Change> changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<Item> items;
    for (WatchView::Change& change : changes) {
      if (!IsNamed(watched_.range, change.name)) continue;
      if (!change.item) {
        // An event goes when it is old, or with its NodePool: that is no news.
        if (parts_[cell].names.erase(change.name) > 0 && watched_.range.kind != Kind::kEvent)
          printer_.PrintDeleted(change.name, session_.cells[cell].name);
        continue;
      }
      change.item->cell = session_.cells[cell].name;
      // A resource that no longer fits is printed one last time, with its new values.
      if (watched_.fits(*change.item)) {
        parts_[cell].names.insert(change.name);
      } else if (parts_[cell].names.erase(change.name) == 0) {
        continue;
      }
      items.push_back(*std::move(change.item));
    }
    if (watched_.range.kind == Kind::kEvent) SortEvents(items);
    return items;
  }
  // All cells have told what they have, and it is nothing.
  bool IsNothingThere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.is_known && part.names.empty(); });
  }

  Session& session_;
  const Watched& watched_;
  Printer& printer_;
  const absl::Duration first_until_;
  CellsApi together_;  // only of Check
  mutable Mutex mutex_;
  bool is_checking_ MUSTER_GUARDED_BY(mutex_) = false;
  std::vector<Part> parts_ MUSTER_GUARDED_BY(mutex_);  // by cell
  bool is_heard_ MUSTER_GUARDED_BY(mutex_) = false;
  absl::Status where_ MUSTER_GUARDED_BY(mutex_);
};

// The streams of one cell's watch, one after the other. The first must begin within a call's
// timeout; if it does not but another cell was heard, it is tried again like one that broke off.
class Streams {
 public:
  Streams(Session& session, Joint& joint, const std::string& cell)
      : env_(session.env), joint_(joint), cell_(cell) {}

  void Heard() {
    told_ = false;
    retries_.Heard();
    joint_.Heard();
  }
  // Waits until the next stream is due. False: there is none, and the watch ends with the status
  // `end`.
  bool AwaitNext(const absl::Status& end) {
    std::optional<absl::Duration> pause =
        retries_.PauseAfter(end, joint_.first_until() - env_.steady.Now());
    const bool is_late = !pause && IsAway(end) && joint_.is_heard();
    if (is_late) pause = kLastRetry;
    if (!pause) return false;
    if ((retries_.heard() || is_late) && !told_ && !absl::IsOutOfRange(end)) {
      told_ = true;
      joint_.Say(retries_.heard() ? absl::StrCat("note: the watch", Of(" of cell "), " broke off (",
                                                 end.message(), "), reconnecting\n")
                                  : absl::StrCat("note: cell ", cell_, " does not answer (",
                                                 end.message(), "), trying again\n"));
    }
    env_.sleep(*pause);
    return true;
  }

 private:
  std::string Of(absl::string_view word) const {
    return cell_.empty() ? "" : absl::StrCat(word, cell_);
  }

  ProcessEnv& env_;
  Joint& joint_;
  const std::string& cell_;  // empty: there is one server
  client::StreamRetries retries_{kFirstRetry, kLastRetry};
  bool told_ = false;  // the user was told that the last stream broke off
};

// A watch sends Claims without the fields that are computed on a read (machines, reason, in
// service): each is read here. One that is gone by then is dropped: its deletion follows. After the
// first error the changes that are left are dropped; the next stream repeats them.
absl::Status AskForAll(std::vector<WatchView::Change>& changes, Api& api, WatchView& view) {
  absl::Status asked;
  std::vector<WatchView::Change> whole;
  for (WatchView::Change& change : changes) {
    if (change.item && asked.ok()) {
      absl::StatusOr<Item> item = api.Get(Kind::kClaim, change.name);
      if (absl::IsNotFound(item.status())) continue;
      asked = item.status();
      if (item.ok()) change.item = *std::move(item);
    }
    if (change.item && !asked.ok()) {
      view.Unsee(change.name);
    } else {
      whole.push_back(std::move(change));
    }
  }
  changes = std::move(whole);
  return asked;
}

// Watches one cell until the watch is over or the cell is given up, and returns why.
absl::Status FollowCell(Session& session, const Watched& watched, Joint& joint, size_t cell) {
  WatchView view;
  Streams streams(session, joint, session.cells[cell].name);
  while (true) {
    // A Quota's `held` is a sum over the whole stream, which a resumed stream does not have.
    if (watched.range.kind == Kind::kQuota) view.Forget();
    Api& api = *session.cells[cell].api;
    absl::Status unasked;
    absl::Status status = api.Watch(watched.range, view.Begin(), [&](const WatchMessage& message) {
      streams.Heard();
      const bool is_all = message.type == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
      std::vector<WatchView::Change> changes = view.Feed(message);
      if (watched.range.kind == Kind::kClaim) unasked = AskForAll(changes, api, view);
      return joint.Show(cell, std::move(changes), is_all && unasked.ok()) && unasked.ok();
    });
    RETURN_IF_ERROR(joint.where());
    if (!unasked.ok()) {
      view.Forget();
      status = unasked;
    }
    if (absl::IsOutOfRange(status)) view.Forget();
    if (!streams.AwaitNext(status)) return status;
  }
}

}  // namespace

absl::Status WatchKind(Session& session, const Watched& watched, Printer& printer) {
  Joint joint(session, watched, printer);
  if (!session.of_cells) return FollowCell(session, watched, joint, 0);
  std::vector<size_t> numbers(session.cells.size());
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  SideBySide(numbers, [&](size_t cell) {
    const absl::Status end = FollowCell(session, watched, joint, cell);
    // The others go on.
    if (joint.where().ok()) joint.Say(RenderError(InCell(session.cells[cell].name, end)));
    return end;
  });
  return AlreadyPrinted();
}

}  // namespace muster::musterctl
