#include "services/kubernetes/event_mirror.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/log.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::Event;

constexpr absl::Duration kRetry = absl::Seconds(2);
// Memory of what was written is trimmed when it has grown to so much.
constexpr size_t kTrimAt = 50'000;

void SetTime(absl::Time time, google::protobuf::Timestamp* out) {
  out->set_seconds(absl::ToUnixSeconds(time));
  out->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(out->seconds()))));
}

// Another one at every moment.
std::string IdNow(absl::string_view object) {
  return absl::StrCat(object, "/", absl::ToUnixMicros(absl::Now()));
}

Event EventOfNode(const std::string& node) {
  Event event;
  event.set_object(absl::StrCat("nodes/", node));
  return event;
}

}  // namespace

EventMirror::EventMirror(Client* api, Metrics* metrics, Options options)
    : api_(*api), metrics_(*metrics), options_(std::move(options)) {}

EventMirror::~EventMirror() { Stop(); }

void EventMirror::Put(const Event& event) {
  const absl::Time time = TimeOf(event.last_time());
  if (absl::Now() - time > options_.keep) return;
  MutexLock lock(mutex_);
  const auto written = written_.find(EventName(event));
  if (written != written_.end() && written->second.count >= event.count()) return;
  const auto since = waiting_since_.find(event.name());
  if (since != waiting_since_.end()) {
    const auto waiting = waiting_.find({since->second, event.name()});
    if (waiting->second.count() > event.count()) return;
    waiting_.erase(waiting);
  }
  waiting_since_[event.name()] = time;
  waiting_[{time, event.name()}] = event;
  changed_.Signal();
}

void EventMirror::Tell(const NodePoolObject& object, absl::string_view type,
                       absl::string_view reason, absl::string_view message) {
  Event event;
  event.set_object(absl::StrCat("nodePools/", object.name));
  event.set_pool_uid(object.uid);
  TellNow(std::move(event), IdNow(object.uid), type, reason, message);
}

void EventMirror::TellOfNode(const std::string& node, absl::string_view type,
                             absl::string_view reason, absl::string_view message) {
  TellNow(EventOfNode(node), IdNow(node), type, reason, message);
}

void EventMirror::TellOfNodeOnce(const std::string& node, absl::string_view type,
                                 absl::string_view reason, absl::string_view message) {
  TellNow(EventOfNode(node), node, type, reason, message);
}

void EventMirror::TellNow(Event event, const std::string& id, absl::string_view type,
                          absl::string_view reason, absl::string_view message) {
  const absl::Time now = absl::Now();
  const std::string hash = Sha256Hex(absl::StrCat(id, "/", reason, "/", message)).substr(0, 16);
  event.set_name(absl::StrCat("events/", hash));
  event.set_type(std::string(type));
  event.set_reason(std::string(reason));
  event.set_message(std::string(message));
  event.set_count(1);
  SetTime(now, event.mutable_first_time());
  SetTime(now, event.mutable_last_time());
  Put(event);
}

void EventMirror::Start() {
  thread_ = std::thread([this] { Run(); });
}

void EventMirror::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

bool EventMirror::Sleep(absl::Duration time) {
  MutexLock lock(mutex_);
  const absl::Time end = absl::Now() + time;
  for (absl::Time now = absl::Now(); !stopped_ && now < end; now = absl::Now())
    changed_.WaitFor(mutex_, end - now);
  return !stopped_;
}

absl::Status EventMirror::FindWritten() {
  absl::flat_hash_map<std::string, int64_t> found;
  const auto listed = api_.List(
      kEventsPath, {{"fieldSelector", absl::StrCat("reportingController=", kReportingController)}},
      [&](const Json& event) { found[event["metadata"].value("name", "")] = EventCount(event); });
  RETURN_IF_ERROR(listed.status());
  MutexLock lock(mutex_);
  for (const auto& [name, count] : found) written_[name] = {count, absl::Now()};
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto written = written_.find(EventName(it->second));
    const bool done = written != written_.end() && written->second.count >= it->second.count();
    if (done) waiting_since_.erase(it->first.second);
    it = done ? waiting_.erase(it) : std::next(it);
  }
  return absl::OkStatus();
}

void EventMirror::Forget(absl::Time now) {
  if (written_.size() < kTrimAt) return;
  absl::erase_if(written_,
                 [&](const auto& entry) { return now - entry.second.last_time > options_.keep; });
}

bool EventMirror::Take(Event& event) {
  MutexLock lock(mutex_);
  while (true) {
    while (waiting_.empty() && !stopped_) changed_.Wait(mutex_);
    if (stopped_) return false;
    event = std::move(waiting_.begin()->second);
    waiting_since_.erase(event.name());
    waiting_.erase(waiting_.begin());
    if (absl::Now() - TimeOf(event.last_time()) <= options_.keep) return true;
    metrics_.EventsDropped(1);
  }
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
    const std::string machine = LastPart(event.object());
    status = api_.Create(kEventsPath, EventObject(event, options_.node_uid(machine),
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
  Written& written = written_[name];
  written = {std::max(written.count, event.count()), TimeOf(event.last_time())};
  Forget(absl::Now());
  return absl::OkStatus();
}

void EventMirror::Run() {
  for (absl::Status status = FindWritten(); !status.ok(); status = FindWritten()) {
    if (!absl::IsCancelled(status)) log::Warn("events could not be listed", {{"error", status}});
    if (!Sleep(kRetry)) return;
  }
  const double most = std::max(1.0, options_.a_minute / 10.0);  // at once
  tokens_ = most;
  tokens_time_ = absl::Now();
  Event event;
  while (Take(event)) {
    const absl::Time now = absl::Now();
    const double a_second = options_.a_minute / 60.0;
    tokens_ = std::min(most, tokens_ + a_second * absl::ToDoubleSeconds(now - tokens_time_));
    tokens_time_ = now;
    if (tokens_ < 1 && !Sleep(absl::Seconds((1 - tokens_) / a_second))) return;
    tokens_ -= 1;
    const absl::Status status = Write(event);
    if (status.ok()) {
      metrics_.EventWritten();
      continue;
    }
    // What the server will never take is told once, and is not in the way of others.
    if (absl::IsInvalidArgument(status)) {
      log::Error("an event was refused", {{"event", event.name()}, {"error", status}});
      continue;
    }
    Put(event);
    if (!Sleep(std::max(kRetry, ErrorOf(status).retry_after))) return;
  }
}

}  // namespace muster::kubernetes
