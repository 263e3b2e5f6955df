#include "tests/kubernetes/fake_api_server/fake_api_server.h"

#include <httplib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/mutex.h"
#include "tests/kubernetes/fake_api_server/http_listener.h"
#include "tests/kubernetes/fake_api_server/lists.h"
#include "tests/kubernetes/fake_api_server/refusal.h"
#include "tests/kubernetes/fake_api_server/watch_cursor.h"

namespace muster::testing {
namespace {

Refusal RefusalBy(const Failure& failure) {
  Refusal refusal = RefusalOf(failure.code, failure.retry_after);
  if (!failure.message.empty()) refusal.message = failure.message;
  return refusal;
}

// Told apart from plain `application/json`, which httplib would compress: it holds back what it
// compresses, and a watch must not wait.
constexpr char kContentType[] = "application/json;charset=utf-8";
constexpr absl::Duration kAttention =
    absl::Milliseconds(100);  // how soon a watch sees its client go
constexpr absl::Duration kReorderWindow = absl::Milliseconds(20);

Call CallOf(const httplib::Request& request) {
  Call call{request.method,
            request.path,
            {request.params.begin(), request.params.end()},
            request.get_header_value("Content-Type"),
            request.get_header_value("User-Agent"),
            request.body};
  call.content_type = call.content_type.substr(0, call.content_type.find(';'));
  return call;
}

bool IsWatch(const Call& call) {
  const std::string watch = call.parameter("watch");
  return watch == "true" || watch == "1";
}

std::string VerbOf(const Call& call, const Target& target) {
  if (call.method != "GET" || !target.name.empty()) return call.method;
  return IsWatch(call) ? "WATCH" : "LIST";
}

void SetReply(httplib::Response& response, int code, const std::string& body) {
  response.status = code;
  response.set_content(body, kContentType);
}

void SetRefusal(httplib::Response& response, const Refusal& refusal) {
  if (refusal.retry_after > 0)
    response.set_header("Retry-After", absl::StrCat(refusal.retry_after));
  SetReply(response, refusal.code, StatusBody(refusal).dump());
}

// One watch under way.
struct Stream {
  WatchCursor cursor;
  const Resource& resource;
  absl::Time begin = {};
  absl::Time end = absl::InfiniteFuture();
  bool has_bookmarks = false;
  absl::Time last_bookmark = {};
};

}  // namespace

struct FakeApiServer::Impl {
  void Handle(const httplib::Request& request, httplib::Response& response);
  // Sets `verb` once the path tells it.
  void Answer(const Call& call, std::string& verb, httplib::Response& response);
  void AnswerKnown(const Call& call, const Target& target, const std::string& verb,
                   httplib::Response& response);
  Reply CarryOut(const Call& call, const Target& target, const std::string& verb)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  std::optional<Failure> NextFailure(const std::string& verb, const Call& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // As long as the misbehaviour has it.
  void HoldUp(const std::string& verb, const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void AnswerList(const Call& call, const Target& target, httplib::Response& response);
  void BeginWatch(const Call& call, const Target& target, httplib::Response& response);
  // What a reader has seen of a write was recorded before: waits for what is being answered.
  void AwaitRecorded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // False: the stream is cut.
  bool Step(Stream& stream, httplib::DataSink& sink);
  bool Advance(Stream& stream, std::string& lines, bool& is_over)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void AwaitChange(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  mutable Mutex mutex = {};
  CondVar released = {};  // not hanging any more, or closing
  CondVar never = {};
  CondVar recorded = {};  // no request is being answered
  absl::BitGen random MUSTER_GUARDED_BY(mutex) = {};
  Store store MUSTER_GUARDED_BY(mutex) = {};
  Registry registry MUSTER_GUARDED_BY(mutex) = Registry(store);
  Lists lists MUSTER_GUARDED_BY(mutex) = {};
  Misbehaviour misbehaviour MUSTER_GUARDED_BY(mutex) = {};
  std::vector<Failure> failures MUSTER_GUARDED_BY(mutex) = {};
  std::vector<std::string> vanishing MUSTER_GUARDED_BY(mutex) = {};  // paths
  std::vector<RecordedRequest> requests MUSTER_GUARDED_BY(mutex) = {};
  int being_answered MUSTER_GUARDED_BY(mutex) = 0;
  bool is_hanging MUSTER_GUARDED_BY(mutex) = false;
  bool is_closing MUSTER_GUARDED_BY(mutex) = false;
  HttpListener listener =
      HttpListener([this](const httplib::Request& request, httplib::Response& response) {
        Handle(request, response);
      });
};

void FakeApiServer::Impl::Handle(const httplib::Request& request, httplib::Response& response) {
  {
    const MutexLock lock(mutex);
    while (is_hanging && !is_closing) released.Wait(mutex);
    if (is_closing) return SetRefusal(response, RefusalOf(503, 0));
    ++being_answered;
  }
  const Call call = CallOf(request);
  std::string verb = call.method;
  try {
    Answer(call, verb, response);
  } catch (const Refusal& refusal) {
    SetRefusal(response, refusal);
  } catch (const Json::exception& failed) {
    SetRefusal(response, BadRequest(failed.what()));
  }
  const MutexLock lock(mutex);
  requests.push_back({std::move(verb), call.path, response.status, call.user_agent});
  if (--being_answered == 0) recorded.SignalAll();
}

void FakeApiServer::Impl::AwaitRecorded() {
  while (being_answered > 0) recorded.Wait(mutex);
}

void FakeApiServer::Impl::Answer(const Call& call, std::string& verb, httplib::Response& response) {
  if (call.path == "/readyz" || call.path == "/livez" || call.path == "/healthz") {
    response.status = 200;
    return response.set_content("ok", "text/plain");
  }
  if (call.path == "/version")
    return SetReply(response, 200, R"({"major":"1","minor":"36","gitVersion":"v1.36.2-double"})");
  const Target target = ParsePath(call.path);
  verb = VerbOf(call, target);
  AnswerKnown(call, target, verb, response);
}

void FakeApiServer::Impl::AnswerKnown(const Call& call, const Target& target,
                                      const std::string& verb, httplib::Response& response) {
  std::optional<Failure> failure;
  {
    const MutexLock lock(mutex);
    failure = NextFailure(verb, call);
  }
  if (failure && !failure->is_carried_out) throw RefusalBy(*failure);
  if (verb == "LIST") {
    AnswerList(call, target, response);
  } else if (verb == "WATCH") {
    BeginWatch(call, target, response);
  } else {
    Reply reply;
    {
      const MutexLock lock(mutex);
      HoldUp(verb, call.path);
      reply = CarryOut(call, target, verb);
    }
    SetReply(response, reply.code, reply.body);
  }
  if (failure) SetRefusal(response, RefusalBy(*failure));
}

Reply FakeApiServer::Impl::CarryOut(const Call& call, const Target& target,
                                    const std::string& verb) {
  if (verb == "GET") return registry.Get(target);
  const auto doomed = std::find(vanishing.begin(), vanishing.end(), call.path);
  if (verb == "PATCH" && doomed != vanishing.end()) {
    vanishing.erase(doomed);
    registry.Vanish(target);
  }
  return registry.Write(call, target);
}

std::optional<Failure> FakeApiServer::Impl::NextFailure(const std::string& verb, const Call& call) {
  for (auto failure = failures.begin(); failure != failures.end(); ++failure) {
    if (!failure->verb.empty() && failure->verb != verb) continue;
    if (!absl::StartsWith(call.path, failure->path_prefix)) continue;
    if (!absl::StrContains(call.body, failure->body_contains)) continue;
    Failure found = *failure;
    if (--failure->count <= 0) failures.erase(failure);
    return found;
  }
  return std::nullopt;
}

void FakeApiServer::Impl::HoldUp(const std::string& verb, const std::string& path) {
  if (verb == "GET") return;
  const absl::Time begin = absl::Now();
  absl::Time now = begin;
  while (!is_closing && now < begin + misbehaviour.slow_writes &&
         absl::StrContains(path, misbehaviour.slow_part)) {
    released.WaitFor(mutex, begin + misbehaviour.slow_writes - now);
    now = absl::Now();
  }
}

void FakeApiServer::Impl::AnswerList(const Call& call, const Target& target,
                                     httplib::Response& response) {
  ListPage page;
  {
    const MutexLock lock(mutex);
    page = lists.Take(store, call, target, misbehaviour.stale_lists);
  }
  SetReply(response, 200, Render(*target.resource, page));
}

void FakeApiServer::Impl::BeginWatch(const Call& call, const Target& target,
                                     httplib::Response& response) {
  int64_t position = 0;
  if (const std::string version = call.parameter("resourceVersion");
      !version.empty() && !absl::SimpleAtoi(version, &position)) {
    throw BadRequest(absl::StrCat("invalid resource version: ", version));
  }
  double timeout = 0;
  const absl::Time now = absl::Now();
  auto stream = std::make_shared<Stream>(
      Stream{WatchCursor(*target.resource,
                         Selection(*target.resource, target.space, call.parameter("labelSelector"),
                                   call.parameter("fieldSelector")),
                         target.space, position),
             *target.resource, now});
  if (absl::SimpleAtod(call.parameter("timeoutSeconds"), &timeout) && timeout > 0)
    stream->end = now + absl::Seconds(timeout);
  stream->has_bookmarks = call.parameter("allowWatchBookmarks") == "true";
  stream->last_bookmark = now;
  response.status = 200;
  response.set_chunked_content_provider(
      kContentType,
      [this, stream](size_t, httplib::DataSink& sink) { return Step(*stream, sink); });
}

void FakeApiServer::Impl::AwaitChange(Stream& stream) {
  if (is_hanging) return released.WaitFor(mutex, kAttention);
  const bool is_level = stream.cursor.position() >= store.version() ||
                        (stream.cursor.position() > 0 &&
                         stream.cursor.position() >= store.compacted(stream.resource) &&
                         store.Since(stream.resource, stream.cursor.position()).empty());
  if (is_level) store.changed(stream.resource).WaitFor(mutex, kAttention);
  if (misbehaviour.reorder_events > 0) never.WaitFor(mutex, kReorderWindow);
}

bool FakeApiServer::Impl::Advance(Stream& stream, std::string& lines, bool& is_over) {
  AwaitChange(stream);
  const absl::Time now = absl::Now();
  const absl::Duration life = misbehaviour.cut_streams;
  if (is_closing || (life > absl::ZeroDuration() && now >= stream.begin + life)) return false;
  if (is_hanging) return true;
  is_over = !stream.cursor.Take(store, misbehaviour, random, lines);
  const bool is_last = now >= stream.end;
  if (!is_over && stream.has_bookmarks &&
      (is_last || now >= stream.last_bookmark + misbehaviour.bookmark_interval)) {
    lines += stream.cursor.Bookmark();
    stream.last_bookmark = now;
  }
  is_over = is_over || is_last;
  return true;
}

bool FakeApiServer::Impl::Step(Stream& stream, httplib::DataSink& sink) {
  std::string lines;
  bool is_over = false;
  {
    const MutexLock lock(mutex);
    if (!Advance(stream, lines, is_over)) return false;
  }
  if (!lines.empty() && !sink.write(lines.data(), lines.size())) return false;
  if (is_over) sink.done();
  return true;
}

FakeApiServer::FakeApiServer() : impl_(std::make_unique<Impl>()) { impl_->listener.Open(); }

FakeApiServer::~FakeApiServer() { SetRefusing(true); }

std::string FakeApiServer::url() const {
  return absl::StrCat("http://127.0.0.1:", impl_->listener.port());
}

void FakeApiServer::Set(const Misbehaviour& misbehaviour) {
  const MutexLock lock(impl_->mutex);
  impl_->misbehaviour = misbehaviour;
  impl_->released.SignalAll();
}

void FakeApiServer::FailNext(const Failure& failure) {
  const MutexLock lock(impl_->mutex);
  impl_->failures.push_back(failure);
}

void FakeApiServer::FailNoMore() {
  const MutexLock lock(impl_->mutex);
  impl_->failures.clear();
}

void FakeApiServer::DeleteDuringNextPatch(absl::string_view path) {
  const MutexLock lock(impl_->mutex);
  impl_->vanishing.emplace_back(path);
}

void FakeApiServer::CompactHistory() {
  const MutexLock lock(impl_->mutex);
  impl_->store.Compact();
  impl_->lists.Forget();
}

Store::Backup FakeApiServer::Save() const {
  const MutexLock lock(impl_->mutex);
  return impl_->store.Save();
}

void FakeApiServer::Restore(const Store::Backup& backup) {
  const MutexLock lock(impl_->mutex);
  impl_->store.Restore(backup);
  impl_->lists.Forget();
}

void FakeApiServer::SetHanging(bool is_hanging) {
  const MutexLock lock(impl_->mutex);
  impl_->is_hanging = is_hanging;
  impl_->released.SignalAll();
}

void FakeApiServer::SetRefusing(bool is_refusing) {
  {
    const MutexLock lock(impl_->mutex);
    impl_->is_closing = is_refusing;
    impl_->released.SignalAll();
    impl_->store.SignalAll();
  }
  if (is_refusing) {
    impl_->listener.Close();
  } else {
    impl_->listener.Open();
  }
}

int64_t FakeApiServer::version() const {
  const MutexLock lock(impl_->mutex);
  return impl_->store.version();
}

std::vector<RecordedRequest> FakeApiServer::requests() const {
  const MutexLock lock(impl_->mutex);
  impl_->AwaitRecorded();
  return impl_->requests;
}

void FakeApiServer::ClearRequests() {
  const MutexLock lock(impl_->mutex);
  impl_->AwaitRecorded();
  impl_->requests.clear();
}

int64_t FakeApiServer::WritesBy(absl::string_view user_agent_prefix,
                                absl::string_view except) const {
  const MutexLock lock(impl_->mutex);
  impl_->AwaitRecorded();
  return std::count_if(
      impl_->requests.begin(), impl_->requests.end(), [&](const RecordedRequest& request) {
        return request.verb != "GET" && request.verb != "LIST" && request.verb != "WATCH" &&
               absl::StartsWith(request.user_agent, user_agent_prefix) &&
               (except.empty() || !absl::StrContains(request.path, except));
      });
}

PodCounts FakeApiServer::CountsOf(absl::string_view pod_uid) const {
  const MutexLock lock(impl_->mutex);
  return impl_->registry.counts(std::string(pod_uid));
}

}  // namespace muster::testing
