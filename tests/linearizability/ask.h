#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/error.h"
#include "services/rpc/status.h"
#include "tests/linearizability/call.h"

namespace muster::linearizability {

// A client's ways to the two replicas.
struct Channels {
  std::shared_ptr<grpc::Channel> own = {};    // which it asks
  std::shared_ptr<grpc::Channel> other = {};  // where it looks what became of it
};

inline int64_t MonotonicNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline constexpr auto kAsItIs = [](auto&) {};

// A refusal as an answer: its code and documented reason.
inline Answer AnswerOf(const absl::Status& status) {
  const auto detail = error::DetailOf(status);
  const std::string text =
      absl::StrCat("refused: ", absl::StatusCodeToString(status.code()), " ",
                   detail.has_value() ? absl::string_view(detail->reason) : "");
  return {text, text};
}

// The errors of a batch as AnswerOf tells them: the bytes of their details differ from time to
// time.
template <class Response>
void PlainErrors(Response& response) {
  for (auto& result : *response.mutable_results()) {
    if (!result.has_error()) continue;
    const std::string text = AnswerOf(rpc::FromRpcStatus(result.error())).exact;
    result.mutable_error()->clear_details();
    result.mutable_error()->set_message(text);
  }
}

// Errors of our servers always bear details; what has none comes from the connection.
inline Outcome OutcomeOf(const grpc::Status& status) {
  if (status.ok()) return Outcome::kAnswered;
  if (status.error_details().empty()) return Outcome::kUnknown;
  const absl::Status ours = rpc::FromGrpcStatus(status);
  if (absl::IsUnknown(ours)) return Outcome::kUnknown;
  if (absl::IsUnavailable(ours) || absl::IsInternal(ours) || absl::IsDeadlineExceeded(ours))
    return Outcome::kFailed;
  // ABORTED without a reason of ours: the database was contended for too long.
  const auto detail = error::DetailOf(ours);
  const bool decided = detail.has_value() && detail->reason != "ABORTED";
  return decided ? Outcome::kAnswered : Outcome::kFailed;
}

// Sends one request and notes when, and what came of it. `decide`: the response that the pure core
// gives. `strip` removes from a response what does not follow from the state, `loosen` what only
// the journal's order decides. Waits up to `patience`, also for a replica that restarts. `told`:
// where the response goes if it is OK.
template <class State, class Stub, class Request, class Response, class Decide, class Strip,
          class Loosen>
Call<State> Ask(absl::Duration patience, Stub& stub,
                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request, Decide decide, Strip strip, Loosen loosen,
                Response* told = nullptr) {
  const auto render = [strip, loosen](Response response) {
    strip(response);
    // The revision that it shows is the batch's, not the decision's.
    if constexpr (requires { response.clear_revision(); }) response.clear_revision();
    Answer answer{response.SerializeAsString()};
    loosen(response);
    answer.loose = response.SerializeAsString();
    return answer;
  };
  Call<State> call;
  call.what = absl::StrCat(Request::descriptor()->name(), " {", request.ShortDebugString(), "}");
  call.decide = [decide, render](StagedState<State>& staged, absl::Time now) {
    const absl::StatusOr<Response> response = decide(staged, now);
    return response.ok() ? render(*response) : AnswerOf(response.status());
  };
  Response response;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(absl::ToChronoTime(absl::Now() + patience));
  call.interval.invoked = MonotonicNanos();
  const grpc::Status status = (stub.*method)(&context, request, &response);
  call.interval.responded = MonotonicNanos();
  call.outcome = OutcomeOf(status);
  if (call.outcome == Outcome::kUnknown) call.interval.responded = kNever;
  if (call.outcome == Outcome::kAnswered) {
    call.answer = status.ok() ? render(response) : AnswerOf(rpc::FromGrpcStatus(status));
    call.told = status.ok() ? response.ShortDebugString() : call.answer.exact;
  }
  if (told != nullptr && status.ok()) *told = std::move(response);
  return call;
}

}  // namespace muster::linearizability
