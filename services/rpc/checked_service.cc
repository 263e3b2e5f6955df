#include "services/rpc/checked_service.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/message_allocator.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "services/common/current_caller.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/common/status_macros.h"
#include "services/rpc/admission.h"
#include "services/rpc/dispatch.h"
#include "services/rpc/limits.h"
#include "services/rpc/request_bounds.h"
#include "services/rpc/unary.h"
#include "services/rpc/watch_stream.h"

namespace muster::rpc::internal {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::MethodDescriptor;
using grpc::internal::MethodHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

// Answers a call that is not to reach its service.
using RefuseUnary = grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
using RefuseStream =
    grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer, grpc::ByteBuffer>;

// When a call in line looks whether others have been at work for so long that it may begin; the
// pauses grow, as many calls may be in line.
constexpr absl::Duration kLookAgain = absl::Milliseconds(250);
constexpr absl::Duration kMostPause = absl::Seconds(4);

// The bytes of a request, in one piece.
class Payload {
 public:
  explicit Payload(grpc_byte_buffer* buffer) {
    grpc_byte_buffer_reader reader;
    if (buffer == nullptr || grpc_byte_buffer_reader_init(&reader, buffer) == 0) return;
    slice_ = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
  }
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;
  ~Payload() { grpc_slice_unref(slice_); }

  absl::string_view bytes() const {
    return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice_)), GRPC_SLICE_LENGTH(slice_)};
  }

 private:
  grpc_slice slice_ = grpc_empty_slice();
};

class CheckedHandler final : public MethodHandler {
 public:
  CheckedHandler(const MethodDescriptor& method, MethodHandler& inner, bool closed,
                 const Guard& guard, const access::PlaceOf& place_of,
                 const access::CatchUp& catch_up, const access::Answered& answered)
      : type_(*method.input_type()),
        stream_(method.server_streaming()),
        closed_(closed),
        spared_(Guard::IsSpared(method.name())),
        guard_(guard),
        admission_(method, guard, place_of, catch_up, answered),
        inner_(inner) {}

  void* Deserialize(grpc_call* call, grpc_byte_buffer* bytes, grpc::Status* status,
                    void** data) override {
    auto held = std::make_unique<Held>();
    if (bytes != nullptr) held->bytes = static_cast<int64_t>(grpc_byte_buffer_length(bytes));
    held->refusal = Check(call, bytes, held->for_operators);
    void* request = nullptr;
    if (held->refusal.ok()) {
      try {
        request = inner_.Deserialize(call, bytes, status, &held->inner);
        if (!status->ok()) held->refusal = Unparsable();
      } catch (const std::bad_alloc&) {
        held->refusal = NoMemory();
      }
    } else {
      grpc_byte_buffer_destroy(bytes);
    }
    *data = held.release();
    return request;
  }

  void RunHandler(const HandlerParameter& param) override {
    const std::unique_ptr<Held> held(static_cast<Held*>(param.internal_data));
    // What Deserialize made: a message of the method's type; null: it could not.
    const auto* request = static_cast<const google::protobuf::Message*>(param.request);
    Noted noted{.request = request};
    std::shared_ptr<Deferred> deferred;
    bool unsure = false;
    try {
      std::shared_ptr<access::Caller> caller =
          guard_.CallerOf(*param.server_context, held->refusal.ok());
      if (held->refusal.ok() && held->for_operators && !Guard::IsOperator(*caller))
        held->refusal = guard_.NoMemory();
      if (held->refusal.ok())
        held->refusal = admission_.LetIn(*caller, *request, held->bytes, noted.place, unsure);
      noted.caller = std::move(caller);
      if (unsure) {
        deferred = std::make_shared<Unsure>(*this, param, held->inner);
      } else if (held->refusal.ok() && !admission_.Begins(noted.place)) {
        deferred = std::make_shared<InLine>(*this, param, held->inner);
      }
    } catch (const std::bad_alloc&) {
      held->refusal = NoMemory();
    }
    const bool refused = deferred == nullptr && !held->refusal.ok();
    if (refused) noted.keeps = Keep(param, held->inner);
    Note(*param.server_context, std::move(noted));
    // If a handler threw before it took what was noted, that is dropped.
    const absl::Cleanup forget = [] { Forget(); };
    if (refused) {
      Refuse(param, held->refusal);
    } else if (deferred != nullptr) {
      deferred->Wait(TakeDispatch(*param.server_context));
    } else {
      RunInner(param, held->inner);
    }
  }

 private:
  // Of one call, between Deserialize and RunHandler.
  struct Held {
    absl::Status refusal = {};
    int64_t bytes = 0;           // of the request
    bool for_operators = false;  // memory is short
    void* inner = nullptr;       // what the inner handler holds
  };

  // A call that goes on later.
  class Deferred : public OpenCall {
   public:
    Deferred(const CheckedHandler& handler, const HandlerParameter& param, void* inner)
        : handler_(handler), param_(param), inner_(inner) {}

    void Wait(Dispatch dispatch) {
      core_ = dispatch.core;
      deadline_ = DeadlineOf(context(), dispatch);
      dispatch_ = std::move(dispatch);
      core_->open.Enter();
      core_->open.Enter();  // for what is done here: the call may be over before it is
      Begin();
      core_->open.Leave();
    }

   protected:
    virtual void Begin() = 0;
    // Checks the policy once more: the caller's rights may have changed while the call waited.
    absl::Status AdmitAnew(bool was_let_in) {
      try {
        const auto& request = *static_cast<const google::protobuf::Message*>(param_.request);
        ASSIGN_OR_RETURN(auto anew,
                         handler_.admission_.LetInAnew(
                             context(), request, was_let_in ? dispatch_.caller.get() : nullptr));
        if (anew != nullptr) dispatch_.caller = std::move(anew);
        return absl::OkStatus();
      } catch (const std::bad_alloc&) {
        return NoMemory();
      }
    }
    // Hands the call to its handler, or refuses it. The call may be gone afterwards; this object is
    // not, as the caller of this function holds it.
    void End(const absl::Status& refusal) {
      if (refusal.ok()) return Proceed([this] { handler_.RunInner(param_, inner_); });
      dispatch_.keeps = handler_.Keep(param_, inner_);
      Proceed([&] { handler_.Refuse(param_, refusal); });
    }
    template <class Handle>
    void Proceed(const Handle& handle) {
      GiveDispatch(context(), std::move(dispatch_));
      handle();
      Forget();
      core_->open.Leave();
    }
    grpc::CallbackServerContext& context() const {
      return *static_cast<grpc::CallbackServerContext*>(param_.server_context);
    }

    const CheckedHandler& handler_;
    const HandlerParameter param_;
    void* const inner_;
    ServerCore* core_ = nullptr;
    absl::Time deadline_ = absl::InfiniteFuture();
    Dispatch dispatch_ = {};
  };

  // A call that is let in, and waits for its turn among its caller's (CallerLimits), or until its
  // deadline.
  class InLine final : public CallerLimits::CallInLine, public Deferred {
   public:
    using Deferred::Deferred;

    void Start() override {
      core_->calls.Remove(this);
      EndWith(AdmitAnew(true));
    }
    // Called when it is time to look again, at the call's deadline, or at the end of the server.
    void Expire(const absl::Status& status) override {
      CallerLimits& limits = handler_.guard_.limits();
      if (absl::IsDeadlineExceeded(status) && NowForDeadlines() < deadline_) {
        if (limits.Nudge(*this)) LookAgain();
        return;
      }
      if (limits.GiveUp(*this)) EndWith(status);
    }

   private:
    void Begin() override {
      place = std::move(dispatch_.place);
      handler_.guard_.limits().Wait(std::static_pointer_cast<InLine>(shared_from_this()));
      LookAgain();
    }
    void LookAgain() {
      core_->calls.Add(this, std::min(deadline_, NowForDeadlines() + pause_));
      pause_ = std::min(2 * pause_, kMostPause);
      // A thread that starts it later finds it in `calls`, and removes it; one that started it
      // before may not have.
      if (!handler_.guard_.limits().IsWaiting(*this)) core_->calls.Remove(this);
    }
    void EndWith(const absl::Status& refusal) {
      dispatch_.place = std::move(place);
      End(refusal);
    }

    absl::Duration pause_ = kLookAgain;
  };

  // A call that was refused by a state that may be old: it is judged once more when the state has
  // caught up.
  class Unsure final : public Deferred {
   public:
    using Deferred::Deferred;

    // Called when the state has caught up, at the call's deadline, or at the end of the server.
    void Expire(const absl::Status& status) override {
      std::optional<absl::Status> caught_up;
      std::shared_ptr<Deferred> self;
      {
        MutexLock lock(mutex_);
        if (over_) return;
        over_ = true;
        core_->calls.Remove(this);
        caught_up = caught_up_;
        self = std::move(self_);
      }
      if (!caught_up) return End(status);
      if (!caught_up->ok()) return End(*caught_up);
      const absl::Status refusal = AdmitAnew(false);
      if (refusal.ok() && !handler_.admission_.Begins(dispatch_.place)) return StandInLine();
      End(refusal);
    }

   private:
    void Begin() override {
      const auto self = std::static_pointer_cast<Unsure>(shared_from_this());
      const auto asks = dispatch_.caller;  // a copy, as the call may be over before it is used
      {
        MutexLock lock(mutex_);
        self_ = self;
        core_->calls.Add(this, deadline_);
      }
      const auto author = [] { return Author(); };
      const CurrentCaller caller(access::TurnOf(*asks), author);
      try {
        handler_.admission_.catch_up()([self](const absl::Status& status) { self->GoOn(status); },
                                       deadline_);
      } catch (const std::bad_alloc&) {
        GoOn(NoMemory());
      }
    }
    // Waits in line, as any other call of the caller that is let in.
    void StandInLine() {
      std::shared_ptr<InLine> in_line;
      try {
        in_line = std::make_shared<InLine>(handler_, param_, inner_);
      } catch (const std::bad_alloc&) {
        return End(NoMemory());
      }
      in_line->Wait(std::move(dispatch_));
      core_->open.Leave();
    }
    // Goes on, on the thread of `calls`: what comes next may take locks that are held here.
    void GoOn(const absl::Status& status) {
      MutexLock lock(mutex_);
      if (over_) return;
      caught_up_ = status;
      core_->calls.Remove(this);
      core_->calls.Add(this, NowForDeadlines() - kDeadlineTick);
    }

    Mutex mutex_;
    bool over_ MUSTER_GUARDED_BY(mutex_) = false;
    std::optional<absl::Status> caught_up_ MUSTER_GUARDED_BY(mutex_);
    std::shared_ptr<Deferred> self_ MUSTER_GUARDED_BY(mutex_);
  };

  static absl::Status NoMemory() {
    return absl::ResourceExhaustedError("There is no memory left for this request.");
  }

  // Owns what the inner handler's Deserialize made, since that handler, which would destroy it,
  // does not run. It lies in the call's memory, and is read until the call is answered and logged,
  // by whichever thread.
  std::shared_ptr<const void> Keep(const HandlerParameter& param, void* inner) const {
    grpc_call* const call = param.call->call();
    grpc_call_ref(call);
    auto discard = [call, request = param.request, inner](const void*) {
      if (inner != nullptr) {
        // Of a unary method: holds request and response, also where the request could not be
        // parsed.
        static_cast<grpc::RpcAllocatorState*>(inner)->~RpcAllocatorState();
      } else if (request != nullptr) {
        static_cast<google::protobuf::Message*>(request)->~Message();
      }
      grpc_call_unref(call);
    };
    return {this, std::move(discard)};
  }

  void RunInner(const HandlerParameter& param, void* inner) const {
    inner_.RunHandler({param.call, param.server_context, param.request, param.status, inner,
                       param.call_requester});
  }

  // Answers instead of the inner handler.
  void Refuse(const HandlerParameter& param, const absl::Status& refusal) const {
    if (stream_) {
      RefuseStream handler([&](grpc::CallbackServerContext* context, const grpc::ByteBuffer*) {
        return FailStream<grpc::ByteBuffer>(context, refusal);
      });
      Run(handler, param);
    } else {
      RefuseUnary handler(
          [&](grpc::CallbackServerContext* context, const grpc::ByteBuffer*, grpc::ByteBuffer*) {
            return Unary(context, [&](Responder responder) { responder.Finish(refusal); });
          });
      Run(handler, param);
    }
  }

  absl::Status Check(grpc_call* call, grpc_byte_buffer* bytes, bool& for_operators) const {
    if (guard_.IsMemoryShort() && !IsOwn(call)) {
      for_operators =
          spared_ && bytes != nullptr && grpc_byte_buffer_length(bytes) <= Guard::kMaxSparedBytes;
      if (!for_operators) return guard_.NoMemory();
    }
    if (closed_)
      return absl::PermissionDeniedError("Served to operators only, at a listener of their own.");
    if (bytes == nullptr) return error::InvalidField("request", "is required.");
    return CheckBounds(type_, Payload(bytes).bytes());
  }

  // Made within the process (call_info.cc has the same word of it).
  static bool IsOwn(grpc_call* call) {
    const std::unique_ptr<char, decltype(&gpr_free)> peer(grpc_call_get_peer(call), &gpr_free);
    return absl::string_view(peer.get()) == "unknown";
  }

  absl::Status Unparsable() const {
    return error::InvalidField(
        "request", absl::StrCat("is no ", type_.full_name(),
                                ": its bytes are cut short, of another message, or a string in "
                                "them is not UTF-8."));
  }

  // The handler is asked for its reactor once, within RunHandler.
  template <class Handler>
  static void Run(Handler& handler, const HandlerParameter& param) {
    grpc::Status status;
    void* data = nullptr;
    grpc_byte_buffer* nothing = grpc_raw_byte_buffer_create(nullptr, 0);
    void* request = handler.Deserialize(param.call->call(), nothing, &status, &data);
    handler.RunHandler(
        {param.call, param.server_context, request, grpc::Status(), data, param.call_requester});
  }

  const Descriptor& type_;
  const bool stream_;
  const bool closed_;
  const bool spared_;
  const Guard& guard_;
  const Admission admission_;
  MethodHandler& inner_;
};

// gRPC shows a service's handlers to the service itself only.
struct Handlers : grpc::Service {
  static MethodHandler* Of(grpc::Service& service, int index) {
    return (service.*&Handlers::GetHandler)(index);
  }
};

}  // namespace

CheckedService::CheckedService(const google::protobuf::ServiceDescriptor& type,
                               grpc::Service& service, const std::set<std::string>& closed,
                               const Guard* guard, access::PlaceOf place_of,
                               access::CatchUp catch_up, access::Answered answered)
    : place_of_(std::move(place_of)),
      catch_up_(std::move(catch_up)),
      answered_(std::move(answered)) {
  for (int i = 0; i < type.method_count(); ++i) {
    const MethodDescriptor& method = *type.method(i);
    names_.push_back(absl::StrCat("/", type.full_name(), "/", method.name()));
    AddMethod(new RpcServiceMethod(
        names_.back().c_str(),
        method.server_streaming() ? RpcMethod::SERVER_STREAMING : RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodCallback(
        i, new CheckedHandler(method, *Handlers::Of(service, i), closed.contains(names_.back()),
                              *guard, place_of_, catch_up_, answered_));
  }
}

}  // namespace muster::rpc::internal
