#include "services/rpc/checked_handler.h"

#include <google/protobuf/message.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>

#include <memory>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/error.h"
#include "services/rpc/dispatch.h"
#include "services/rpc/limits.h"
#include "services/rpc/request_bounds.h"

namespace muster::rpc::internal {
namespace {

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

// Made within the process (call_info.cc has the same word of it).
bool IsOwn(grpc_call* call) {
  const std::unique_ptr<char, decltype(&gpr_free)> peer(grpc_call_get_peer(call), &gpr_free);
  return absl::string_view(peer.get()) == "unknown";
}

}  // namespace

void* CheckedHandler::Deserialize(grpc_call* call, grpc_byte_buffer* bytes, grpc::Status* status,
                                  void** data) {
  auto held = std::make_unique<Held>();
  if (bytes != nullptr) held->bytes = static_cast<int64_t>(grpc_byte_buffer_length(bytes));
  held->refusal = Check(call, bytes, held->for_operators);
  void* request = nullptr;
  if (held->refusal.ok()) {
    try {
      request = inner_.Deserialize(call, bytes, status, &held->inner);
      if (!status->ok()) held->refusal = Unparsable();
    } catch (const std::bad_alloc&) {
      held->refusal = NoMemoryForRequest();
    }
  } else {
    grpc_byte_buffer_destroy(bytes);
  }
  *data = held.release();
  return request;
}

void CheckedHandler::RunHandler(const HandlerParameter& param) {
  const std::unique_ptr<Held> held(static_cast<Held*>(param.internal_data));
  // What Deserialize made: a message of the method's type; null: it could not.
  const auto* request = static_cast<const google::protobuf::Message*>(param.request);
  Noted noted{.request = request};
  std::shared_ptr<DeferredCall> deferred;
  const DeferredMethod method{admission_, guard_.limits(), inner_};
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
      deferred = MakeUnsureCall(method, param, held->inner);
    } else if (!held->refusal.ok()) {
      deferred = KeptBack(*noted.caller, method, param, *held);
    } else if (!admission_.Begins(noted.place)) {
      deferred = MakeCallInLine(method, param, held->inner);
    }
  } catch (const std::bad_alloc&) {
    held->refusal = NoMemoryForRequest();
  }
  const bool refused = deferred == nullptr && !held->refusal.ok();
  if (refused) noted.keeps = inner_.Keep(param, held->inner);
  Note(*param.server_context, std::move(noted));
  // If a handler threw before it took what was noted, that is dropped.
  const absl::Cleanup forget = [] { Forget(); };
  if (refused) {
    inner_.Refuse(param, held->refusal);
  } else if (deferred != nullptr) {
    deferred->Wait(TakeDispatch(*param.server_context));
  } else {
    inner_.Run(param, held->inner);
  }
}

std::shared_ptr<DeferredCall> CheckedHandler::KeptBack(const access::Caller& caller,
                                                       const DeferredMethod& method,
                                                       const HandlerParameter& param,
                                                       const Held& held) const {
  const bool may = unary_ && absl::IsResourceExhausted(held.refusal) &&
                   held.bytes <= kMostBytesKeptBack && !guard_.IsMemoryShort();
  if (!may) return nullptr;
  RefusalPace& pace = guard_.refusals();
  const absl::Duration wait = pace.KeepBack(caller.principal);
  if (wait <= absl::ZeroDuration()) return nullptr;
  absl::Cleanup undo = [&pace] { pace.Answered(); };
  auto call = MakeRefusedCall(method, param, held.inner, held.refusal, wait, pace);
  std::move(undo).Cancel();
  return call;
}

absl::Status CheckedHandler::Check(grpc_call* call, grpc_byte_buffer* bytes,
                                   bool& for_operators) const {
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

absl::Status CheckedHandler::Unparsable() const {
  return error::InvalidField(
      "request", absl::StrCat("is no ", type_.full_name(),
                              ": its bytes are cut short, of another message, or a string in "
                              "them is not UTF-8."));
}

}  // namespace muster::rpc::internal
