#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/kept_request.h"
#include "services/common/testing/fake_clock.h"
#include "storage/postgres/lane.h"
#include "storage/postgres/testing/fault_bench.h"
#include "storage/postgres/testing/fault_plan.h"
#include "storage/postgres/transaction.h"
#include "tests/testing/patience.h"
#include "tests/testing/patient.h"
#include "tests/testing/status_matchers.h"

namespace muster::storage {

template <class State>
class FaultRun;

// A domain as the fault tests need it.
template <class State>
struct FaultDomain {
  std::string schema = {};
  const Store<State>* store = nullptr;
  // What is broken in a state that came from `before` by one change; one sentence each.
  std::function<std::vector<std::string>(const State& before, const State& after)> audit = {};
  // Every kind of row, every command, two replicas.
  std::function<void(FaultRun<State>&)> script = {};
  // Source files; every statement that they name must be reached, as every one of the store's
  // tables must.
  std::vector<std::string> sources = {};
};

// One run of a domain's script on real lanes, with what `plan` has to fail. Beside it runs a model:
// the pure core alone. After every step the journal in the database must be the model's, whatever
// failed. A step that failed is tried again, as a client would.
template <class State>
class FaultRun {
 public:
  using Lane = CommitLane<State>;
  using Change = typename State::Change;
  // Decides, and says in `answer` what the caller is told.
  using Command = std::function<absl::Status(StagedState<State>&, absl::Time, std::string& answer)>;
  using Contents = std::map<std::string, std::pair<int64_t, std::string>>;

  FaultRun(const FaultDomain<State>& domain, FaultBench& bench, std::shared_ptr<FaultPlan> plan)
      : domain_(domain), bench_(bench), plan_(std::move(plan)) {
    bench_.Reset();
  }
  ~FaultRun() { Stop(); }

  // --- steps of a script ---

  // Starts a replica, which loads the tables.
  void Open(const std::string& name) {
    Attempt("open", [&] {
      LaneOptions options;
      options.connect = {.conninfo = bench_.database.conninfo(bench_.schema),
                         .schema = bench_.schema};
      options.poll = absl::Milliseconds(50);
      // The other replicas follow and settle by what they themselves would not write.
      if (name == "b") options.journal_packing = JournalPacking::kNone;
      options.encode_ahead = 1;  // or no batch of these would be
      // A machine that stands still makes no other calls.
      options.max_time_age = absl::InfiniteDuration();
      options.runner.fault = [plan = plan_, name](absl::string_view site) {
        return plan->At(name, site);
      };
      auto lane = Lane::Create(testing::Patient(std::move(options)), domain_.store, &clock_);
      if (!lane.ok()) return lane.status();
      lanes_[name] = *std::move(lane);
      return absl::OkStatus();
    });
  }

  void Do(const std::string& name, const Command& command) { DoTogether(name, {command}); }

  // The command as a request with an id: carried out once, then told (rpc::CommitTo does so).
  static Command Once(const std::string& request_id, Command command) {
    return [=](StagedState<State>& staged, absl::Time now, std::string& text) -> absl::Status {
      if (const auto* kept = FindKept(staged.state(), request_id, now, kRequestKeep)) {
        text = kept->answer;
        return absl::OkStatus();
      }
      if (const absl::Status status = command(staged, now, text); !status.ok()) return status;
      return Keep(staged, {.request_id = request_id, .answer = text, .create_time = now}, {});
    };
  }
  // Its answer is forgotten, as it is with one that comes long after.
  static Command Forgotten(const std::string& request_id) {
    return [=](StagedState<State>& staged, absl::Time, std::string&) {
      staged.template Delete<KeptRequest>(request_id);
      return absl::OkStatus();
    };
  }

  // All in one batch.
  void DoTogether(const std::string& name, std::vector<Command> commands) {
    // Which calls are made must not hang on how soon a replica hears of the others' commits.
    testing::Until([&] { return lanes_.at(name)->revision() == revision_; },
                   name + " is level with the journal");
    clock_.Advance(absl::Seconds(1));
    for (int tries = 0; !commands.empty(); ++tries) {
      ASSERT_LT(tries, kMaxTries);
      const std::vector<absl::Status> outcomes = Try(*lanes_.at(name), commands);
      std::vector<Command> again;
      for (size_t i = 0; i < commands.size(); ++i) {
        if (outcomes[i].ok()) continue;
        failures_.push_back(outcomes[i]);
        again.push_back(commands[i]);
      }
      commands = std::move(again);
    }
  }

  // `meanwhile` happens after `name` has taken the command and before it locks the head.
  void DoWhile(const std::string& name, const Command& command, std::function<void()> meanwhile) {
    plan_->Meanwhile(name, std::move(meanwhile));
    Do(name, command);
  }

  // A read must show what was committed before it. One that failed is tried again when the replica
  // has found the database anew.
  void Read(const std::string& name) {
    Attempt("read", [&, first = true]() mutable {
      if (!std::exchange(first, false))
        testing::Until([&] { return lanes_.at(name)->ready(); }, name + " finds the database");
      std::promise<absl::Status> done;
      lanes_.at(name)->Read([&](const absl::Status& status, const State* state, int64_t revision) {
        if (status.ok()) {
          EXPECT_EQ(revision, revision_);
          EXPECT_EQ(ContentsOf(*state), ContentsOf(model_));
        }
        done.set_value(status);
      });
      return done.get_future().get();
    });
  }

  // A watch from `after` on shows every change once, in order; resumed if it breaks.
  void Watch(const std::string& name, int64_t after) {
    Attempt("watch", [&] {
      const auto watcher = lanes_.at(name)->Watch({.after_revision = after});
      while (after < revision_) {
        const std::optional<WatchItem> item = NextOf(*watcher);
        if (!item.has_value()) return *watcher->Ended();
        if (item->type == WatchItem::Type::kProgress) continue;
        EXPECT_EQ(item->revision, ++after);
        if (item->revision != after) break;
        const JournalRow& row = RowAt(after);
        EXPECT_EQ(item->key, row.key);
        EXPECT_EQ(item->bytes == nullptr, row.bytes == nullptr);
        if (item->bytes != nullptr && row.bytes != nullptr) {
          EXPECT_EQ(*item->bytes, *row.bytes);
        }
      }
      watcher->Cancel();
      return absl::OkStatus();
    });
  }

  // Forgets the journal up to the newest change but `keep`.
  void Compact(const std::string& name, int64_t keep) {
    Attempt("compact", [&] { return lanes_.at(name)->Compact(revision_ - keep); });
    EXPECT_EQ(bench_.database.QueryValue(
                  absl::StrCat("SELECT min(revision) FROM ", bench_.schema, ".journal")),
              absl::StrCat(revision_ - keep + 1));
  }

  // Another program commits and compacts at once: no replica can follow through the journal.
  void LoseJournal() {
    const absl::Status status = bench_.runner.Run([&](Transaction& tx) {
      tx.Exec(absl::StrCat(
          "SELECT 1 FROM journal_head FOR UPDATE; UPDATE journal_head SET revision"
          " = ",
          revision_ + 1, ", compacted_revision = ", revision_ + 1, "; DELETE FROM journal"));
      return absl::OkStatus();
    });
    ASSERT_THAT(status, testing::IsOk());
    ++revision_;
    journal_.clear();
    first_ = verified_ = revision_;
  }

  // A history that is as long as ours and says the same, but that others wrote: whoever knew ours
  // must give the other one a name of its own and load it.
  void ReplaceHistory() {
    const absl::Status status = bench_.runner.Run([&](Transaction& tx) {
      tx.Exec(absl::StrCat(
          "SELECT 1 FROM journal_head FOR UPDATE; UPDATE journal SET batch = 'another' WHERE "
          "revision = ",
          revision_, "; UPDATE journal_head SET batch = 'another'"));
      return absl::OkStatus();
    });
    ASSERT_THAT(status, testing::IsOk());
  }

  void Compare(const std::string& name) {
    Attempt("compare", [&] {
      const absl::StatusOr<Comparison> comparison = lanes_.at(name)->Compare();
      if (!comparison.ok()) return comparison.status();
      EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
      EXPECT_EQ(comparison->revision, revision_);
      return absl::OkStatus();
    });
  }

  void Await(const std::string& site) { plan_->Await(site); }
  const State& model() const { return model_; }
  int64_t revision() const { return revision_; }

  // --- what came of it ---

  // At the latest now threads end. All replicas at once: each may take 0.2 s.
  void Stop() {
    std::vector<std::future<void>> ends;
    for (auto& entry : lanes_)
      ends.push_back(std::async(std::launch::async, [lane = entry.second.get()] { lane->Stop(); }));
    for (auto& end : ends) end.wait();
  }
  // What clients were told beside the core's decisions.
  const std::vector<absl::Status>& failures() const { return failures_; }
  Contents contents() const { return ContentsOf(model_); }

 private:
  static constexpr int kMaxTries = 4;
  struct Answer {
    absl::Status status = {};
    std::string text = {};
  };

  template <class F>
  void Attempt(absl::string_view what, F f) {
    for (int tries = 0; tries < kMaxTries; ++tries) {
      const absl::Status status = f();
      if (status.ok()) return;
      failures_.push_back(status);
    }
    FAIL() << what << ": " << failures_.back();
  }

  // Hands all to the lane as one batch: behind one that holds it until they are there, and that is
  // begun before they come, or it would sometimes be in their batch.
  std::vector<Answer> Ask(Lane& lane, const std::vector<Command>& commands) {
    std::vector<Answer> answers(commands.size());
    std::vector<std::promise<void>> answered(commands.size() + 1);
    std::promise<void> gate_begun, all_queued;
    std::once_flag begun_once;
    const auto begin = [&] { std::call_once(begun_once, [&] { gate_begun.set_value(); }); };
    absl::Status gate_status;
    if (commands.size() > 1) {
      lane.Submit(
          [&begin, queued = all_queued.get_future().share()](StagedState<State>&, absl::Time) {
            begin();
            queued.wait();
            return absl::OkStatus();
          },
          [&](const absl::Status& status, int64_t) {
            gate_status = status;
            begin();
            answered.back().set_value();
          });
      gate_begun.get_future().wait();
    } else {
      answered.back().set_value();
    }
    for (size_t i = 0; i < commands.size(); ++i) {
      lane.Submit([&command = commands[i], &answer = answers[i]](
                      StagedState<State>& staged,
                      absl::Time now) { return command(staged, now, answer.text); },
                  [&, i](const absl::Status& status, int64_t) {
                    answers[i].status = status;
                    answered[i].set_value();
                  });
    }
    all_queued.set_value();
    for (auto& promise : answered) promise.get_future().wait();
    if (!gate_status.ok()) failures_.push_back(gate_status);
    return answers;
  }

  // OK: answered as the core answers, and the journal has it. Else the journal has nothing of it.
  std::vector<absl::Status> Try(Lane& lane, const std::vector<Command>& commands) {
    const std::vector<Answer> answers = Ask(lane, commands);
    std::vector<absl::Status> outcomes;
    for (size_t i = 0; i < commands.size(); ++i) outcomes.push_back(Judge(commands[i], answers[i]));
    ExpectJournal();
    return outcomes;
  }

  absl::Status Judge(const Command& command, const Answer& answer) {
    const State before = model_;
    StagedState<State> staged(model_, revision_);
    std::string text;
    const absl::Status expected = command(staged, clock_.Now(), text);
    if (!expected.ok()) staged.RollBack();
    if (answer.status == expected) {
      if (expected.ok()) {
        EXPECT_EQ(answer.text, text);
      }
      State step = before;
      for (const auto& change : staged.changes()) {
        JournalRow row{change.revision, std::string(change.change.kind()), change.change.key};
        if (!change.change.deleted())
          row.bytes = std::make_shared<const std::string>(domain_.store->Encode(change));
        journal_.push_back(std::move(row));
        step.Apply(change.change, change.revision);
      }
      if (expected.ok()) {
        EXPECT_THAT(domain_.audit(before, step), ::testing::IsEmpty());
      }
      revision_ = staged.revision();
      return absl::OkStatus();
    }
    staged.RollBack();
    EXPECT_FALSE(answer.status.ok()) << "answered OK, but the core says " << expected;
    return answer.status.ok() ? absl::InternalError("wrongly answered") : answer.status;
  }

  void ExpectJournal() {
    std::vector<JournalRow> rows;
    const absl::Status status = bench_.runner.RunStatement([&](Transaction& tx) {
      rows = journal::Read(tx, verified_, std::numeric_limits<int64_t>::max(), 1'000'000);
      return absl::OkStatus();
    });
    ASSERT_THAT(status, testing::IsOk());
    ASSERT_EQ(static_cast<int64_t>(rows.size()), revision_ - verified_);
    for (const JournalRow& row : rows) {
      const JournalRow& expected = RowAt(++verified_);
      ASSERT_EQ(row.revision, expected.revision);
      ASSERT_EQ(row.kind, expected.kind);
      ASSERT_EQ(row.key, expected.key);
      ASSERT_EQ(row.bytes == nullptr, expected.bytes == nullptr);
      if (row.bytes != nullptr) {
        ASSERT_EQ(*row.bytes, *expected.bytes);
      }
    }
  }

  const JournalRow& RowAt(int64_t revision) const {
    return journal_.at(static_cast<size_t>(revision - first_ - 1));
  }

  Contents ContentsOf(const State& state) const {
    Contents contents;
    state.ForEach([&](const Revised<Change>& row) {
      contents[row.change.key] = {row.revision, domain_.store->Encode(row)};
    });
    return contents;
  }

  static std::optional<WatchItem> NextOf(Watcher& watcher) {
    while (true) {
      if (auto item = watcher.Next()) return item;
      if (watcher.Ended()) return std::nullopt;
      std::promise<void> ready;
      watcher.NotifyWhenReady([&] { ready.set_value(); });
      ready.get_future().wait();
    }
  }

  const FaultDomain<State>& domain_;
  FaultBench& bench_;
  const std::shared_ptr<FaultPlan> plan_;
  FakeClock clock_;
  State model_;
  int64_t revision_ = 0;
  int64_t first_ = 0;                // the revision before journal_'s first
  std::vector<JournalRow> journal_;  // the model's
  int64_t verified_ = 0;             // up to here the database's journal was compared
  std::vector<absl::Status> failures_;
  std::map<std::string, std::unique_ptr<Lane>> lanes_;
};

}  // namespace muster::storage
