#pragma once

#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/common/event_reasons.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/common/stopper.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/core/event.h"
#include "services/kubernetes/core/event_backoff.h"
#include "services/kubernetes/core/event_pace.h"
#include "services/kubernetes/metrics.h"
#include "services/kubernetes/repeated_failure.h"

namespace muster::kubernetes {

// Shows Muster's events as events.k8s.io/v1, warnings first, then the oldest, no more than so many
// a minute: what comes faster waits, and repeats of what waits are one write. One that is refused
// waits behind all others (EventBackoff). An event that waits for longer than the API server keeps
// events is dropped, whatever it waits for. What an earlier process wrote is found again, and not
// written twice. Thread-safe.
class EventMirror {
 public:
  struct Options {
    std::string instance = {};  // which replica
    Edition edition = Edition::kCurrent;
    int a_minute = 3000;                   // writes, at least 1
    int writers = 2;                       // writes under way at a time, at least 1
    absl::Duration keep = absl::Hours(1);  // as the API server's --event-ttl
    std::function<EventNode(const std::string& machine)> node_of = {};
  };

  // Pauses go by `clock`, the age of events by the time of day. All that is pointed to must outlive
  // it.
  EventMirror(Client* api, Metrics* metrics, Options options,
              const SteadyClock* clock = TheSteadyClock());
  ~EventMirror();

  // An event of Muster's, as Muster shows it.
  void Put(const lifecycle::v1::Event& event);
  // An event of the adapter's own about a NodePool, now.
  void Tell(const NodePoolObject& object, const EventWord& word, absl::string_view message);
  // Likewise about a v1 Node, by its name.
  void TellOfNode(const std::string& node, const EventWord& word, absl::string_view message);
  // Likewise, but not if the cluster had an event of the same node, reason and message at the
  // start.
  void TellOfNodeOnce(const std::string& node, const EventWord& word, absl::string_view message);

  // Looks up what is there already, then writes.
  void Start();
  // Call Client::Stop before. Idempotent.
  void Stop();

 private:
  // The order in which events are written: times refused, not a warning, last time, resource name.
  using Key = std::tuple<int, bool, absl::Time, std::string>;
  using Waiting = absl::btree_map<Key, lifecycle::v1::Event>;
  static bool WasRefused(const Key& key) { return std::get<0>(key) > 0; }

  // How many written events are remembered before old ones are forgotten.
  static constexpr size_t kTrimAt = 50'000;

  // How far an event was told. The time comes first: a count starts anew where Muster's database
  // was restored.
  struct Written {
    absl::Time last_time = absl::InfinitePast();  // whole microseconds, as the object has it
    int64_t count = 0;
    friend bool operator<(const Written& a, const Written& b) {
      return std::tie(a.last_time, a.count) < std::tie(b.last_time, b.count);
    }
  };
  static Written WrittenBy(const lifecycle::v1::Event& event);

  // `what`: tells it from other events of the same reason and message.
  void TellNow(lifecycle::v1::Event event, const std::string& what, const EventWord& word,
               absl::string_view message);
  void FindAndWrite();
  // One of the writers.
  void WriteAll();
  absl::Status FindWritten();
  // The first that is to be written and that nobody writes; false: stopped.
  bool Take(lifecycle::v1::Event& event);
  // Until there may be one.
  void AwaitNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Waiting::iterator FindNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // That one, or the first after it, that nobody writes.
  Waiting::iterator FirstFree(Waiting::iterator from) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops, now and then, the waiting events that are too old, so that those go, too, whose turn
  // never comes.
  void DropOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How long a write that is asked for now has to wait.
  absl::Duration WaitOf();
  absl::Status Write(const lifecycle::v1::Event& event);
  // End: sees to what became of an event that was taken. Note: the part of it that decides when
  // others are written.
  void Note(const lifecycle::v1::Event& event, const absl::Status& status);
  void End(const lifecycle::v1::Event& event, const absl::Status& status);
  // Whether the API server would have forgotten the event by now.
  bool IsOver(const lifecycle::v1::Event& event) const;
  // Logs, now and then, what the server refuses.
  void TellOfFailure(const lifecycle::v1::Event& event, const absl::Status& status);
  // Whether the event is in the cluster: by its name; one of TellOfNodeOnce also by what it says,
  // if it was there at the start.
  bool IsWritten(const lifecycle::v1::Event& event) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Client& api_;
  Metrics& metrics_;
  const SteadyClock& clock_;
  const Options options_;
  Stopper stopper_;
  RepeatedFailure unwritten_;
  Mutex mutex_;
  CondVar changed_;
  bool found_ MUSTER_GUARDED_BY(mutex_) = false;  // the events that are there were listed
  EventPace pace_ MUSTER_GUARDED_BY(mutex_);
  EventBackoff backoff_ MUSTER_GUARDED_BY(mutex_);
  absl::Duration looked_over_ MUSTER_GUARDED_BY(mutex_) = -absl::InfiniteDuration();  // what waits
  Waiting waiting_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Key> waiting_at_ MUSTER_GUARDED_BY(mutex_);   // resource name
  absl::flat_hash_set<std::string> writing_ MUSTER_GUARDED_BY(mutex_);           // resource name
  absl::flat_hash_map<std::string, Written> written_ MUSTER_GUARDED_BY(mutex_);  // object's name
  size_t trim_at_ MUSTER_GUARDED_BY(mutex_) = kTrimAt;  // Forget looks again at so many
  absl::flat_hash_set<std::string> once_ MUSTER_GUARDED_BY(mutex_);  // resource name
  absl::flat_hash_set<std::string> found_ids_
      MUSTER_GUARDED_BY(mutex_);  // that were there at first
  std::vector<std::thread> threads_;
};

}  // namespace muster::kubernetes
