#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/access/caller.h"
#include "services/common/change_pace.h"
#include "services/common/faults.h"
#include "services/common/kept_request.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "services/rpc/revision.h"
#include "services/rpc/unary.h"

// The one way to write. A handler of a mutation is one line:
//
//   Unary Handlers::SetMachineState(Context context, const v1::SetMachineStateRequest* request,
//                                   v1::Machine* response) {
//     return rpc::Write(context, writer_, *request, response, kParse, kDecide, kRender);
//   }
//
// Write = parse, refuse what is wrong, CommitTo. CommitTo = Commit, answer the call. A Lane is a
// storage::CommitLane.
//
// A request with a `request_id` is carried out once: its answer is kept in the transaction of its
// change (services/common/kept_request.h), and the same again gets it, on any replica, after a
// restart, also when nobody knew what became of the first. A request that is refused and writes
// nothing keeps no answer; an order that is refused and written keeps its refusal.
namespace muster::rpc {

// Where the mutations of a service go, and how it keeps their answers. The lane must outlive it.
template <class Lane>
struct Writer {
  Lane* lane = nullptr;
  KeepPolicy keep = {};
};

struct WriteOptions {
  bool validate_only = false;  // decide and answer, write nothing, keep nothing
  // Empty: the request is carried out each time that it comes. Else it is known by the next four.
  std::string request_id = {};
  std::string kept_id = {};  // under which its answer is kept: KeptIdOf
  std::string method = {};   // the full name of its message
  std::string digest = {};   // RequestDigest
  std::string account = {};  // for whom: access::AccountOf
  // Is told how much was changed; null: nobody counts.
  std::shared_ptr<ChangePace> pace = {};
  // If no answer to it is kept: OK, it is carried out; else it is answered this error
  // (access::Caller::unless_repeated).
  absl::Status unless_kept = {};
};

// SHA-256 of a request's full name and content, without its `request_id`.
std::string RequestDigest(const google::protobuf::Message& request);

// The key of a kept answer. An organization's request ids are its own: no other caller can use up,
// or learn of, them. `caller` null: one that sees all.
std::string KeptIdOf(const access::Caller* caller, const std::string& request_id);

// The caller's own name for a request; empty: it has none.
std::string RequestIdOf(const google::protobuf::Message& request);

// Whether an answer to this very request of the caller is kept (access::Answered), by what `lane`'s
// memory shows now, however old.
template <class Lane>
bool IsAnswered(const Lane& lane, const access::Caller& caller,
                const google::protobuf::Message& request) {
  const std::string id = RequestIdOf(request);
  if (id.empty()) return false;
  const std::string kept_id = KeptIdOf(&caller, id);
  const std::string digest = RequestDigest(request);
  return lane.Peek([&](const auto& state, int64_t) {
    const KeptRequest* kept = state.template table<KeptRequest>().Find(kept_id);
    return kept != nullptr && CheckSameRequest(*kept, request.GetTypeName(), digest).ok();
  });
}

// The options that the request's fields and its caller ask for. Adds a fault if its `request_id` is
// invalid.
template <class Request>
WriteOptions OptionsOf(const Request& request, const access::Caller* caller,
                       error::Faults& faults) {
  WriteOptions options;
  if (caller != nullptr) {
    options.pace = caller->pace;
    options.unless_kept = caller->unless_repeated;
  }
  if constexpr (requires { request.validate_only(); }) {
    options.validate_only = request.validate_only();
  }
  if constexpr (requires { request.request_id(); }) {
    ValidateRequestId(request.request_id(), faults);
    if (request.request_id().empty() || options.validate_only || !faults.empty()) return options;
    options.request_id = request.request_id();
    options.kept_id = KeptIdOf(caller, options.request_id);
    if (caller != nullptr) options.account = access::AccountOf(*caller);
    options.method = request.GetTypeName();
    options.digest = RequestDigest(request);
  }
  return options;
}

namespace internal {

template <class Lane>
struct LaneOf;
template <template <class> class Lane, class S>
struct LaneOf<Lane<S>> {
  using StagedState = muster::StagedState<S>;
};

// What a decision returns, as a StatusOr: a Status becomes one of nothing, a plain value one of
// itself.
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

// An answer that is kept, with its row.
struct KeptRow {
  KeptRequest kept = {};
  int64_t revision = 0;  // of the row
  int64_t changes = 0;   // that the request made, with that of this row, as `pace` counts them
};
// The row that keeps an answer; and: fills in `response` from such a row, and returns its status.
KeptRequest AnswerToKeep(const WriteOptions& options, const absl::Status& status,
                         const google::protobuf::Message& response, absl::Time now);
absl::Status TellKept(const KeptRequest& kept, google::protobuf::Message& response);

// As how many changes those since `mark` count for `pace`; 0 if nobody counts.
template <class StagedState>
int64_t Since(size_t mark, const StagedState& staged, const std::shared_ptr<ChangePace>& pace) {
  int64_t changes = 0;
  for (size_t i = mark; pace != nullptr && i < staged.changes().size(); ++i)
    changes += ChangePace::ChangesOf(staged.changes()[i].change.JournalBytes());
  return changes;
}
// Tells `pace`, unless it is null, how much was committed.
inline void Count(const std::shared_ptr<ChangePace>& pace, const absl::Status& status,
                  int64_t changes) {
  if (pace != nullptr && status.ok()) pace->Add(changes);
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

// For a decision that is only tried: takes it back to `mark`, and returns the row that is then
// there, null: none. The answer's etag is to be that row's, which a change that follows must send.
template <class Row, class StagedState>
const Row* TakeBack(StagedState& staged, size_t mark, absl::string_view key) {
  staged.RollBack(mark);
  return staged.state().template table<Row>().Find(key);
}

// Has `lane` decide and commit. `decide(staged state, now)` may run several times; it returns a
// StatusOr<Outcome>, an Outcome or a Status. `then(StatusOr<Outcome>, revision)` is called once,
// after the commit, on the lane's threads, and must not block; `revision` is that of the state
// after the decision.
template <class Lane, class Decide, class Then>
void Commit(Lane& lane, absl::Time deadline, const WriteOptions& options, Decide decide,
            Then then) {
  using StagedState = typename internal::LaneOf<Lane>::StagedState;
  using Outcome = decltype(internal::Decided(decide(std::declval<StagedState&>(), absl::Time())));
  struct Found {
    Outcome outcome{};
    int64_t revision = 0;
    int64_t changes = 0;
  };
  auto found = std::make_shared<Found>();
  lane.Submit(
      [decide = std::move(decide), options, found](StagedState& staged, absl::Time now) mutable {
        const size_t mark = staged.Mark();
        found->outcome = internal::Decided(decide(staged, now));
        if (options.validate_only) staged.RollBack(mark);
        found->revision = staged.revision();
        found->changes = internal::Since(mark, staged, options.pace);
        return found->outcome.status();
      },
      [found, pace = options.pace, then = std::move(then)](const absl::Status& status,
                                                           int64_t) mutable {
        if (!status.ok()) found->outcome = status;
        internal::Count(pace, status, found->changes);
        then(std::move(found->outcome), found->revision);
      },
      deadline);
}

namespace internal {

// The answer that is kept of a request with an id; if there is none, that of `decide`, which is
// kept from now on.
template <class Response, class StagedState, class Decide, class Render>
absl::StatusOr<KeptRow> DecideOnce(StagedState& staged, absl::Time now, const WriteOptions& options,
                                   const KeepPolicy& policy, Decide& decide, Render& render) {
  const auto& rows = staged.state().template table<KeptRequest>();
  if (const auto* before = FindKept(staged.state(), options.kept_id, now, policy.keep)) {
    KeptRow told{*before, rows.FindVersioned(options.kept_id)->revision};
    told.kept.request_id = options.request_id;  // for people
    RETURN_IF_ERROR(CheckSameRequest(told.kept, options.method, options.digest));
    return told;
  }
  RETURN_IF_ERROR(options.unless_kept);
  const size_t mark = staged.Mark();
  const auto outcome = Decided(decide(staged, now));
  if (!outcome.ok()) return outcome.status();
  Response answer;
  const absl::Status status = Rendered(render, *outcome, answer);
  if (!status.ok() && staged.Mark() == mark) return status;
  SetRevision(answer, staged.revision());
  KeptRow told{.kept = AnswerToKeep(options, status, answer, now)};
  RETURN_IF_ERROR(Keep(staged, told.kept, policy));
  told.revision = rows.FindVersioned(options.kept_id)->revision;
  told.changes = Since(mark, staged, options.pace);
  return told;
}

// CommitTo for a request with an id.
template <class Lane, class Response, class Decide, class Render>
void CommitOnce(const Writer<Lane>& writer, Responder responder, WriteOptions options,
                Response* response, Decide decide, Render render) {
  using StagedState = typename LaneOf<Lane>::StagedState;
  auto told = std::make_shared<KeptRow>();
  const auto pace = options.pace;
  const absl::Time deadline = responder.deadline();
  writer.lane->Submit(
      [decide = std::move(decide), render = std::move(render), options = std::move(options),
       policy = writer.keep, told](StagedState& staged, absl::Time now) mutable -> absl::Status {
        ASSIGN_OR_RETURN(*told, DecideOnce<Response>(staged, now, options, policy, decide, render));
        return absl::OkStatus();
      },
      [told, pace, response, responder = std::move(responder)](const absl::Status& status,
                                                               int64_t) mutable {
        Count(pace, status, told->changes);
        responder.Reply([&] {
          if (!status.ok()) return status;
          const absl::Status answer = TellKept(told->kept, *response);
          responder.ShowRevision(RevisionOf(*response, told->revision));
          return answer;
        });
      },
      deadline);
}

}  // namespace internal

// Commit for a call, which is answered once it is committed: `render(outcome, response)` fills in
// the response, and may return a Status that is answered instead of it.
// `render.Committed(outcome)`, if there is one, is called before that, also if the call has been
// answered by its deadline; not for a request with an id.
template <class Lane, class Response, class Decide, class Render>
void CommitTo(const Writer<Lane>& writer, Responder responder, const WriteOptions& options,
              Response* response, Decide decide, Render render) {
  if (!options.request_id.empty()) {
    return internal::CommitOnce(writer, std::move(responder), options, response, std::move(decide),
                                std::move(render));
  }
  if (!options.unless_kept.ok()) return responder.Finish(options.unless_kept);
  const absl::Time deadline = responder.deadline();
  Commit(*writer.lane, deadline, options, std::move(decide),
         [response, render = std::move(render), responder = std::move(responder)](
             auto outcome, int64_t revision) mutable {
           if constexpr (requires { render.Committed(*outcome); }) {
             if (outcome.ok()) render.Committed(*outcome);
           }
           responder.ShowRevision(revision);
           responder.Reply([&]() -> absl::Status {
             if (!outcome.ok()) return outcome.status();
             const absl::Status status = internal::Rendered(render, *outcome, *response);
             SetRevision(*response, revision);
             return status;
           });
         });
}

namespace internal {

// `options_of(caller, faults)` returns the WriteOptions.
template <class Lane, class Request, class Response, class OptionsOf, class Parse, class Decide,
          class Render>
grpc::ServerUnaryReactor* Handle(grpc::CallbackServerContext* context, const Writer<Lane>& writer,
                                 const Request& request, Response* response, OptionsOf options_of,
                                 Parse parse, Decide decide, Render render) {
  return Unary(context, [&](Responder responder) {
    error::Faults faults;
    auto command = parse(request, faults);
    const WriteOptions options = options_of(responder.caller().get(), faults);
    if (!faults.empty()) return responder.Finish(faults.status());
    CommitTo(
        writer, std::move(responder), options, response,
        [command = std::move(command), decide](auto& staged, absl::Time now) {
          return decide(staged, command, now);
        },
        std::move(render));
  });
}

}  // namespace internal

// A whole handler. `parse(request, faults)` returns the command, or adds faults with which the call
// is refused; `decide(staged state, command, now)` and `render(outcome, response)` as above.
template <class Lane, class Request, class Response, class Parse, class Decide, class Render>
grpc::ServerUnaryReactor* Write(grpc::CallbackServerContext* context, const Writer<Lane>& writer,
                                const Request& request, Response* response, Parse parse,
                                Decide decide, Render render) {
  return internal::Handle(
      context, writer, request, response,
      [&request](const access::Caller* caller, error::Faults& faults) {
        return OptionsOf(request, caller, faults);
      },
      parse, decide, std::move(render));
}

// As Write with validate_only, whatever the request says: for a question that only the decision
// itself can answer, because it looks at more than could be copied for each call. Nothing is
// written, and the answer is as of the lane's newest.
template <class Lane, class Request, class Response, class Parse, class Decide, class Render>
grpc::ServerUnaryReactor* Try(grpc::CallbackServerContext* context, Lane& lane,
                              const Request& request, Response* response, Parse parse,
                              Decide decide, Render render) {
  return internal::Handle(
      context, Writer<Lane>{&lane}, request, response,
      [](const access::Caller*, error::Faults&) { return WriteOptions{.validate_only = true}; },
      parse, decide, std::move(render));
}

}  // namespace muster::rpc
