#pragma once

#include <grpcpp/server_context.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/cpu_share.h"
#include "services/common/faults.h"
#include "services/common/mutex.h"
#include "services/common/turn_queue.h"
#include "services/rpc/parsed.h"
#include "services/rpc/unary.h"

namespace muster::rpc {

struct SlowCallsOptions {
  int threads = 1;
  size_t most = 64;                    // calls that wait
  size_t most_of_a_caller = 8;         // of these, of one caller, or of one organization
  std::shared_ptr<CpuShare> cpu = {};  // of all slow work of the process; null: there is no other
};

// Answers calls that take long, on a few threads of its own, callers in turn. The number of calls
// that wait is bounded, except for the process's own; a call that nobody waits for any more is not
// begun. After an answer a thread rests (CpuShare), so that other work goes on. Thread-safe.
class SlowCalls {
 public:
  // Called on one of the threads. If it throws, the call is answered INTERNAL.
  using Answer = absl::AnyInvocable<void(Responder&)>;

  explicit SlowCalls(const SlowCallsOptions& options);
  ~SlowCalls() { Stop(); }

  // If too many calls wait, of this caller or of all, the call is answered at once:
  // RESOURCE_EXHAUSTED (TOO_MANY_CALLS).
  void Add(Responder responder, Answer answer);
  // The same, but the call takes turns as one of `turn` (access::TurnOf), not of its caller.
  void AddInTurn(uint64_t turn, Responder responder, Answer answer);
  // Waits for answers that are being made; calls that wait, and later ones, are answered
  // UNAVAILABLE. Idempotent.
  void Stop();
  // Calls that wait.
  size_t waiting() const {
    MutexLock lock(mutex_);
    return waiting_.size();
  }

 private:
  struct Call {
    uint64_t turn = 0;
    Responder responder;
    Answer answer;
  };

  // Why one more call of such a caller is refused; OK: it is not.
  absl::Status Check(uint64_t turn) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out the calls that nobody waits for any more.
  std::vector<Call> TakeGone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work();
  static void Make(Call& call);
  // Waits for the next call. Empty: it stops.
  std::vector<Call> Await();
  void Wait(absl::Duration pause);

  const SlowCallsOptions options_;
  mutable Mutex mutex_;
  CondVar wakes_;
  CondVar stops_;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  TurnQueue<Call> waiting_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

// Hands the call to `slow` once memory shows all that was committed before the call.
template <class Lane>
void AnswerSlowly(const std::shared_ptr<SlowCalls>& slow, Lane& lane, Responder responder,
                  SlowCalls::Answer answer) {
  const absl::Time deadline = responder.deadline();
  // The read may end after the service is gone, except for `slow`, which is stopped by then.
  lane.Read(
      [slow, answer = std::move(answer), responder = std::move(responder)](
          const absl::Status& status, const auto*, int64_t) mutable {
        if (!status.ok()) return responder.Finish(status);
        slow->Add(std::move(responder), std::move(answer));
      },
      deadline);
}

// As Read (read.h), for answers that take long: `fill` is called by a thread of `slow`, on memory
// as it is by then.
template <class Lane, class Request, class Response, class Parse, class Fill>
grpc::ServerUnaryReactor* ReadSlowly(grpc::CallbackServerContext* context,
                                     const std::shared_ptr<SlowCalls>& slow, Lane& lane,
                                     const Request& request, Response* response, Parse parse,
                                     Fill fill) {
  return ParsedUnary(context, request, parse, [&](Responder responder, auto query) {
    SlowCalls::Answer answer = [&lane, query = std::move(query), response,
                                fill = std::move(fill)](Responder& waiting) {
      Response told;
      const absl::Status said = lane.Peek([&](const auto& state, int64_t revision) {
        waiting.ShowRevision(revision);
        return fill(state, revision, query, told);
      });
      waiting.Reply([&] {
        if (said.ok()) *response = std::move(told);
        return said;
      });
    };
    AnswerSlowly(slow, lane, std::move(responder), std::move(answer));
  });
}

}  // namespace muster::rpc
