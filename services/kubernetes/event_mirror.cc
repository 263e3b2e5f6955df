#include "services/kubernetes/event_mirror.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/log.h"
#include "services/common/resource_name.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::Event;

constexpr absl::Duration kListRetry = absl::Seconds(2);
// How often it is asked whether one that was refused may be tried again.
constexpr absl::Duration kRefusedPoll = absl::Seconds(1);
// How often all that waits is looked over for what has waited for too long.
constexpr absl::Duration kLookOver = absl::Minutes(1);

void SetTime(absl::Time time, google::protobuf::Timestamp* out) {
  out->set_seconds(absl::ToUnixSeconds(time));
  out->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(out->seconds()))));
}

// An id that is another one at every moment.
std::string IdNow(absl::string_view object) {
  return absl::StrCat(object, "/", absl::ToUnixMicros(absl::Now()));
}

std::string EventNameOf(absl::string_view what, absl::string_view reason,
                        absl::string_view message) {
  return absl::StrCat("events/",
                      Sha256Hex(absl::StrCat(what, "/", reason, "/", message)).substr(0, 16));
}

// The event's id at the end of an EventName.
std::string IdOfName(absl::string_view name) {
  return std::string(name.substr(name.rfind('.') + 1));
}

// What the server will never take.
bool IsMalformed(const absl::Status& status) { return absl::IsInvalidArgument(status); }

// It may be about one event (a policy, a webhook that fails) or about all; a server that is
// overloaded or on its way out says so.
bool IsRefusal(const ApiError& error) {
  return error.code != 0 && error.code <= 500 && error.code != 429 &&
         error.retry_after == absl::ZeroDuration();
}

Event EventOfNode(const std::string& node) {
  Event event;
  event.set_object(absl::StrCat("nodes/", node));
  return event;
}

}  // namespace

EventMirror::EventMirror(Client* api, Metrics* metrics, Options options, const SteadyClock* clock)
    : api_(*api),
      metrics_(*metrics),
      clock_(*clock),
      options_(std::move(options)),
      pace_(options_.a_minute) {}

EventMirror::~EventMirror() { Stop(); }

void EventMirror::Put(const Event& event) {
  const absl::Time time = TimeOf(event.last_time());
  if (IsOver(event)) return;
  MutexLock lock(mutex_);
  DropOver();
  if (IsWritten(event)) return;
  const auto at = waiting_at_.find(event.name());
  if (at != waiting_at_.end()) {
    const auto waiting = waiting_.find(at->second);
    if (WrittenBy(event) < WrittenBy(waiting->second)) return;
    waiting_.erase(waiting);
  }
  const Key key = {backoff_.RefusalsOf(event.name()), event.type() != "Warning", time,
                   event.name()};
  waiting_at_[event.name()] = key;
  waiting_[key] = event;
  changed_.SignalAll();
}

void EventMirror::Tell(const NodePoolObject& object, const EventWord& word,
                       absl::string_view message) {
  Event event;
  event.set_object(absl::StrCat("nodePools/", object.name));
  event.set_pool_uid(object.uid);
  TellNow(std::move(event), IdNow(object.uid), word, message);
}

void EventMirror::TellOfNode(const std::string& node, const EventWord& word,
                             absl::string_view message) {
  TellNow(EventOfNode(node), IdNow(node), word, message);
}

void EventMirror::TellOfNodeOnce(const std::string& node, const EventWord& word,
                                 absl::string_view message) {
  {
    MutexLock lock(mutex_);
    once_.insert(EventNameOf(node, word.reason, message));
  }
  TellNow(EventOfNode(node), node, word, message);
}

void EventMirror::TellNow(Event event, const std::string& what, const EventWord& word,
                          absl::string_view message) {
  const absl::Time now = absl::Now();
  event.set_name(EventNameOf(what, word.reason, message));
  event.set_type(std::string(TextOf(word.type)));
  event.set_reason(std::string(word.reason));
  event.set_message(std::string(message));
  event.set_count(1);
  SetTime(now, event.mutable_first_time());
  SetTime(now, event.mutable_last_time());
  Put(event);
}

void EventMirror::Start() {
  threads_.emplace_back([this] { FindAndWrite(); });
  for (int i = 1; i < options_.writers; ++i) threads_.emplace_back([this] { WriteAll(); });
}

void EventMirror::Stop() {
  stopper_.Stop();
  {
    MutexLock lock(mutex_);
    changed_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

absl::Status EventMirror::FindWritten() {
  absl::flat_hash_map<std::string, Written> found;
  const auto listed = api_.List(
      kEventsPath, {{"fieldSelector", absl::StrCat("reportingController=", kReportingController)}},
      [&](const Json& event) {
        found[TextOf(MemberOf(event, "metadata", "name"))] = {EventLastTime(event),
                                                              EventCount(event)};
      });
  RETURN_IF_ERROR(listed.status());
  MutexLock lock(mutex_);
  for (const auto& [name, written] : found) {
    written_[name] = written;
    found_ids_.insert(IdOfName(name));
  }
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const bool done = IsWritten(it->second);
    if (done) waiting_at_.erase(it->second.name());
    it = done ? waiting_.erase(it) : std::next(it);
  }
  found_ = true;
  changed_.SignalAll();
  return absl::OkStatus();
}

bool EventMirror::IsWritten(const Event& event) const {
  if (once_.contains(event.name()) && found_ids_.contains(LastIdOf(event.name()))) return true;
  const auto written = written_.find(EventName(event));
  return written != written_.end() && !(written->second < WrittenBy(event));
}

EventMirror::Written EventMirror::WrittenBy(const Event& event) {
  const absl::Time time = TimeOf(event.last_time());
  return {absl::FromUnixMicros(absl::ToUnixMicros(time)), event.count()};
}

void EventMirror::Forget(absl::Time now) {
  if (written_.size() < trim_at_) return;
  absl::erase_if(written_,
                 [&](const auto& entry) { return now - entry.second.last_time > options_.keep; });
  // Young ones stay, however many: not each write is to look at all of them.
  trim_at_ = std::max(kTrimAt, 2 * written_.size());
}

EventMirror::Waiting::iterator EventMirror::FirstFree(Waiting::iterator from) {
  while (from != waiting_.end() && writing_.contains(from->second.name())) ++from;
  return from;
}

EventMirror::Waiting::iterator EventMirror::FindNext() {
  if (!found_) return waiting_.end();
  const absl::Duration now = clock_.Now();
  if (backoff_.RetryIsDue(now)) {
    const auto refused = FirstFree(waiting_.lower_bound(Key(1, false, absl::InfinitePast(), "")));
    if (refused != waiting_.end()) return refused;
  }
  const auto it = FirstFree(waiting_.begin());
  if (it == waiting_.end() || !WasRefused(it->first)) return it;
  // All that come after it were refused, too.
  return now < backoff_.retry_time() ? waiting_.end() : it;
}

void EventMirror::DropOver() {
  const absl::Duration now = clock_.Now();
  if (now - looked_over_ < std::min(kLookOver, options_.keep)) return;
  looked_over_ = now;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (!IsOver(it->second)) {
      ++it;
      continue;
    }
    backoff_.Dropped(it->second.name());
    waiting_at_.erase(it->second.name());
    it = waiting_.erase(it);
    metrics_.EventsDropped(1);
  }
}

void EventMirror::AwaitNext() {
  if (waiting_.empty()) return changed_.Wait(mutex_);
  changed_.WaitFor(mutex_, kRefusedPoll);
  DropOver();
}

bool EventMirror::Take(Event& event) {
  MutexLock lock(mutex_);
  while (true) {
    auto next = FindNext();
    for (; next == waiting_.end() && !stopper_.stopped(); next = FindNext()) AwaitNext();
    if (stopper_.stopped()) return false;
    event = std::move(next->second);
    const bool refused = WasRefused(next->first);
    waiting_at_.erase(event.name());
    waiting_.erase(next);
    if (IsOver(event)) {
      backoff_.Dropped(event.name());
      metrics_.EventsDropped(1);
      continue;
    }
    if (refused) backoff_.Trying(clock_.Now());
    writing_.insert(event.name());
    return true;
  }
}

absl::Duration EventMirror::WaitOf() {
  MutexLock lock(mutex_);
  const absl::Duration now = clock_.Now();
  return std::max(pace_.Take(now), backoff_.rest_until() - now);
}

absl::Status EventMirror::Write(const Event& event) {
  const std::string name = EventName(event);
  bool there = false;
  {
    MutexLock lock(mutex_);
    there = written_.contains(name);
  }
  const std::string path = absl::StrCat(kEventsPath, "/", name);
  absl::Status status = absl::NotFoundError("");
  if (there) status = api_.Patch(PatchType::kMerge, path, EventSeries(event)).status();
  if (absl::IsNotFound(status)) {
    const std::string machine(LastIdOf(event.object()));
    status = api_.Create(kEventsPath, EventObject(event, options_.node_of(machine),
                                                  options_.instance, options_.edition))
                 .status();
    // Written by an earlier process that did not live to see it.
    if (absl::IsAlreadyExists(status)) {
      status = event.count() > 1 ? api_.Patch(PatchType::kMerge, path, EventSeries(event)).status()
                                 : absl::OkStatus();
    }
  }
  RETURN_IF_ERROR(status);
  MutexLock lock(mutex_);
  written_[name] = WrittenBy(event);
  Forget(absl::Now());
  return absl::OkStatus();
}

void EventMirror::Note(const Event& event, const absl::Status& status) {
  const ApiError error = ErrorOf(status);
  MutexLock lock(mutex_);
  writing_.erase(event.name());
  changed_.SignalAll();
  if (status.ok()) return backoff_.Written(event.name());
  if (IsMalformed(status)) return backoff_.Dropped(event.name());
  if (!IsRefusal(error)) return backoff_.Away(clock_.Now(), error.retry_after);
  backoff_.Refused(event.name(), clock_.Now());
}

void EventMirror::End(const Event& event, const absl::Status& status) {
  Note(event, status);
  if (status.ok()) return metrics_.EventWritten();
  if (IsMalformed(status))
    return log::Error("an event was refused", {{"event", event.name()}, {"error", status}});
  TellOfFailure(event, status);
  if (!IsOver(event)) return Put(event);
  metrics_.EventsDropped(1);
  MutexLock lock(mutex_);
  backoff_.Dropped(event.name());
}

bool EventMirror::IsOver(const Event& event) const {
  return absl::Now() - TimeOf(event.last_time()) > options_.keep;
}

void EventMirror::TellOfFailure(const Event& event, const absl::Status& status) {
  // What passes is in the metrics.
  if (absl::IsUnavailable(status) || absl::IsCancelled(status) || absl::IsAborted(status)) return;
  const auto others = unwritten_.Tell(clock_.Now());
  if (!others) return;
  log::Warn("events cannot be written",
            {{"event", event.name()}, {"error", status}, {"others_not_told", *others}});
}

void EventMirror::FindAndWrite() {
  RepeatedFailure unlisted;
  for (absl::Status status = FindWritten(); !status.ok(); status = FindWritten()) {
    const auto others = absl::IsCancelled(status) ? std::nullopt : unlisted.Tell(clock_.Now());
    if (others) {
      log::Warn("events could not be listed", {{"error", status}, {"others_not_told", *others}});
    }
    if (!stopper_.Sleep(kListRetry)) return;
  }
  WriteAll();
}

void EventMirror::WriteAll() {
  Event event;
  while (Take(event)) {
    if (!stopper_.Sleep(WaitOf())) return;
    End(event, Write(event));
  }
}

}  // namespace muster::kubernetes
