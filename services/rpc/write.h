#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/faults.h"
#include "services/common/state.h"
#include "services/rpc/unary.h"

// The one way to write. A handler of a mutation is one line:
//
//   Unary Handlers::SetMachineState(Context context, const v1::SetMachineStateRequest* request,
//                                   v1::Machine* response) {
//     return rpc::Write(context, lane_, *request, response, kParse, kDecide, kRender);
//   }
//
// Write = parse, refuse what is wrong, CommitTo. CommitTo = Commit, answer the call. A Lane is a
// storage::CommitLane.
namespace muster::rpc {

struct WriteOptions {
  bool validate_only = false;  // decide and answer, write nothing
};

// What the request says of how it is to be written; a field that it does not have is not set.
template <class Request>
WriteOptions OptionsOf(const Request& request) {
  WriteOptions options;
  if constexpr (requires { request.validate_only(); }) {
    options.validate_only = request.validate_only();
  }
  return options;
}

namespace internal {

template <class Lane>
struct LaneOf;
template <template <class> class Lane, class S>
struct LaneOf<Lane<S>> {
  using Overlay = muster::Overlay<S>;
};

// What a decision gives, as a StatusOr: of nothing for a Status, of itself for a plain value.
template <class T>
absl::StatusOr<T> Decided(absl::StatusOr<T> outcome) {
  return outcome;
}
template <class T>
absl::StatusOr<T> Decided(T outcome) {
  return outcome;
}
inline absl::StatusOr<std::monostate> Decided(absl::Status status) {
  if (!status.ok()) return status;
  return std::monostate();
}

template <class Render, class Outcome, class Response>
absl::Status Rendered(Render& render, const Outcome& outcome, Response& response) {
  if constexpr (std::is_void_v<decltype(render(outcome, response))>) {
    render(outcome, response);
    return absl::OkStatus();
  } else {
    return render(outcome, response);
  }
}

}  // namespace internal

// Has `lane` decide and commit. `decide(overlay, now)` may run again; it gives a StatusOr<Outcome>,
// an Outcome or a Status. `then(StatusOr<Outcome>)` is called once, after the commit, on the lane's
// threads, and must not block.
template <class Lane, class Decide, class Then>
void Commit(Lane& lane, absl::Time deadline, const WriteOptions& options, Decide decide,
            Then then) {
  using Overlay = typename internal::LaneOf<Lane>::Overlay;
  using Outcome = decltype(internal::Decided(decide(std::declval<Overlay&>(), absl::Time())));
  auto outcome = std::make_shared<Outcome>();
  lane.Submit(
      [decide = std::move(decide), options, outcome](Overlay& overlay, absl::Time now) mutable {
        const size_t mark = overlay.Mark();
        *outcome = internal::Decided(decide(overlay, now));
        if (options.validate_only) overlay.RollBack(mark);
        return outcome->status();
      },
      [outcome, then = std::move(then)](const absl::Status& status, int64_t) mutable {
        if (!status.ok()) *outcome = status;
        then(std::move(*outcome));
      },
      deadline);
}

// The same for a call, which is answered once it is committed: `render(outcome, response)` fills
// the response in, and may give a Status that is answered instead of it.
template <class Lane, class Response, class Decide, class Render>
void CommitTo(Lane& lane, Responder responder, const WriteOptions& options, Response* response,
              Decide decide, Render render) {
  const absl::Time deadline = responder.deadline();
  Commit(lane, deadline, options, std::move(decide),
         [response, render = std::move(render),
          responder = std::move(responder)](auto outcome) mutable {
           responder.Reply([&] {
             return outcome.ok() ? internal::Rendered(render, *outcome, *response)
                                 : outcome.status();
           });
         });
}

namespace internal {

template <class Lane, class Request, class Response, class Parse, class Decide, class Render>
grpc::ServerUnaryReactor* Handle(grpc::CallbackServerContext* context, Lane& lane,
                                 const Request& request, const WriteOptions& options,
                                 Response* response, Parse parse, Decide decide, Render render) {
  return Unary(context, [&](Responder responder) {
    error::Faults faults;
    auto command = parse(request, faults);
    if (!faults.empty()) return responder.Finish(faults.status());
    CommitTo(
        lane, std::move(responder), options, response,
        [command = std::move(command), decide](auto& overlay, absl::Time now) {
          return decide(overlay, command, now);
        },
        std::move(render));
  });
}

}  // namespace internal

// A whole handler. `parse(request, faults)` gives the command, or faults with which the call is
// refused; `decide(overlay, command, now)` and `render(outcome, response)` as above.
template <class Lane, class Request, class Response, class Parse, class Decide, class Render>
grpc::ServerUnaryReactor* Write(grpc::CallbackServerContext* context, Lane& lane,
                                const Request& request, Response* response, Parse parse,
                                Decide decide, Render render) {
  return internal::Handle(context, lane, request, OptionsOf(request), response, parse, decide,
                          std::move(render));
}

// As Write with validate_only, whatever the request says: for a question that only the decision
// itself can answer, because it looks at more than could be copied for each call. Nothing is
// written, and the answer is as of the lane's newest.
template <class Lane, class Request, class Response, class Parse, class Decide, class Render>
grpc::ServerUnaryReactor* Try(grpc::CallbackServerContext* context, Lane& lane,
                              const Request& request, Response* response, Parse parse,
                              Decide decide, Render render) {
  return internal::Handle(context, lane, request, WriteOptions{.validate_only = true}, response,
                          parse, decide, std::move(render));
}

}  // namespace muster::rpc
