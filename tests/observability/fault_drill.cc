#include "tests/observability/fault_drill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tests/observability/alert_rules.h"
#include "tests/observability/panels.h"

namespace muster::testing {
namespace {

// How long a drill waits for alerts to fire or cease: a minute for windows of an hour
// (FasterRules), and one more.
constexpr absl::Duration kDrillPatience = absl::Minutes(2);

// Between two evaluations of the rules: an alert ceases at the one after the last at which it
// fired.
constexpr absl::Duration kBetweenLooks = absl::Seconds(1);

// Over which panels draw rates in a drill.
constexpr char kPanelInterval[] = "10s";

// Calls `meanwhile` and looks at what fires, again and again, until `so` holds for that or
// kDrillPatience is over.
void Watch(const Prometheus& prometheus, const std::function<void()>& meanwhile,
           const std::function<bool(const std::set<std::string>&)>& so) {
  const absl::Time begin = absl::Now();
  while (absl::Now() - begin < kDrillPatience) {
    if (meanwhile) meanwhile();
    if (so(prometheus.Firing())) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

bool HasAll(const std::set<std::string>& fired, const std::set<std::string>& wanted) {
  return std::includes(fired.begin(), fired.end(), wanted.begin(), wanted.end());
}

Drawn DrawPanel(const Prometheus& prometheus, const Fault& fault) {
  static const auto& dashboards = *new Dashboards(absl::StrCat(kObservability, "dashboards.yaml"));
  return Draw(dashboards, prometheus, fault.panel, kPanelInterval);
}

// How the fault is mended, as a table's cell; fails the test if the runbook does not have these
// words.
std::string MendingOf(const Fault& fault) {
  if (fault.runbook.empty()) {
    EXPECT_NE(fault.instead, "") << "neither words of the runbook nor others";
    return absl::StrCat("not by it: ", fault.instead);
  }
  const bool is_said =
      std::any_of(fault.alerts.begin(), fault.alerts.end(), [&](const std::string& alert) {
        return absl::StrContains(OneLine(RunbookOf(alert)), fault.runbook);
      });
  EXPECT_TRUE(is_said) << "the runbook does not say: " << fault.runbook;
  return absl::StrCat("as it says: ", fault.runbook);
}

std::string SecondsTold(absl::Duration time) {
  return absl::StrFormat("%.0f s", absl::ToDoubleSeconds(time));
}

std::string CeasedTold(const FiringTimes& times, absl::Time mended) {
  const absl::Duration after = times.last + kBetweenLooks - mended;
  return after > absl::ZeroDuration() ? SecondsTold(after) : "before it was mended";
}

void Keep(const std::string& row, const std::string& name, const std::string& shift,
          const std::string& alerts) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string file =
      absl::StrCat(MUSTER_ON_CALL, "/", test->test_suite_name(), ".", test->name());
  std::filesystem::create_directories(MUSTER_ON_CALL);
  std::ofstream(absl::StrCat(file, ".md")) << row << "\n## " << name << "\n\n" << shift;
  std::ofstream(absl::StrCat(file, ".alerts")) << alerts;
}

// A fault from its beginning to its end.
class Course {
 public:
  Course(const Prometheus& prometheus, const Fault& fault, const Desk& desk)
      : prometheus_(prometheus), fault_(fault), desk_(desk) {}

  // Waits until nothing fires; false: something still does.
  bool Begin() {
    Watch(prometheus_, {}, [this](const auto& now) { return IsOver(now); });
    EXPECT_THAT(firing_, ::testing::IsEmpty()) << "before " << fault_.name;
    return firing_.empty();
  }
  void Inject() {
    const Drawn before = DrawPanel(prometheus_, fault_);
    injected_ = absl::Now();
    fault_.inject();
    Watch(prometheus_, fault_.meanwhile, [this](const auto& now) {
      fired_.insert(now.begin(), now.end());
      return HasAll(fired_, fault_.alerts);
    });
    EXPECT_TRUE(HasAll(fired_, fault_.alerts))
        << "of " << absl::StrJoin(fault_.alerts, ", ") << " only " << absl::StrJoin(fired_, ", ");
    until_fired_ = absl::Now() - injected_;
    change_ = ChangeOf(before, DrawPanel(prometheus_, fault_));
    EXPECT_NE(change_, "") << fault_.panel << " shows nothing of it";
    shift_ = ShiftOf(desk_, prometheus_, injected_);
  }
  void Mend() {
    mended_ = absl::Now();
    fault_.mend();
    Watch(prometheus_, {}, [this](const auto& now) {
      fired_.insert(now.begin(), now.end());
      return IsOver(now);
    });
    until_ceased_ = absl::Now() - mended_;
    EXPECT_THAT(firing_, ::testing::IsEmpty()) << "after " << fault_.name;
    for (const std::string& name : fired_)
      EXPECT_TRUE(fault_.alerts.contains(name) || fault_.may_fire.contains(name)) << name;
  }
  // The fault's row in the table of the day on call.
  std::string Row() const {
    return absl::StrCat("| ", fault_.name, " | ", absl::StrJoin(fired_, ", "), " | ",
                        SecondsTold(until_fired_), " | ", SecondsTold(until_ceased_), " | ",
                        fault_.panel, ": ", change_, " | ", shift_.explained, " | ", shift_.page,
                        " | ", shift_.log, " | ", shift_.looks, " | ", shift_.messages, " | ",
                        MendingOf(fault_), " |\n");
  }
  // A row for each of its alerts: name, severity, fault, fired after, ceased after, `for` and
  // windows as shipped.
  std::string AlertRows() const {
    static const auto& rules = *new std::vector<AlertRule>(
        AlertRulesOf(absl::StrCat(kObservability, "rules/alerts.yaml")));
    const std::set<std::string> firing = prometheus_.Firing();
    std::string rows;
    for (const AlertRule& rule : rules) {
      if (!fault_.alerts.contains(rule.name)) continue;
      const auto times = prometheus_.TimesOf(rule.name, injected_);
      EXPECT_TRUE(times.has_value()) << rule.name << " has no sample";
      if (!times) continue;
      absl::StrAppend(
          &rows, "| ", rule.name, " | ", rule.severity, " | ", fault_.name, " | ",
          SecondsTold(times->first - injected_), " | ",
          firing.contains(rule.name) ? "it looks back for longer" : CeasedTold(*times, mended_),
          " | ", rule.wait, " | ", absl::StrJoin(rule.windows, ", "), " |\n");
    }
    return rows;
  }
  const std::string& story() const { return shift_.text; }

 private:
  bool IsOver(const std::set<std::string>& now) {
    firing_ = now;
    for (const std::string& name : fault_.may_linger) firing_.erase(name);
    return firing_.empty();
  }

  const Prometheus& prometheus_;
  const Fault& fault_;
  const Desk& desk_;
  std::set<std::string> firing_;  // but for what may linger
  std::set<std::string> fired_;
  absl::Time injected_;
  absl::Time mended_;
  absl::Duration until_fired_;
  absl::Duration until_ceased_;
  std::string change_;  // what the panel shows of it
  Shift shift_;
};

}  // namespace

void Drill(const Prometheus& prometheus, const Fault& fault, const Desk& desk) {
  Course course(prometheus, fault, desk);
  if (!course.Begin()) return;
  course.Inject();
  course.Mend();
  const std::string row = course.Row();
  std::cout << row;
  Keep(row, fault.name, course.story(), course.AlertRows());
}

}  // namespace muster::testing
