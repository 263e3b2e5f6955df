#include "tests/observability/fault_drill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

namespace muster::testing {
namespace {

// As long as what an hour counts is seen, and a minute.
constexpr absl::Duration kDrillPatience = absl::Minutes(2);

// Looks at what fires until `so`, or in vain; how long that took.
absl::Duration Watch(const Prometheus& prometheus, const std::function<void()>& meanwhile,
                     const std::function<bool(const std::set<std::string>&)>& so) {
  const absl::Time begin = absl::Now();
  while (absl::Now() - begin < kDrillPatience) {
    if (meanwhile) meanwhile();
    if (so(prometheus.Firing())) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return absl::Now() - begin;
}

void Keep(const std::string& row, const std::string& name, const std::string& shift) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::filesystem::create_directories(MUSTER_ON_CALL);
  std::ofstream(
      absl::StrCat(MUSTER_ON_CALL, "/", test->test_suite_name(), ".", test->name(), ".md"))
      << row << "\n## " << name << "\n\n"
      << shift;
}

}  // namespace

void Drill(const Prometheus& prometheus, const Fault& fault, const Desk& desk) {
  std::set<std::string> firing;
  const auto none = [&](const std::set<std::string>& now) {
    firing = now;
    for (const std::string& name : fault.may_linger) firing.erase(name);
    return firing.empty();
  };
  Watch(prometheus, {}, none);
  ASSERT_THAT(firing, ::testing::IsEmpty()) << "before " << fault.name;

  std::set<std::string> fired;
  const absl::Time begin = absl::Now();
  fault.inject();
  const absl::Duration until_fired =
      Watch(prometheus, fault.meanwhile, [&](const std::set<std::string>& now) {
        fired.insert(now.begin(), now.end());
        return std::includes(fired.begin(), fired.end(), fault.alerts.begin(), fault.alerts.end());
      });
  EXPECT_TRUE(std::includes(fired.begin(), fired.end(), fault.alerts.begin(), fault.alerts.end()))
      << "of " << absl::StrJoin(fault.alerts, ", ") << " only " << absl::StrJoin(fired, ", ");
  const Shift shift = ShiftOf(desk, prometheus, begin);
  fault.mend();
  const absl::Duration until_ceased = Watch(prometheus, {}, [&](const std::set<std::string>& now) {
    fired.insert(now.begin(), now.end());
    return none(now);
  });
  EXPECT_THAT(firing, ::testing::IsEmpty()) << "after " << fault.name;
  for (const std::string& name : fired)
    EXPECT_TRUE(fault.alerts.contains(name) || fault.may_fire.contains(name)) << name;
  const std::string row = absl::StrCat(
      "| ", fault.name, " | ", absl::StrJoin(fired, ", "), " | ", absl::ToInt64Seconds(until_fired),
      " s | ", absl::ToInt64Seconds(until_ceased), " s | ", shift.looks, " | ", shift.explained,
      " | ", shift.page, " | ", shift.log, " |\n");
  std::cout << row;
  Keep(row, fault.name, shift.text);
}

}  // namespace muster::testing
