#include "services/kubernetes/leader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "services/kubernetes/core/text.h"
#include "tests/kubernetes/fake_api_server/fake_api_server.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using kubernetes::Client;
using kubernetes::Json;
using kubernetes::Leader;

constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
constexpr char kLease[] = "/apis/coordination.k8s.io/v1/namespaces/default/leases/adapter";

class LeaderTest : public ::testing::Test {
 protected:
  LeaderTest() : client_(Connect()) {}

  std::unique_ptr<Client> Connect() {
    auto client = Client::Create({.server = server_.url()}, {});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  // An hour that no test lives to see, and retries at once.
  static Leader::Options MakeOptions(const std::string& identity) {
    return {.name_space = "default",
            .lease = "adapter",
            .identity = identity,
            .lease_duration = absl::Hours(1),
            .renew_deadline = absl::Minutes(30),
            .retry_period = absl::Milliseconds(1)};
  }
  Json Spec() {
    const auto lease = client_->Get(kLease);
    EXPECT_TRUE(lease.ok()) << lease.status();
    return lease.ok() ? (*lease)["spec"] : Json();
  }
  // Null: there is none, or no Lease.
  Json Annotation() {
    const auto lease = client_->Get(kLease);
    return lease.ok() ? kubernetes::MemberOf(*lease, "metadata", "annotations", "example.com/note")
                      : Json();
  }
  void Annotate(const Json& note) {
    const Json patch = {{"metadata", {{"annotations", {{"example.com/note", note}}}}}};
    const auto patched = client_->Patch(kubernetes::PatchType::kMerge, kLease, patch);
    ASSERT_TRUE(patched.ok()) << patched.status();
  }
  // Somebody else takes the Lease, for so many seconds.
  void Seize(const std::string& identity, int seconds) {
    const Json spec = {{"holderIdentity", identity}, {"leaseDurationSeconds", seconds}};
    auto lease = client_->Get(kLease);
    if (lease.ok()) {
      const auto patched = client_->Patch(kubernetes::PatchType::kMerge, kLease, {{"spec", spec}});
      ASSERT_TRUE(patched.ok()) << patched.status();
      return;
    }
    const auto made =
        client_->Create(kLeases, {{"apiVersion", "coordination.k8s.io/v1"},
                                  {"kind", "Lease"},
                                  {"metadata", {{"name", "adapter"}, {"namespace", "default"}}},
                                  {"spec", spec}});
    ASSERT_TRUE(made.ok()) << made.status();
  }
  // Whoever holds the Lease renews it at that time of some clock.
  void Renew(absl::Duration time) {
    const std::string now = kubernetes::MicroTime(absl::UnixEpoch() + time);
    const auto patched =
        client_->Patch(kubernetes::PatchType::kMerge, kLease, {{"spec", {{"renewTime", now}}}});
    ASSERT_TRUE(patched.ok()) << patched.status();
  }

  FakeApiServer server_;
  std::unique_ptr<Client> client_;
};

TEST_F(LeaderTest, TakesALeaseThatNobodyHas) {
  Leader leader(client_.get(), MakeOptions("one"));
  EXPECT_FALSE(leader.Leads());
  ASSERT_TRUE(leader.Acquire());
  EXPECT_TRUE(leader.Leads());
  EXPECT_EQ(Spec()["holderIdentity"], "one");
  EXPECT_EQ(Spec()["leaseDurationSeconds"], 3600);
  EXPECT_EQ(Spec()["leaseTransitions"], 0);
  EXPECT_TRUE(Spec().contains("renewTime"));
}

TEST_F(LeaderTest, GivesItBackSoThatAnotherNeedNotWait) {
  Leader one(client_.get(), MakeOptions("one"));
  ASSERT_TRUE(one.Acquire());
  one.Stop();
  EXPECT_FALSE(one.Leads());
  EXPECT_FALSE(Spec().contains("holderIdentity"));
  Leader two(client_.get(), MakeOptions("two"));
  ASSERT_TRUE(two.Acquire());
  EXPECT_EQ(Spec()["holderIdentity"], "two");
  EXPECT_EQ(Spec()["leaseTransitions"], 1);
}

TEST_F(LeaderTest, GivesNothingBackThatIsAnothersByNow) {
  Leader one(client_.get(), MakeOptions("one"));
  ASSERT_TRUE(one.Acquire());
  Seize("other", 3600);
  one.Stop();
  EXPECT_EQ(Spec()["holderIdentity"], "other");
  EXPECT_EQ(Spec()["leaseDurationSeconds"], 3600);
}

TEST_F(LeaderTest, WaitsForTheOther) {
  Leader one(client_.get(), MakeOptions("one"));
  ASSERT_TRUE(one.Acquire());
  const auto client = Connect();
  Leader two(client.get(), MakeOptions("two"));
  bool led = false;
  std::thread waits([&] { led = two.Acquire(); });
  one.Stop();
  waits.join();
  EXPECT_TRUE(led);
  EXPECT_EQ(Spec()["holderIdentity"], "two");
}

TEST_F(LeaderTest, StopEndsTheWait) {
  Seize("other", 3600);
  Leader leader(client_.get(), MakeOptions("one"));
  bool led = true;
  std::thread waits([&] { led = leader.Acquire(); });
  leader.Stop();
  waits.join();
  EXPECT_FALSE(led);
  EXPECT_EQ(Spec()["holderIdentity"], "other");
}

TEST_F(LeaderTest, TakesOneThatExpiredByItsOwnClock) {
  Seize("dead", 1);
  Leader leader(client_.get(), MakeOptions("one"));
  ASSERT_TRUE(leader.Acquire());
  EXPECT_EQ(Spec()["holderIdentity"], "one");
}

// Who waits counts from the last renewal that it saw, not from the first.
TEST_F(LeaderTest, OneThatIsRenewedIsNotTakenHoweverLongOneWaits) {
  Seize("other", 3600);
  absl::Duration uptime;
  bool renews = true;
  int looks = 0;
  Leader::Options options = MakeOptions("one");
  options.uptime = [&] { return uptime; };
  options.given_up = [&] {
    uptime += absl::Minutes(40);
    if (renews) Renew(uptime);
    return ++looks == 5;
  };
  Leader leader(client_.get(), options);
  EXPECT_FALSE(leader.Acquire());
  EXPECT_EQ(looks, 5);
  EXPECT_EQ(Spec()["holderIdentity"], "other");

  renews = false;
  EXPECT_TRUE(leader.Acquire());
  EXPECT_EQ(Spec()["holderIdentity"], "one");
}

// Others wait from when they see a write, which may be carried out soon after it was begun.
TEST_F(LeaderTest, ARenewalCountsFromWhenItWasBegun) {
  std::atomic<int> minutes = 0;
  const auto client = Client::Create({.server = server_.url()}, {.may_write = [&] {
                                       minutes += 40;
                                       return true;
                                     }});
  ASSERT_TRUE(client.ok()) << client.status();
  Leader::Options options = MakeOptions("one");
  options.uptime = [&] { return absl::Minutes(minutes.load()); };
  Leader leader(client->get(), options);
  ASSERT_TRUE(leader.Acquire());
  EXPECT_FALSE(leader.Leads()) << "its 30 min were over before the write was";
}

TEST_F(LeaderTest, NoLeaseIsTakenThatMayNotBe) {
  Seize("dead", 1);
  int asked = 0;
  Leader::Options options = MakeOptions("one");
  options.may_take = [&] {
    ++asked;
    return absl::UnavailableError("not known whose it is");
  };
  options.given_up = [&] { return asked == 2; };
  Leader leader(client_.get(), options);
  EXPECT_FALSE(leader.Acquire());
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(Spec()["holderIdentity"], "dead");
}

TEST_F(LeaderTest, OneThatIsGivenUpIsGivenBack) {
  Leader::Options options = MakeOptions("one");
  options.given_up = [] { return true; };
  Leader leader(client_.get(), options);
  EXPECT_FALSE(leader.Acquire());
  EXPECT_FALSE(leader.Leads());
  EXPECT_FALSE(Spec().contains("holderIdentity"));
}

// Stopped while the Lease is being taken: nobody is to wait for one who does not work.
TEST_F(LeaderTest, OneThatWasStoppedKeepsNothing) {
  {
    Leader leader(client_.get(), MakeOptions("one"));
    leader.Stop();
    EXPECT_FALSE(leader.Acquire());
    EXPECT_FALSE(leader.Leads());
    EXPECT_FALSE(Spec().contains("holderIdentity"));
  }
  Leader leader(client_.get(), MakeOptions("two"));
  ASSERT_TRUE(leader.Acquire());
  leader.Stop();
  leader.Hold([] { ADD_FAILURE() << "it was not lost"; });
  // Ends without a thread left behind.
}

TEST_F(LeaderTest, ALeaseLastsAtLeastAsLongAsItsHolderThinks) {
  Leader::Options options = MakeOptions("one");
  options.lease_duration = absl::Milliseconds(1500);
  options.renew_deadline = absl::Milliseconds(1400);
  Leader leader(client_.get(), options);
  ASSERT_TRUE(leader.Acquire());
  EXPECT_EQ(Spec()["leaseDurationSeconds"], 2) << "whole seconds, rounded up";
}

// What it was told by others stands on it for longer than the Lease is there.
TEST_F(LeaderTest, AnnotationsOutliveTheLeaseByWhoeverMakesItAnew) {
  Leader one(client_.get(), MakeOptions("one"));
  ASSERT_TRUE(one.Acquire());
  Annotate("a");
  const auto renewed = [&] { return Spec()["renewTime"]; };
  one.Hold([] {});
  const Json before = renewed();
  Until([&] { return renewed() != before; }, "a look at the annotation");
  ASSERT_TRUE(client_->Delete(kLease).ok());
  Until([&] { return Annotation() == "a"; }, "the leader's Lease");

  const auto client = Connect();
  Leader two(client.get(), MakeOptions("two"));
  bool led = false;
  Annotate("b");
  std::thread waits([&] { led = two.Acquire(); });
  one.Stop();
  waits.join();
  ASSERT_TRUE(led);
  ASSERT_TRUE(client_->Delete(kLease).ok());
  two.Hold([] {});
  Until([&] { return Annotation() == "b"; }, "the Lease of the one that waited");

  Annotate(nullptr);
  const Json cleared = renewed();
  Until([&] { return renewed() != cleared; }, "a look at it");
  ASSERT_TRUE(client_->Delete(kLease).ok());
  Until([&] { return client_->Get(kLease).ok(); }, "the Lease");
  EXPECT_EQ(Annotation(), Json()) << "what was taken off stays off";
}

// Whoever holds it does not know yet, and works on.
TEST_F(LeaderTest, OneThatIsDeletedIsStillItsHolders) {
  Seize("other", 3600);
  int looks = 0;
  Leader::Options options = MakeOptions("one");
  options.given_up = [&] {
    const bool first = ++looks == 1;
    EXPECT_TRUE(!first || client_->Delete(kLease).ok());
    return looks == 5;
  };
  Leader leader(client_.get(), options);
  EXPECT_FALSE(leader.Acquire());
  EXPECT_EQ(looks, 5);
  EXPECT_TRUE(absl::IsNotFound(client_->Get(kLease).status()));
}

TEST_F(LeaderTest, OneThatIsDeletedIsTakenOnceItsHolderHasStopped) {
  Seize("dead", 1);
  int looks = 0;
  Leader::Options options = MakeOptions("one");
  options.given_up = [&] {
    const bool first = ++looks == 1;
    EXPECT_TRUE(!first || client_->Delete(kLease).ok());
    return false;
  };
  Leader leader(client_.get(), options);
  ASSERT_TRUE(leader.Acquire());
  EXPECT_EQ(Spec()["holderIdentity"], "one");
}

TEST_F(LeaderTest, OneThatIsDeletedIsMadeAnewByWhoTookItFromAnother) {
  Seize("dead", 1);
  Leader leader(client_.get(), MakeOptions("one"));
  ASSERT_TRUE(leader.Acquire());
  ASSERT_TRUE(client_->Delete(kLease).ok());
  leader.Hold([] { ADD_FAILURE() << "nobody else holds it"; });
  Until([&] { return client_->Get(kLease).ok(); }, "the Lease");
  EXPECT_EQ(Spec()["holderIdentity"], "one");
}

TEST_F(LeaderTest, NoticesThatItWasTaken) {
  Leader leader(client_.get(), MakeOptions("one"));
  ASSERT_TRUE(leader.Acquire());
  Seize("other", 3600);
  absl::Notification lost;
  leader.Hold([&] { lost.Notify(); });
  lost.WaitForNotification();
  EXPECT_FALSE(leader.Leads());
  leader.Stop();
  EXPECT_EQ(Spec()["holderIdentity"], "other");
}

TEST_F(LeaderTest, StopsWhenItCannotRenew) {
  Leader::Options options = MakeOptions("one");
  options.renew_deadline = absl::Milliseconds(100);
  Leader leader(client_.get(), options);
  ASSERT_TRUE(leader.Acquire());
  server_.SetRefusing(true);
  absl::Notification lost;
  leader.Hold([&] { lost.Notify(); });
  lost.WaitForNotification();
  EXPECT_FALSE(leader.Leads());
  server_.SetRefusing(false);
}

// Whoever was frozen between what it read and what it makes of it writes nothing.
TEST_F(LeaderTest, WritesNothingOnWhatItReadLongAgo) {
  Leader::Options options = MakeOptions("one");
  options.renew_deadline = absl::Nanoseconds(1);
  absl::Notification asked;
  std::unique_ptr<Leader> leader;
  auto client = Client::Create({.server = server_.url()}, {.may_write = [&] {
                                 if (!asked.HasBeenNotified()) asked.Notify();
                                 return leader->MayWrite();
                               }});
  ASSERT_TRUE(client.ok()) << client.status();
  leader = std::make_unique<Leader>(client->get(), options);
  std::thread stopper([&] {
    asked.WaitForNotification();
    leader->Stop();
  });
  EXPECT_FALSE(leader->Acquire());
  stopper.join();
  EXPECT_TRUE(absl::IsNotFound(client_->Get(kLease).status()));
}

TEST_F(LeaderTest, FindsItsOwnAfterAnAnswerThatWasLost) {
  server_.FailNext({.verb = "POST", .path_prefix = kLeases, .code = 500, .is_carried_out = true});
  Leader leader(client_.get(), MakeOptions("one"));
  ASSERT_TRUE(leader.Acquire());
  EXPECT_TRUE(leader.Leads());
  EXPECT_EQ(Spec()["leaseTransitions"], 0);
}

}  // namespace
}  // namespace muster::testing
