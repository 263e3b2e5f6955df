#include "services/kubernetes/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/common/log.h"
#include "tests/testing/patience.h"

namespace muster::kubernetes {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() {
    log::SetSink([this](absl::string_view line) {
      MutexLock lock(mutex_);
      lines_.emplace_back(line);
    });
  }
  ~ControllerTest() override { log::SetSink({}); }

  // Fails so often with the status, then succeeds; what was logged of it, debug lines left out.
  std::vector<std::string> LogOf(const absl::Status& status, int failures) {
    int looks = 0;
    std::atomic<bool> done = false;
    Controller controller(
        "node", 1,
        [&](const std::string&) -> Outcome {
          if (looks++ < failures) return status;
          done = true;
          return {};
        },
        metrics_.get(),
        {.first_retry = absl::Microseconds(1), .last_retry = absl::Microseconds(1)});
    controller.Start();
    controller.Add("g1");
    testing::Until([&] { return done.load(); }, "a success");
    controller.Stop();
    MutexLock lock(mutex_);
    return std::exchange(lines_, {});
  }

  prometheus::Registry registry_;
  std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>(registry_, "host");
  Mutex mutex_;
  std::vector<std::string> lines_ MUSTER_GUARDED_BY(mutex_);
};

TEST_F(ControllerTest, WhatMayPassByItselfIsToldOnceItDoesNotAndThenAtGrowingDistances) {
  const absl::Status away = absl::UnavailableError("no route");
  EXPECT_THAT(LogOf(away, 7), SizeIs(0));
  EXPECT_THAT(LogOf(away, 20),
              ElementsAre(AllOf(HasSubstr("\"level\":\"warn\""),
                                HasSubstr("reconciliation fails again and again"),
                                HasSubstr("\"controller\":\"node\",\"key\":\"g1\""),
                                HasSubstr("UNAVAILABLE: no route"), HasSubstr("\"failures\":8")),
                          HasSubstr("\"failures\":16")));
}

TEST_F(ControllerTest, AnErrorThatStaysIsToldAtOnceAndNotForEver) {
  const auto lines = LogOf(absl::InvalidArgumentError("no such field"), 100);
  ASSERT_THAT(lines, SizeIs(7 + 4));
  for (size_t i = 0; i < 7; ++i) EXPECT_THAT(lines[i], HasSubstr("\"reconciliation failed\""));
  EXPECT_THAT(lines.back(), HasSubstr("\"failures\":64"));
}

TEST_F(ControllerTest, OfTheRetryAndWhatIsDueTheSoonerCounts) {
  constexpr absl::Duration kNow = absl::Microseconds(1);
  constexpr absl::Duration kLate = absl::Hours(1);
  for (const auto& [again, retry] : {std::pair(kNow, kLate), {kLate, kNow}}) {
    std::atomic<int> looks = 0;
    const auto reconcile = [&, again = again](const std::string&) {
      ++looks;
      Outcome outcome(absl::UnavailableError("a label is held back"));
      outcome.again = again;
      return outcome;
    };
    Controller controller("node", 1, reconcile, metrics_.get(),
                          {.first_retry = retry, .last_retry = retry});
    controller.Start();
    controller.Add("g1");
    testing::Until([&] { return looks > 1; }, "another look");
    controller.Stop();
  }
}

TEST_F(ControllerTest, AfterASuccessItIsCountedAnew) {
  EXPECT_THAT(LogOf(absl::UnavailableError("no route"), 7), SizeIs(0));
  int looks = 0;
  std::atomic<bool> done = false;
  Controller controller(
      "pool", 1,
      [&](const std::string&) -> Outcome {
        ++looks;
        if (looks == 20) done = true;
        if (looks == 20 || looks == 7) return looks == 7 ? Later(absl::ZeroDuration()) : Outcome();
        return absl::UnavailableError("no route");
      },
      metrics_.get(), {.first_retry = absl::Microseconds(1), .last_retry = absl::Microseconds(1)});
  controller.Start();
  controller.Add("p1");
  testing::Until([&] { return done.load(); }, "a success");
  controller.Stop();
  MutexLock lock(mutex_);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("\"failures\":8")));
}

}  // namespace
}  // namespace muster::kubernetes
