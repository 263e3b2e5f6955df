#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/log.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/core/names.h"
#include "tests/kubernetes/shell/event_mirror_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

class EventRefusalsTest : public EventMirrorTest {
 protected:
  static EventMirror::Options ShortLived(int writers) {
    EventMirror::Options options{.writers = writers, .keep = absl::Seconds(3)};
    options.node_of = [](const std::string&) { return kubernetes::EventNode(); };
    return options;
  }
  // How many the replica has dropped.
  static double Dropped(Replica& replica) {
    for (const auto& family : replica.registry.Collect()) {
      if (family.name == "muster_kubernetes_events_dropped_total")
        return family.metric.at(0).counter.value;
    }
    return -1;
  }
  // As a policy does, for as long as it is there. Empty: all.
  void Forbid(const std::string& message) {
    server_.FailNext({.verb = "POST",
                      .path_prefix = kubernetes::kEventsPath,
                      .code = 403,
                      .count = 1'000'000,
                      .body_contains = message});
  }
  // Until `so` holds: one event after the other that is forbidden, one each pause.
  template <class F>
  void UntilWithForbiddenOnes(Replica& replica, absl::Duration pause, F so, const char* what) {
    Forbid(kForbidden);
    int count = 0;
    absl::Duration next = -absl::InfiniteDuration();
    const auto feed = [&] {
      const absl::Duration now = TheSteadyClock()->Now();
      if (now >= next) {
        next = now + pause;
        auto bad = MakeNewEvent(absl::StrCat("bad", ++count));
        bad.set_message(kForbidden);
        replica.mirror->Put(bad);
      }
      return so();
    };
    Until(feed, what);
  }

  static constexpr char kForbidden[] = "Nobody may say so.";
};

TEST_F(EventRefusalsTest, OneThatIsRefusedIsNotInTheWay) {
  const auto replica = MakeReplica("one");
  replica->mirror->Put(MakeEvent("bad", 1, absl::Minutes(1)));
  replica->mirror->Put(MakeEvent("good", 1));
  server_.FailNext({.verb = "POST", .path_prefix = kubernetes::kEventsPath, .code = 422});
  replica->mirror->Start();
  Await("good", 1);
  EXPECT_EQ(Events(), 1);
}

// There are no more writers than events that it forbids, and they come first.
TEST_F(EventRefusalsTest, ThoseThatAreForbiddenAreNotInTheWay) {
  constexpr int kGood = 20;
  EventMirror::Options options{.writers = 2};
  options.node_of = [](const std::string&) { return kubernetes::EventNode(); };
  const auto replica = MakeReplica("one", options);
  for (const char* id : {"bad1", "bad2", "bad3"}) {
    auto bad = MakeEvent(id, 1, absl::Minutes(1));
    bad.set_type("Warning");
    bad.set_message(kForbidden);
    replica->mirror->Put(bad);
  }
  for (int i = 0; i < kGood; ++i) replica->mirror->Put(MakeEvent(absl::StrCat("good", i), 1));
  Forbid(kForbidden);
  replica->mirror->Start();
  Until([&] { return Events() == kGood; }, "what is not forbidden");
  replica->mirror->Put(MakeEvent("late", 1));
  Until([&] { return Events() == kGood + 1; }, "one that comes while they wait");
  server_.FailNoMore();
  Until([&] { return Events() == kGood + 4; }, "what was forbidden");
}

// They come faster than they are refused.
TEST_F(EventRefusalsTest, OneThatWasRefusedIsTriedAgainThoughNewOnesThatAreForbiddenKeepComing) {
  const auto replica = MakeReplica("one");
  auto once = MakeEvent("once", 1, absl::Minutes(1));
  once.set_message("Not yet.");
  server_.FailNext({.verb = "POST",
                    .path_prefix = kubernetes::kEventsPath,
                    .code = 403,
                    .body_contains = "Not yet."});
  replica->mirror->Put(once);
  replica->mirror->Start();
  UntilWithForbiddenOnes(
      *replica, absl::Milliseconds(200), [&] { return Events() == 1; }, "that it is tried again");
}

TEST_F(EventRefusalsTest, WhatIsRefusedIsDroppedInTimeThoughNewOnesThatAreForbiddenKeepComing) {
  const auto replica = MakeReplica("one", ShortLived(1));
  replica->mirror->Start();
  // Each is refused before the next comes.
  UntilWithForbiddenOnes(
      *replica, absl::Milliseconds(700), [&] { return Dropped(*replica) >= 4; },
      "that the first of them are dropped");
}

TEST_F(EventRefusalsTest, WhatWaitsForAListThatIsForbiddenIsDroppedInTime) {
  const auto replica = MakeReplica("one", ShortLived(2));
  server_.FailNext(
      {.verb = "LIST", .path_prefix = kubernetes::kEventsPath, .code = 403, .count = 1'000'000});
  replica->mirror->Start();
  replica->mirror->Put(MakeNewEvent("e1"));
  Until([&] { return Dropped(*replica) == 1; }, "that it is counted");
}

TEST_F(EventRefusalsTest, TheRightToWriteAnyThatIsGivenBackIsUsedForAll) {
  constexpr int kEvents = 20;
  const auto replica = MakeReplica("one");
  Forbid("");
  for (int i = 0; i < kEvents; ++i) replica->mirror->Put(MakeEvent(absl::StrCat("e", i), 1));
  replica->mirror->Start();
  Until([&] { return std::ssize(server_.requests()) > kEvents; }, "that each is refused");
  EXPECT_EQ(Events(), 0);
  server_.FailNoMore();
  Until([&] { return Events() == kEvents; }, "all of them");
}

TEST_F(EventRefusalsTest, OneThatIsNotWrittenInTimeIsCountedWhoeverHasIt) {
  std::atomic<int> told = 0;
  log::SetSink([&](absl::string_view line) {
    told += absl::StrContains(line, "events cannot be written") ? 1 : 0;
  });
  const auto replica = MakeReplica("one", ShortLived(1));
  Forbid("");
  replica->mirror->Start();
  // On a busy machine one may be over before it is tried, and nothing is told of it.
  int put = 0;
  const auto is_counted = [&] {
    if (Dropped(*replica) != put) return false;
    if (put > 0 && told > 0) return true;
    replica->mirror->Put(MakeNewEvent(absl::StrCat("e", ++put)));
    return false;
  };
  Until(is_counted, "that one that was tried is counted");
  log::SetSink(nullptr);
  EXPECT_EQ(told, 1);
}

TEST_F(EventRefusalsTest, OneThatFailedIsTriedAgain) {
  const auto replica = MakeReplica("one");
  server_.FailNext({.verb = "POST", .path_prefix = kubernetes::kEventsPath, .code = 500});
  replica->mirror->Start();
  replica->mirror->Put(MakeEvent("e1", 1));
  EXPECT_FALSE(Await("e1", 1).is_null());
}

}  // namespace
}  // namespace muster::testing
