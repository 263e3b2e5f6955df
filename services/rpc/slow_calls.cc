#include "services/rpc/slow_calls.h"

#include <exception>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/access/caller.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/trace_context.h"
#include "services/rpc/call_info.h"
#include "services/rpc/dispatch.h"

namespace muster::rpc {
namespace {

// access::TurnOf the process itself: those who ask through it are bounded elsewhere.
constexpr uint64_t kOwnTurn = 0;

absl::Status TooMany(absl::string_view whose, size_t most) {
  return error::Make(
      absl::StatusCode::kResourceExhausted,
      absl::StrCat(whose, most, " answers of this kind are waited for, as many as may be."),
      {.reason = "TOO_MANY_CALLS", .retry_after = absl::Seconds(1)});
}

absl::Status Stopping() { return error::Unavailable("The server stops."); }
absl::Status Gone() { return absl::CancelledError("Its caller has gone."); }

void Fail(Responder& responder, absl::string_view what) {
  const std::string error_id = NewId();
  log::Error("an answer that takes long threw an exception",
             {{"error_id", error_id}, {"request_id", responder.request_id()}, {"error", what}});
  responder.Finish(internal::InternalError(error_id));
}

}  // namespace

SlowCalls::SlowCalls(const SlowCallsOptions& options) : options_(options) {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
}

void SlowCalls::Add(Responder responder, Answer answer) {
  const auto caller = responder.caller();
  const uint64_t turn = caller == nullptr ? kOwnTurn : access::TurnOf(*caller);
  AddInTurn(turn, std::move(responder), std::move(answer));
}

void SlowCalls::AddInTurn(uint64_t turn, Responder responder, Answer answer) {
  absl::Status refused;
  std::vector<Call> gone;
  {
    MutexLock lock(mutex_);
    refused = Check(turn);
    if (absl::IsResourceExhausted(refused)) {
      gone = TakeGone();
      refused = Check(turn);
    }
    if (refused.ok()) {
      waiting_.Push(turn, {turn, std::move(responder), std::move(answer)});
      wakes_.Signal();
    }
  }
  for (Call& call : gone) call.responder.Finish(Gone());
  // NOLINTNEXTLINE(bugprone-use-after-move): then it was not.
  if (!refused.ok()) responder.Finish(refused);
}

absl::Status SlowCalls::Check(uint64_t turn) const {
  if (stopping_) return Stopping();
  if (turn == kOwnTurn) return absl::OkStatus();
  if (waiting_.size() >= options_.most) return TooMany("Of all callers, ", options_.most);
  if (waiting_.size_of(turn) >= options_.most_of_a_caller)
    return TooMany("Of you, or of your organization, ", options_.most_of_a_caller);
  return absl::OkStatus();
}

std::vector<SlowCalls::Call> SlowCalls::TakeGone() {
  std::vector<Call> gone;
  for (Call& call : waiting_.TakeAll()) {
    if (call.responder.gone()) {
      gone.push_back(std::move(call));
    } else {
      const uint64_t turn = call.turn;
      waiting_.Push(turn, std::move(call));
    }
  }
  return gone;
}

void SlowCalls::Stop() {
  std::vector<Call> left;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    left = waiting_.TakeAll();
    wakes_.SignalAll();
    stops_.SignalAll();
  }
  for (Call& call : left) call.responder.Finish(Stopping());
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::vector<SlowCalls::Call> SlowCalls::Await() {
  MutexLock lock(mutex_);
  while (waiting_.empty() && !stopping_) wakes_.Wait(mutex_);
  return waiting_.Take(1);
}

void SlowCalls::Wait(absl::Duration pause) {
  const Deadline end(pause);
  MutexLock lock(mutex_);
  while (!stopping_ && end.WaitFor(stops_, mutex_)) {
  }
}

void SlowCalls::Work() {
  while (true) {
    std::vector<Call> next = Await();
    if (next.empty()) return;
    CpuStretch stretch(options_.cpu.get());
    Make(next.front());
    next.clear();
    stretch.EndWork();
    stretch.Rest([this](absl::Duration pause) { Wait(pause); });
  }
}

void SlowCalls::Make(Call& call) {
  const CurrentTrace scope(call.responder.info().trace);
  try {
    if (call.responder.gone()) return call.responder.Finish(Gone());
    call.answer(call.responder);
  } catch (const std::exception& e) {
    Fail(call.responder, e.what());
  } catch (...) {
    Fail(call.responder, "not a std::exception");
  }
}

}  // namespace muster::rpc
