#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>
#include <muster/type/v1/watch.pb.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/client/begins_within.h"
#include "services/client/stream_retries.h"
#include "services/common/steady_clock.h"
#include "services/common/stopper.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/client/resume_point.h"
#include "services/rpc/status.h"

namespace muster::client {

struct WatchOptions {
  // The first message must come within this; 0: the client's timeout.
  absl::Duration begins_within = absl::ZeroDuration();
  bool resumes = true;  // false: it ends with its first stream
  absl::Duration first_retry = absl::Milliseconds(200);
  absl::Duration last_retry = absl::Seconds(5);
  // Called when a stream that had brought messages broke, before the next is opened.
  std::function<void(const absl::Status& end)> broke = {};
};

// The messages of a watch, one after the other, over as many streams as it takes. After a stream
// that breaks, the next goes on after the last revision, with nothing left out and nothing twice.
// If it broke within its snapshot, or the server no longer knows the revision (OUT_OF_RANGE), the
// next begins with a snapshot: begins_snapshot() says so, and resources that are not told from
// there to its SNAPSHOT_END are gone. The watch ends, see status(), when it does not begin in time,
// when the server refuses it, and after Stop. One thread reads; any may call Stop.
template <class Response>
class Watch {
 public:
  using Reader = std::unique_ptr<grpc::ClientReader<Response>>;
  using Open =
      std::function<Reader(grpc::ClientContext& context, const type::v1::WatchStart& start)>;

  Watch(type::v1::WatchStart start, Open open, WatchOptions options)
      : start_(std::move(start)),
        open_(std::move(open)),
        options_(std::move(options)),
        retries_(options_.first_retry, options_.last_retry),
        until_(TheSteadyClock()->Now() + options_.begins_within) {
    start_.set_bundle(true);
  }
  ~Watch() {
    Stop();
    if (reader_ != nullptr) (void)EndStream();
  }

  // Blocks until there is a message, in message(). False: it ended.
  bool Next() {
    if (NextOfBundle()) return true;
    while (status_.ok() && !stopper_.stopped()) {
      if (reader_ == nullptr) OpenStream();
      if (reader_->Read(&read_)) {
        Heard();
        return true;
      }
      const absl::Status end = EndStream();
      if (!AwaitNext(end)) status_ = end;
    }
    if (status_.ok()) status_ = absl::CancelledError("the watch was stopped");
    return false;
  }
  // The message of the last Next. Its bundle is to be ignored: Next returns each message of it by
  // itself.
  const Response& message() const { return *message_; }
  // Whether a snapshot begins with that message: all that was told before it is void.
  bool begins_snapshot() const { return begins_snapshot_; }
  // Why it ended; OK: it did not.
  const absl::Status& status() const { return status_; }
  // Ends it, and keeps it ended.
  void Stop() {
    stopper_.Stop();
    calls_.Stop();
  }

  // Each step is a Next.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Response;
    using difference_type = std::ptrdiff_t;
    using pointer = const Response*;
    using reference = const Response&;

    explicit Iterator(Watch* watch) : watch_(watch) { ++*this; }
    Iterator() = default;
    reference operator*() const { return watch_->message(); }
    pointer operator->() const { return &watch_->message(); }
    Iterator& operator++() {
      if (!watch_->Next()) watch_ = nullptr;
      return *this;
    }
    bool operator==(const Iterator& other) const { return watch_ == other.watch_; }

   private:
    Watch* watch_ = nullptr;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(); }

 private:
  bool NextOfBundle() {
    if (at_ >= read_.bundle_size()) return false;
    message_ = &read_.bundle(at_++);
    begins_snapshot_ = false;
    return true;
  }
  void Heard() {
    begins_snapshot_ = !heard_ && from_start_;
    heard_ = true;
    if (limit_) limit_->Begun();
    retries_.Heard();
    // With its bundle, all of which Next returns before another stream is opened.
    point_.Take(read_);
    message_ = &read_;
    at_ = 0;
  }

  void OpenStream() {
    type::v1::WatchStart start = start_;
    point_.WriteTo(start);
    context_.emplace(calls_);
    heard_ = false;
    from_start_ = !start.has_after_revision();
    // A stream that goes on after a revision may have nothing to say for long.
    if (from_start_) limit_.emplace(options_.begins_within, **context_);
    reader_ = open_(**context_, start);
  }
  // Returns why the stream ended, and drops what was not read of it.
  absl::Status EndStream() {
    for (Response rest; reader_->Read(&rest);) {
    }
    const grpc::Status status = reader_->Finish();
    const bool late = limit_ && limit_->late();
    limit_.reset();
    reader_.reset();
    context_.reset();
    if (late) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer within ", absl::FormatDuration(options_.begins_within)));
    }
    return status.ok() ? absl::UnavailableError("the server ended the watch")
                       : rpc::FromGrpcStatus(status);
  }
  // Waits until the next stream is due. False: there is none.
  bool AwaitNext(const absl::Status& end) {
    if (!options_.resumes) return false;
    const auto pause = retries_.PauseAfter(end, until_ - TheSteadyClock()->Now());
    if (!pause) return false;
    if (absl::IsOutOfRange(end)) Forget();
    if (heard_ && options_.broke) options_.broke(end);
    return stopper_.Sleep(*pause);
  }
  void Forget() {
    point_.Forget();
    start_.clear_after_revision();
    start_.clear_incarnation();
    start_.clear_view();
  }

  type::v1::WatchStart start_;
  const Open open_;
  const WatchOptions options_;
  rpc::ResumePoint point_;
  StreamRetries retries_;
  const absl::Duration until_;  // by the steady clock: the first message of all
  bool heard_ = false;          // anything on this stream
  bool from_start_ = false;     // this stream begins with a snapshot
  bool begins_snapshot_ = false;
  absl::Status status_;
  rpc::Calls calls_;
  Stopper stopper_;
  std::optional<rpc::Calls::Context> context_;
  std::optional<BeginsWithin> limit_;
  Reader reader_;
  Response read_;
  int at_ = 0;  // in its bundle
  const Response* message_ = &read_;
};

}  // namespace muster::client
