#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "services/common/event_reasons.h"
#include "services/common/log.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/core/names.h"
#include "tests/kubernetes/shell/event_mirror_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

TEST_F(EventMirrorTest, WritesAndCounts) {
  const auto replica = MakeReplica("one");
  replica->mirror->Start();
  replica->mirror->Put(MakeEvent("e1", 1));
  const Json event = Await("e1", 1);
  EXPECT_EQ(event["reason"], "CWNodeRegistered");
  EXPECT_EQ(event["regarding"]["name"], "node-of-g7");
  EXPECT_EQ(event["regarding"]["uid"], "uid-of-g7");
  EXPECT_EQ(event["reportingInstance"], "one");
  replica->mirror->Put(MakeEvent("e1", 5));
  EXPECT_EQ(Await("e1", 5)["eventTime"], event["eventTime"]) << "only the series changes";
  EXPECT_EQ(server_.WritesBy("one"), 2);
}

TEST_F(EventMirrorTest, RepeatsOfWhatWaitsAreOneWrite) {
  const auto replica = MakeReplica("one");
  for (const int64_t count : {1, 2, 3}) replica->mirror->Put(MakeEvent("e1", count));
  replica->mirror->Start();
  Await("e1", 3);
  EXPECT_EQ(server_.WritesBy("one"), 1);
}

// One that failed is put back behind one that came meanwhile.
TEST_F(EventMirrorTest, AnOlderCountDoesNotReplaceALaterOne) {
  const auto replica = MakeReplica("one");
  replica->mirror->Put(MakeEvent("e1", 3));
  replica->mirror->Put(MakeEvent("e1", 2));
  replica->mirror->Put(MakeEvent("e2", 1, -absl::Seconds(1)));
  replica->mirror->Start();
  Await("e2", 1);
  EXPECT_FALSE(Await("e1", 3).is_null());
  EXPECT_EQ(server_.WritesBy("one"), 2);
}

// Muster's database was restored to a time when it was counted less.
TEST_F(EventMirrorTest, ALaterTimeIsWrittenWhateverTheCount) {
  const auto put = [](Replica& replica, int64_t count, absl::Duration later) {
    auto event = MakeEvent("e1", count);
    event.mutable_last_time()->set_seconds(event.first_time().seconds() +
                                           absl::ToInt64Seconds(later));
    replica.mirror->Put(event);
  };
  const auto last_time = [](const Json& event) { return event["series"]["lastObservedTime"]; };
  Json before;
  {
    const auto one = MakeReplica("one");
    put(*one, 9, absl::ZeroDuration());
    put(*one, 5, absl::Seconds(1));
    one->mirror->Start();
    before = Await("e1", 5);
    put(*one, 3, absl::Seconds(2));
    const Json after = Await("e1", 3);
    EXPECT_LT(last_time(before), last_time(after));
    before = after;
    put(*one, 9, absl::ZeroDuration());  // out of the past
    put(*one, 4, absl::Seconds(2));
    EXPECT_EQ(last_time(Await("e1", 4)), last_time(before));
    EXPECT_EQ(server_.WritesBy("one"), 3);
  }
  const auto two = MakeReplica("two");
  two->mirror->Start();
  put(*two, 2, absl::Seconds(3));
  EXPECT_LT(last_time(before), last_time(Await("e1", 2)));
}

TEST_F(EventMirrorTest, OldestFirst) {
  const auto replica = MakeReplica("one");
  replica->mirror->Put(MakeEvent("young", 1, absl::Minutes(1)));
  replica->mirror->Put(MakeEvent("old", 1, absl::Minutes(2)));
  replica->mirror->Start();
  const Json young = Await("young", 1);
  const Json old = Await("old", 1);
  EXPECT_LT(VersionOf(old), VersionOf(young));
  EXPECT_LT(NameOf(old), NameOf(young));
}

TEST_F(EventMirrorTest, WarningsBeforeWhatIsOlder) {
  const auto replica = MakeReplica("one");
  replica->mirror->Put(MakeEvent("old", 1, absl::Minutes(2)));
  for (const auto& [id, age] :
       {std::pair("young", absl::Seconds(1)), {"older", absl::Minutes(1)}}) {
    auto warning = MakeEvent(id, 1, age);
    warning.set_type("Warning");
    replica->mirror->Put(warning);
  }
  replica->mirror->Start();
  const Json old = Await("old", 1);
  EXPECT_LT(VersionOf(Await("older", 1)), VersionOf(Await("young", 1)));
  EXPECT_LT(VersionOf(Await("young", 1)), VersionOf(old));
}

// A write that takes long holds up no event but its own repeats.
TEST_F(EventMirrorTest, OneWriteDoesNotWaitForAnother) {
  absl::Notification go;
  absl::Notification began;
  EventMirror::Options options{.writers = 2};
  options.node_of = [&](const std::string& machine) {
    if (machine == "slow") {
      began.Notify();
      go.WaitForNotification();
    }
    return kubernetes::EventNode();
  };
  const auto replica = MakeReplica("one", options);
  auto slow = MakeEvent("slow", 1, absl::Minutes(1));
  slow.set_object("organizations/acme/clusters/c1/nodePools/a/nodes/slow");
  replica->mirror->Start();
  replica->mirror->Put(slow);
  began.WaitForNotification();
  slow.set_count(5);
  replica->mirror->Put(slow);
  replica->mirror->Put(MakeEvent("e1", 1));
  EXPECT_FALSE(Await("e1", 1).is_null());
  EXPECT_EQ(Events(), 1);
  go.Notify();
  EXPECT_FALSE(Await("slow", 5).is_null());
  EXPECT_EQ(server_.WritesBy("one"), 3);
}

TEST_F(EventMirrorTest, WhatAnEarlierProcessWroteIsNotWrittenTwice) {
  {
    const auto one = MakeReplica("one");
    one->mirror->Start();
    one->mirror->Put(MakeEvent("e1", 1));
    one->mirror->Put(MakeEvent("e2", 4));
    Await("e1", 1);
    Await("e2", 4);
  }
  const auto two = MakeReplica("two");
  two->mirror->Put(MakeEvent("e1", 1));
  two->mirror->Put(MakeEvent("e2", 4));
  two->mirror->Put(MakeEvent("last", 1, -absl::Seconds(1)));
  two->mirror->Start();
  Await("last", 1);
  EXPECT_EQ(server_.WritesBy("two"), 1);
  two->mirror->Put(MakeEvent("e1", 2));
  Await("e1", 2);
  EXPECT_EQ(Events(), 3);
}

TEST_F(EventMirrorTest, OneThatExpiredIsMadeAnew) {
  const auto replica = MakeReplica("one");
  replica->mirror->Start();
  replica->mirror->Put(MakeEvent("e1", 1));
  const std::string name = NameOf(Await("e1", 1));
  EXPECT_TRUE(reader_->Delete(absl::StrCat(kubernetes::kEventsPath, "/", name)).ok());
  replica->mirror->Put(MakeEvent("e1", 2));
  EXPECT_FALSE(Await("e1", 2).is_null());
}

TEST_F(EventMirrorTest, WhatIsOlderThanEventsAreKeptIsDropped) {
  const auto replica = MakeReplica("one");
  replica->mirror->Put(MakeEvent("ancient", 1, absl::Hours(2)));
  replica->mirror->Put(MakeEvent("e1", 1));
  replica->mirror->Start();
  Await("e1", 1);
  EXPECT_EQ(Events(), 1);
}

// The time of day is five minutes behind then: another event than the one that failed is written at
// once.
TEST_F(EventMirrorTest, RestsByTheSteadyClock) {
  absl::Notification rests;
  log::SetSink([&](absl::string_view line) {
    if (absl::StrContains(line, "events cannot be written")) rests.Notify();
  });
  FakeSteadyClock clock;
  EventMirror::Options options{.writers = 2};
  options.node_of = [](const std::string&) { return kubernetes::EventNode(); };
  const auto replica = MakeReplica("one", options, &clock);
  server_.FailNext(
      {.verb = "POST", .path_prefix = kubernetes::kEventsPath, .code = 403, .retry_after = 300});
  replica->mirror->Start();
  replica->mirror->Put(MakeEvent("e1", 1));
  rests.WaitForNotification();
  log::SetSink(nullptr);
  clock.Advance(absl::Minutes(5));
  replica->mirror->Put(MakeEvent("e2", 1));
  Until([&] { return Events() > 0; }, "that it writes again");
  EXPECT_FALSE(Await("e2", 1).is_null());
}

TEST_F(EventMirrorTest, TellsOfItsOwn) {
  const auto replica = MakeReplica("one");
  replica->mirror->Start();
  kubernetes::NodePoolObject pool;
  pool.name = "g7";
  pool.uid = "9311";
  replica->mirror->Tell(pool, WordOf(EventReason::kNodePoolNodeConfigUpdateConflict), "Both.");
  replica->mirror->Put(MakeEvent("after", 1, -absl::Seconds(1)));
  Await("after", 1);
  Json told;
  EXPECT_TRUE(reader_
                  ->List(kubernetes::kEventsPath, {},
                         [&](const Json& event) {
                           if (event["type"] == "Warning") told = event;
                         })
                  .ok());
  EXPECT_EQ(told["regarding"]["kind"], "NodePool");
  EXPECT_EQ(told["regarding"]["uid"], "9311");
  EXPECT_EQ(told["note"], "Both.");
}

}  // namespace
}  // namespace muster::testing
