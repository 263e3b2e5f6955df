#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/trace/span.h"
#include "storage/postgres/answer_queue.h"
#include "storage/postgres/batch.h"
#include "storage/postgres/change_publisher.h"
#include "storage/postgres/commit_queue.h"
#include "storage/postgres/commit_traces.h"
#include "storage/postgres/lane_context.h"

namespace muster::storage {

// What follows when it is known what became of a batch: it is published, its commands are answered,
// and both are counted. Belongs to the lane's thread; has no lock.
template <class State>
class BatchOutcome {
 public:
  BatchOutcome(const LaneContext<State>& lane, ChangePublisher<State>& publisher,
               AnswerQueue<State>& answers)
      : options_(lane.options),
        clock_(lane.clock),
        db_(lane.db),
        at_(lane.memory.at()),
        publisher_(publisher),
        answers_(answers) {}

  // The batch is committed: the working copy is where it is after it.
  void Publish(const Batch<State>& batch);
  // `status` is what became of all the commands; if it is OK, each is told the status of its own
  // decision, and `shown`, the revision that its answer shows.
  void Answer(absl::Span<LaneCommand<State>> commands, const absl::Status& status, int64_t shown);
  // A span of the batch in the trace of its first command, linked to the others'; none where none
  // is wanted. To be called before Answer, which takes the commands away.
  void RecordWork(absl::Span<const LaneCommand<State>> commands, absl::Time began,
                  const absl::Status& status) const;

  // Counts since the start; see LaneStats. Any thread may ask.
  int64_t batches() const { return batches_; }
  int64_t commands() const { return commands_; }
  int64_t done_commands() const { return done_commands_; }
  int64_t changes() const { return changes_; }
  int64_t failed_batches() const { return failed_batches_; }

 private:
  const LaneOptions& options_;
  LaneClock& clock_;
  LaneDb& db_;
  Position& at_;  // of memory's working copy
  ChangePublisher<State>& publisher_;
  AnswerQueue<State>& answers_;
  std::atomic<int64_t> batches_ = 0;
  std::atomic<int64_t> commands_ = 0;
  std::atomic<int64_t> done_commands_ = 0;
  std::atomic<int64_t> changes_ = 0;
  std::atomic<int64_t> failed_batches_ = 0;
};

template <class State>
void BatchOutcome<State>::Publish(const Batch<State>& batch) {
  if (batch.changes().empty()) return;
  at_ = batch.after();
  clock_.Committed(batch.now());
  ++batches_;
  changes_ += static_cast<int64_t>(batch.rows().size());
  options_.Yield(LanePoint::kBeforePublish);
  {
    const CommitTraces::Publishing publishing(batch.traces());
    publisher_.Publish(batch.changes(), batch.rows());
  }
  db_.Announce(at_.revision);
}

template <class State>
void BatchOutcome<State>::Answer(absl::Span<LaneCommand<State>> commands,
                                 const absl::Status& status, int64_t shown) {
  const auto count = static_cast<int64_t>(commands.size());
  if (status.ok()) {
    done_commands_ += count;
  } else {
    ++failed_batches_;
  }
  db_.set_ready(!absl::IsUnavailable(status));
  commands_ += count;
  answers_.Add(commands, status, shown);
}

template <class State>
void BatchOutcome<State>::RecordWork(absl::Span<const LaneCommand<State>> commands,
                                     absl::Time began, const absl::Status& status) const {
  if (!trace::Recording()) return;
  trace::Causes causes;
  for (const LaneCommand<State>& command : commands) causes.Add(command.trace);
  if (!causes.first().sampled()) return;
  trace::Record({.name = "commit " + options_.connect.schema,
                 .context = trace::ChildOf(causes.first()),
                 .parent_span_id = causes.first().span_id,
                 .start = began,
                 .end = absl::Now(),
                 .attributes = {{"db.system.name", "postgresql"},
                                {"db.namespace", options_.connect.schema},
                                {"db.operation.batch.size", static_cast<int64_t>(commands.size())}},
                 .links = std::move(causes).others(),
                 .failed = !status.ok(),
                 .message = std::string(status.message())});
}

}  // namespace muster::storage
