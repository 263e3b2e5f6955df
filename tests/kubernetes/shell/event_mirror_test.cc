#include "services/kubernetes/event_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "prometheus/registry.h"
#include "services/common/log.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/core/names.h"
#include "tests/kubernetes/fake_api_server/fake_api_server.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using kubernetes::Client;
using kubernetes::EventMirror;
using kubernetes::Json;

lifecycle::v1::Event MakeEvent(const std::string& id, int64_t count, absl::Duration age = {}) {
  lifecycle::v1::Event event;
  event.set_name("organizations/acme/clusters/c1/events/" + id);
  event.set_object("organizations/acme/clusters/c1/nodePools/a/nodes/g7");
  event.set_type("Normal");
  event.set_reason("CWNodeRegistered");
  event.set_message("Node is registered.");
  event.set_count(count);
  static const absl::Time began = absl::Now();
  event.mutable_first_time()->set_seconds(absl::ToUnixSeconds(began - age));
  *event.mutable_last_time() = event.first_time();
  return event;
}

std::string NameOf(const Json& event) { return event["metadata"]["name"]; }

int64_t VersionOf(const Json& event) {
  return std::stoll(event["metadata"]["resourceVersion"].get<std::string>());
}

class EventMirrorTest : public ::testing::Test {
 protected:
  // One that writes under that name.
  struct Replica {
    std::unique_ptr<Client> client;
    prometheus::Registry registry;
    kubernetes::Metrics metrics{registry, "host"};
    std::unique_ptr<EventMirror> mirror;
    ~Replica() {
      client->Stop();
      mirror->Stop();
    }
  };

  std::unique_ptr<Client> Connect(const std::string& agent) {
    auto client = Client::Create({.server = server_.url()}, {.user_agent = agent});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  std::unique_ptr<Replica> MakeReplica(const std::string& name) {
    EventMirror::Options options{.writers = 1};
    options.node_of = [](const std::string& machine) {
      return kubernetes::EventNode{.name = "node-of-" + machine, .uid = "uid-of-" + machine};
    };
    return MakeReplica(name, options);
  }
  std::unique_ptr<Replica> MakeReplica(const std::string& name, EventMirror::Options options,
                                       const SteadyClock* clock = TheSteadyClock()) {
    auto replica = std::make_unique<Replica>();
    replica->client = Connect(name);
    options.instance = name;
    replica->mirror =
        std::make_unique<EventMirror>(replica->client.get(), &replica->metrics, options, clock);
    return replica;
  }
  // Waits until the event of that id was counted so often; as it is then.
  Json Await(const std::string& id, int64_t count) {
    Json found;
    const auto fits = [&](const Json& event) {
      if (!absl::EndsWith(NameOf(event), "." + id) || kubernetes::EventCount(event) != count)
        return false;
      found = event;
      return true;
    };
    const auto version =
        reader_->List(kubernetes::kEventsPath, {}, [&](const Json& event) { fits(event); });
    EXPECT_TRUE(version.ok()) << version.status();
    if (found.is_null() && version.ok()) {
      (void)reader_->Watch(kubernetes::kEventsPath, {}, *version,
                           [&](absl::string_view type, const Json& event) {
                             return type == "BOOKMARK" || !fits(event);
                           });
    }
    return found;
  }
  int Events() {
    int events = 0;
    EXPECT_TRUE(reader_->List(kubernetes::kEventsPath, {}, [&](const Json&) { ++events; }).ok());
    return events;
  }

  FakeApiServer server_;
  std::unique_ptr<Client> reader_ = Connect("reader");
};

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

TEST_F(EventMirrorTest, OneThatIsRefusedIsNotInTheWay) {
  const auto replica = MakeReplica("one");
  replica->mirror->Put(MakeEvent("bad", 1, absl::Minutes(1)));
  replica->mirror->Put(MakeEvent("good", 1));
  server_.FailNext({.verb = "POST", .path_prefix = kubernetes::kEventsPath, .code = 422});
  replica->mirror->Start();
  Await("good", 1);
  EXPECT_EQ(Events(), 1);
}

// As a policy does, for as long as it is there. There are no more writers than events that it forbids, and they come first.
TEST_F(EventMirrorTest, ThoseThatAreForbiddenAreNotInTheWay) {
  constexpr int kGood = 20;
  EventMirror::Options options{.writers = 2};
  options.node_of = [](const std::string&) { return kubernetes::EventNode(); };
  const auto replica = MakeReplica("one", options);
  for (const char* id : {"bad1", "bad2", "bad3"}) {
    auto bad = MakeEvent(id, 1, absl::Minutes(1));
    bad.set_type("Warning");
    bad.set_message("Nobody may say so.");
    replica->mirror->Put(bad);
  }
  for (int i = 0; i < kGood; ++i) replica->mirror->Put(MakeEvent(absl::StrCat("good", i), 1));
  server_.FailNext({.verb = "POST",
                    .path_prefix = kubernetes::kEventsPath,
                    .code = 403,
                    .count = 1'000'000,
                    .body_contains = "Nobody may say so."});
  replica->mirror->Start();
  Until([&] { return Events() == kGood; }, "what is not forbidden");
  replica->mirror->Put(MakeEvent("late", 1));
  Until([&] { return Events() == kGood + 1; }, "one that comes while they wait");
  server_.FailNoMore();
  Until([&] { return Events() == kGood + 4; }, "what was forbidden");
}

TEST_F(EventMirrorTest, TheRightToWriteAnyThatIsGivenBackIsUsedForAll) {
  constexpr int kEvents = 20;
  const auto replica = MakeReplica("one");
  server_.FailNext(
      {.verb = "POST", .path_prefix = kubernetes::kEventsPath, .code = 403, .count = 1'000'000});
  for (int i = 0; i < kEvents; ++i) replica->mirror->Put(MakeEvent(absl::StrCat("e", i), 1));
  replica->mirror->Start();
  Until([&] { return std::ssize(server_.requests()) > kEvents; }, "that each is refused");
  EXPECT_EQ(Events(), 0);
  server_.FailNoMore();
  Until([&] { return Events() == kEvents; }, "all of them");
}

TEST_F(EventMirrorTest, OneThatIsNotWrittenInTimeIsCountedWhoeverHasIt) {
  std::atomic<int> told = 0;
  log::SetSink([&](absl::string_view line) {
    told += absl::StrContains(line, "events cannot be written") ? 1 : 0;
  });
  EventMirror::Options options{.writers = 1, .keep = absl::Seconds(3)};
  options.node_of = [](const std::string&) { return kubernetes::EventNode(); };
  const auto replica = MakeReplica("one", options);
  server_.FailNext(
      {.verb = "POST", .path_prefix = kubernetes::kEventsPath, .code = 403, .count = 1'000'000});
  replica->mirror->Start();
  replica->mirror->Put(MakeEvent("e1", 1));
  const auto dropped = [&] {
    for (const auto& family : replica->registry.Collect()) {
      if (family.name == "muster_kubernetes_events_dropped_total")
        return family.metric.at(0).counter.value;
    }
    return -1.0;
  };
  Until([&] { return dropped() == 1; }, "that it is counted");
  log::SetSink(nullptr);
  EXPECT_EQ(told, 1);
}

TEST_F(EventMirrorTest, OneThatFailedIsTriedAgain) {
  const auto replica = MakeReplica("one");
  server_.FailNext({.verb = "POST", .path_prefix = kubernetes::kEventsPath, .code = 500});
  replica->mirror->Start();
  replica->mirror->Put(MakeEvent("e1", 1));
  EXPECT_FALSE(Await("e1", 1).is_null());
}

// The time of day is five minutes behind then: another event than the one that failed is written at once.
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
  replica->mirror->Tell(pool, "Warning", "CWNodePoolNodeConfigUpdateConflict", "Both.");
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
