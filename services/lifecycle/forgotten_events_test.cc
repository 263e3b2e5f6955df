// The leader forgets the events of pools that are gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/testing/leadership_test_base.h"
#include "tests/testing/status_matchers.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::IsOk;

// "Events of a deleted pool are kept for --event_keep": the leader forgets them then, in memory and
// in the tables, and no others.
TEST_F(Leadership, ForgetsTheEventsOfPoolsThatAreGone) {
  orphan_interval_ = absl::Milliseconds(100);
  event_keep_ = absl::Milliseconds(1);
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  const std::string gone = Apply("gone", 0);
  const std::string lives = Apply("lives", 0);
  const auto events = [&](absl::string_view id) {
    return b_->lane().Peek([&](const State& state, int64_t) {
      const auto& rows = state.table<Event>().rows();
      return std::count_if(rows.begin(), rows.end(), [&](const auto& row) {
        return absl::StrContains(row.second.row->object, id);
      });
    });
  };
  Until([&] { return events("gone") > 0 && events("lives") > 0; }, "events");
  Submit(*b_, DeleteNodePool{.name = gone});
  Until([&] { return events("gone") == 0; }, "the end of the events");
  EXPECT_EQ(
      b_->lane().Peek([&](const State& state, int64_t) { return state.table<Pool>().Find(gone); }),
      nullptr);
  EXPECT_GT(events("lives"), 0);
  Until([&] { return leader->lane().revision() == b_->lane().revision(); }, "the same revision");
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM lifecycle.event WHERE object LIKE '%gone%'"),
            "0");
  leader->StopReconciling();
}

TEST_F(Leadership, WhoCannotForgetEventsSaysWhy) {
  database_.Execute(
      "CREATE FUNCTION lifecycle.keep_event() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN RAISE EXCEPTION ''events stay''; END';"
      "CREATE TRIGGER keep_event BEFORE DELETE ON lifecycle.event FOR EACH ROW"
      " EXECUTE FUNCTION lifecycle.keep_event()");
  orphan_interval_ = absl::Milliseconds(100);
  event_keep_ = absl::Milliseconds(1);
  const Said said("events of deleted pools could not be forgotten");
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  const std::string gone = Apply("gone", 0);
  Until(
      [&] {
        return b_->lane().Peek(
            [](const State& state, int64_t) { return !state.table<Event>().rows().empty(); });
      },
      "events");
  Submit(*b_, DeleteNodePool{.name = gone});
  Until([&] { return !said.lines().empty(); }, "word of the events");
  EXPECT_THAT(said.lines().front(), ::testing::HasSubstr("events stay"));
  leader->StopReconciling();
}

}  // namespace
}  // namespace muster::lifecycle
