#include "services/musterd/vital_signs.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "services/common/counting_clock.h"
#include "services/rpc/client/health.h"
#include "services/rpc/metrics.h"
#include "tests/testing/patience.h"

namespace muster::musterd {
namespace {

using rpc::HealthAnswer;

class VitalSignsTest : public ::testing::Test {
 protected:
  VitalSignsTest() {
    server_ = std::move(rpc::Server::Create({.addresses = {"127.0.0.1:0"},
                                             .metrics = &metrics_,
                                             .drain_delay = absl::ZeroDuration()}))
                  .value();
    EXPECT_TRUE(server_->Start().ok());
    parts_.push_back({.name = "quota", .rpc = {"quota"}, .ready = [this] {
                        ++asked_;
                        ++at_the_lock_;
                        MutexLock lock(lane_);
                        --at_the_lock_;
                        return ready_.load();
                      }});
    signs_ = std::make_unique<VitalSigns>(
        VitalSigns::Options{.servers = {{server_.get()}},
                            .parts = &parts_,
                            .listeners = {{.address = absl::StrCat("127.0.0.1:", server_->port())}},
                            .life = {.notifier = daemon::Notifier(""), .clock = &clock_}});
  }
  ~VitalSignsTest() override { signs_->Stop(); }

  void Await(const std::string& service, HealthAnswer wanted) const {
    testing::Until(
        [&] {
          return rpc::AskHealth(server_->InProcessChannel(), service, absl::Seconds(10)) == wanted;
        },
        service);
  }
  // Until the loop has begun that many turns more.
  void AwaitTurns(int turns) const {
    const int until = asked_ + turns;
    testing::Until([&] { return asked_ >= until; }, "turns");
  }
  // Until the loop waits for lane_, which the caller holds. A turn may have begun before it took
  // it.
  void AwaitHung() const {
    testing::Until([&] { return at_the_lock_ > 0; }, "a turn that hangs");
  }

  CountingClock clock_;  // loops that beat ask it, and looks whether they do
  rpc::Metrics metrics_;
  std::unique_ptr<rpc::Server> server_;
  Mutex lane_;
  std::atomic<bool> ready_ = true;
  std::atomic<int> asked_ = 0;
  std::atomic<int> at_the_lock_ = 0;  // turns that wait for lane_
  std::vector<ServicePart> parts_;
  std::unique_ptr<VitalSigns> signs_;
};

TEST_F(VitalSignsTest, WhatIsNotReadyLives) {
  Await("", HealthAnswer::kServing);
  Await(kLive, HealthAnswer::kServing);
  ready_ = false;
  Await("", HealthAnswer::kNotServing);
  Await("quota", HealthAnswer::kNotServing);
  clock_.clock.Advance(absl::Hours(1));
  AwaitTurns(2);  // one of them began after the hour
  // If nothing beats, these are looks, and health was told of the first.
  const int until = clock_.asked + 3;
  testing::Until([&] { return clock_.asked >= until; }, "looks");
  Await(kLive, HealthAnswer::kServing);
}

TEST_F(VitalSignsTest, ALockThatIsNeverGivenBackIsSeen) {
  Await(kLive, HealthAnswer::kServing);
  {
    MutexLock hung(lane_);
    AwaitHung();
    clock_.clock.Advance(daemon::kLifePatience + absl::Seconds(1));
    Await(kLive, HealthAnswer::kNotServing);
  }
  Await(kLive, HealthAnswer::kServing);
}

TEST_F(VitalSignsTest, WhoEndsIsNotHeldUpByALockThatIsNeverGivenBack) {
  Await("", HealthAnswer::kServing);
  {
    MutexLock hung(lane_);
    AwaitHung();
    signs_->Silence();
    server_->SetServing("", false);
  }
  signs_->Stop();
  EXPECT_EQ(rpc::AskHealth(server_->InProcessChannel(), "", absl::Seconds(10)),
            HealthAnswer::kNotServing)
      << "the turn that ended later told nobody";
}

}  // namespace
}  // namespace muster::musterd
