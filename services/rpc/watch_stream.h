#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <muster/type/v1/watch.pb.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "services/access/caller.h"
#include "services/common/cause.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/rpc/dispatch.h"
#include "services/rpc/limits.h"
#include "services/rpc/open_writes.h"
#include "services/rpc/status.h"
#include "services/rpc/stream_registry.h"

// Server streams that show a watch.
//
//   grpc::ServerWriteReactor<WatchQuotasResponse>* WatchQuotas(grpc::CallbackServerContext*
//   context,
//                                                              const WatchQuotasRequest* request)
//                                                              override {
//     auto options = ToWatchOptions(request->start(), TurnOf(*context));
//     if (!options.ok()) return rpc::FailStream<WatchQuotasResponse>(context, options.status());
//     return rpc::WatchStream<WatchQuotasResponse>(context, lane_.Watch(*options),
//     &ToWatchQuotasResponse, request->start());
//   }
namespace muster::rpc {
namespace internal {

// Pumps a watcher into a stream: one message under way at a time, the next is taken when it has
// gone out, so that a slow reader fills the watcher's queue and not our memory. Owns itself until
// gRPC is done with it.
//
//            Next() has one                    OnWriteDone
//   idle ───────────────────────► writing ─────────────────────► idle
//     │ nothing: NotifyWhenReady ─► idle
//     │ Ended(), End(), client gone ─► finished (after the write under way) ─► OnDone
template <class Response, class Watcher, class Convert>
class WatchReactor final
    : public grpc::ServerWriteReactor<Response>,
      public OpenStream,
      public std::enable_shared_from_this<WatchReactor<Response, Watcher, Convert>> {
 public:
  WatchReactor(grpc::CallbackServerContext& context, Dispatch dispatch,
               std::shared_ptr<Watcher> watcher, Convert convert, const type::v1::WatchStart& start)
      : core_(dispatch.core),
        place_(std::move(dispatch.place)),
        accounting_(context, dispatch),
        write_(dispatch.method == nullptr ? nullptr : &dispatch.method->writes()),
        watcher_(std::move(watcher)),
        convert_(std::move(convert)),
        bundle_(start.bundle()),
        view_(access::ViewOf(caller() == nullptr ? nullptr : caller()->narrowed_to.get())) {
    // A watch that does not resume begins with a snapshot of what is seen now.
    const bool resumes = start.has_after_revision();
    if (resumes && !start.view().empty() && start.view() != view_) end_ = Guard::Outdated();
  }

  void Start() {
    self_ = this->shared_from_this();
    this->StartSendInitialMetadata();
    if (core_ != nullptr) {
      core_->open.Enter();
      if (const auto ended = core_->streams.Add(self_)) return End(*ended);
      // The policy may have changed while nobody knew of the stream.
      if (caller() != nullptr && core_->guard.IsOutdated(*caller())) return End(Guard::Outdated());
    }
    Pump();
  }

  void End(const absl::Status& status) override {
    {
      MutexLock lock(mutex_);
      if (!end_) end_ = status;
    }
    Pump();
  }

  void OnWriteDone(bool ok) override {
    write_.Ended();
    {
      MutexLock lock(mutex_);
      writing_ = false;
      if (!ok && !end_) end_ = absl::CancelledError("The client is gone.");
    }
    Pump();
  }

  void OnCancel() override { End(absl::CancelledError("The client is gone.")); }
  const access::Caller* caller() const override { return accounting_.caller().get(); }

  void OnDone() override {
    watcher_->Cancel();
    write_.Leave();
    place_ = CallerLimits::Place();
    if (core_ != nullptr) {
      core_->streams.Remove(this);
      core_->open.Leave();
    }
    self_.reset();
  }

 private:
  // Called from any thread, also from within itself (a watcher may call back at once). One thread
  // pumps; the others tell it to look again.
  void Pump() {
    const auto alive = this->shared_from_this();
    {
      MutexLock lock(mutex_);
      again_ = true;
      if (pumping_) return;
      pumping_ = true;
    }
    for (;;) {
      std::optional<absl::Status> end;
      {
        MutexLock lock(mutex_);
        if (!again_ || writing_ || finished_) {
          pumping_ = false;
          return;
        }
        again_ = false;
        end = end_;
        finished_ = end.has_value();
      }
      if (end) {
        Finish(*end);
      } else {
        Step();
      }
    }
  }

  // Sends the next message, if any. Called by the thread that pumps, with no write under way.
  void Step() {
    try {
      if (auto item = watcher_->Next()) {
        Response response = ToResponse(*item);
        if (bundle_) Bundle(response);
        return Write(std::move(response));
      }
    } catch (const std::exception& e) {
      return EndFromStep(LogThrown(accounting_, e.what()));
    }
    if (const std::optional<absl::Status> ended = watcher_->Ended()) return EndFromStep(*ended);
    watcher_->NotifyWhenReady([weak = this->weak_from_this()] {
      if (const auto self = weak.lock()) self->Pump();
    });
  }

  template <class Item>
  Response ToResponse(const Item& item) {
    Response response = convert_(item);
    if (!response.incarnation().empty()) response.set_view(view_);
    return response;
  }

  // Adds what else is ready.
  void Bundle(Response& response) {
    size_t bytes = response.ByteSizeLong();
    for (int i = 0; i < kMaxBundle && bytes < kMaxBundleBytes; ++i) {
      const auto item = watcher_->Next();
      if (!item) return;
      Response& next = *response.add_bundle();
      next = ToResponse(*item);
      bytes += next.ByteSizeLong();
    }
  }

  void Write(Response response) {
    response_ = std::move(response);
    {
      MutexLock lock(mutex_);
      writing_ = true;
    }
    accounting_.Sent();
    write_.Began(TheSteadyClock()->Now());
    this->StartWrite(&response_);
  }

  void EndFromStep(const absl::Status& status) {
    MutexLock lock(mutex_);
    if (!end_) end_ = status;
    again_ = true;
  }

  void Finish(const absl::Status& status) {
    watcher_->Cancel();
    grpc::Status converted = ToGrpcStatus(status);
    accounting_.Handled(converted.error_code(), converted.error_message(), error::CauseOf(status));
    grpc::ServerWriteReactor<Response>::Finish(std::move(converted));
  }

  ServerCore* const core_;
  CallerLimits::Place place_;
  Accounting accounting_;
  OpenWrites::Stream write_;
  const std::shared_ptr<Watcher> watcher_;
  Convert convert_;
  const bool bundle_;
  const std::string view_;
  Response response_;  // of the pumping thread while no write is under way, then gRPC's

  Mutex mutex_;
  bool pumping_ MUSTER_GUARDED_BY(mutex_) = false;
  bool again_ MUSTER_GUARDED_BY(mutex_) = false;
  bool writing_ MUSTER_GUARDED_BY(mutex_) = false;
  bool finished_ MUSTER_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ MUSTER_GUARDED_BY(mutex_);
  std::shared_ptr<WatchReactor> self_;
};

// Ends a stream at once, with the reason why there is none.
template <class Response>
class FailedReactor final : public grpc::ServerWriteReactor<Response> {
 public:
  FailedReactor(grpc::CallbackServerContext& context, const Dispatch& dispatch,
                const absl::Status& status) {
    grpc::Status converted = ToGrpcStatus(status);
    Accounting(context, dispatch)
        .Handled(converted.error_code(), converted.error_message(), error::CauseOf(status));
    this->Finish(std::move(converted));
  }
  void OnDone() override { delete this; }
};

}  // namespace internal

// Shows `watcher` (storage::Watcher, or anything with its Next, Ended, NotifyWhenReady and Cancel)
// as a stream: `convert(const Item&)` makes the message of each item; with `start.bundle` those
// that are ready at the same time are one message. The stream ends with the watcher's status; with
// OUT_OF_RANGE if it resumes and the caller's view is not `start.view`; with UNAVAILABLE when the
// server stops; when the client goes the watcher is cancelled. The initial metadata is sent at
// once.
template <class Response, class Watcher, class Convert>
grpc::ServerWriteReactor<Response>* WatchStream(grpc::CallbackServerContext* context,
                                                std::shared_ptr<Watcher> watcher, Convert convert,
                                                const type::v1::WatchStart& start = {}) {
  auto reactor = std::make_shared<internal::WatchReactor<Response, Watcher, Convert>>(
      *context, internal::TakeDispatch(*context), std::move(watcher), std::move(convert), start);
  reactor->Start();
  return reactor.get();
}

// A stream that ends at once with `status`, which must not be OK.
template <class Response>
grpc::ServerWriteReactor<Response>* FailStream(grpc::CallbackServerContext* context,
                                               const absl::Status& status) {
  return new internal::FailedReactor<Response>(*context, internal::TakeDispatch(*context), status);
}

}  // namespace muster::rpc
