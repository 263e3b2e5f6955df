#include "services/kubernetes/api/reflector.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/api/errors.h"

namespace muster::kubernetes {
namespace {

// Whether a watch that ended so can go on where it was. What the server said of the request itself
// will not be better the next time: then it is listed anew. So it is where nothing came in time,
// not even a bookmark: a server whose past was restored keeps silent until it is at that version
// again.
bool CanResume(const absl::Status& status) {
  return status.ok() || absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

absl::Duration SteadyNow() { return TheSteadyClock()->Now(); }

}  // namespace

Reflector::Reflector(Client* client, ReflectorOptions options, Sink* sink)
    : client_(*client),
      options_(std::move(options)),
      sink_(*sink),
      backoff_(options_.first_retry, options_.last_retry) {}

Reflector::~Reflector() { Stop(); }

void Reflector::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Reflector::Stop() {
  stopper_.Stop();
  if (thread_.joinable()) thread_.join();
}

bool Reflector::synced() const { return lists() > 0; }

int64_t Reflector::lists() const {
  MutexLock lock(mutex_);
  return lists_;
}

void Reflector::Run() {
  while (!stopper_.stopped()) {
    const bool listing = resource_version_.empty();
    const std::string before = resource_version_;
    const absl::Duration begin = SteadyNow();
    const absl::Status status = listing ? ListOnce() : WatchOnce();
    if (absl::IsCancelled(status)) return;
    // A list alone is no success: what it brought may be gone before the watch gets there. A watch
    // that was quiet for longer than the pause before it is one, however it ended.
    const bool lasted = SteadyNow() - begin > backoff_.longest_next();
    if (!listing && (lasted || resource_version_ != before)) backoff_.Reset();
    if (status.ok() && (listing || resource_version_ != before)) continue;
    if (!status.ok()) {
      log::Warn(listing ? "list failed" : "watch ended",
                {{"path", options_.path}, {"error", status}});
    }
    if (!listing && !CanResume(status)) resource_version_.clear();
    if (!stopper_.Sleep(backoff_.Next(ErrorOf(status).retry_after))) return;
  }
}

absl::Status Reflector::Confirm() const {
  return options_.confirm ? options_.confirm() : absl::OkStatus();
}

absl::Status Reflector::CheckAge(const std::string& version) {
  if (!IsOlder(version, newest_)) return absl::OkStatus();
  if (!older_since_) older_since_ = SteadyNow();
  return absl::UnavailableError(absl::StrCat("GET ", options_.path, ": the list is of version ",
                                             version, ", older than ", newest_,
                                             ", which was seen"));
}

absl::Status Reflector::ListOnce() {
  RETURN_IF_ERROR(Confirm());
  sink_.BeginList();
  const bool anew = older_since_ && SteadyNow() - *older_since_ >= options_.believe_older_after;
  if (anew) {
    log::Warn("the server has gone back to an earlier time", {{"path", options_.path}});
    sink_.BeginAnew();
    newest_.clear();
  }
  ASSIGN_OR_RETURN(std::string version,
                   client_.List(options_.path, options_.parameters,
                                [this](Json object) { sink_.PutListed(object); }));
  RETURN_IF_ERROR(CheckAge(version));
  RETURN_IF_ERROR(Confirm());
  sink_.EndList(version);
  older_since_.reset();
  newest_ = version;
  resource_version_ = std::move(version);
  MutexLock lock(mutex_);
  ++lists_;
  return absl::OkStatus();
}

absl::Status Reflector::WatchOnce() {
  RETURN_IF_ERROR(Confirm());
  return client_.Watch(options_.path, options_.parameters, resource_version_,
                       [this](absl::string_view type, const Json& object) {
                         if (type == "DELETED") {
                           sink_.Remove(object);
                         } else if (type != "BOOKMARK") {
                           sink_.Put(object);
                         }
                         const absl::string_view version =
                             TextOf(MemberOf(object, "metadata", "resourceVersion"));
                         if (!version.empty()) resource_version_ = std::string(version);
                         if (!IsOlder(resource_version_, newest_)) newest_ = resource_version_;
                         return !stopper_.stopped();
                       });
}

}  // namespace muster::kubernetes
