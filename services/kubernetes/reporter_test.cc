#include "services/kubernetes/reporter.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/kubernetes/testing/fake_muster.h"
#include "tests/testing/counted_lines.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::NodeReport;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::Pair;

constexpr absl::Duration kNone = absl::ZeroDuration();

// Takes reports, one call after the other once it is opened. Those of `bad` do not fit, those of
// `malformed` have their call refused.
class FakeReports final : public lifecycle::v1::LifecycleService::Service {
 public:
  grpc::Status ReportNodes(grpc::ServerContext*, const lifecycle::v1::ReportNodesRequest* request,
                           lifecycle::v1::ReportNodesResponse* response) override {
    MutexLock lock(mutex_);
    calls_.emplace_back();
    for (const NodeReport& report : request->reports()) {
      calls_.back().push_back(absl::StrCat(report.node(), " ", report.message()));
      response->add_results()->set_code(report.node() == "bad" ? 9 : 0);
    }
    changed_.SignalAll();
    while (!open_) changed_.Wait(mutex_);
    const bool malformed = absl::c_any_of(
        request->reports(), [](const NodeReport& report) { return report.node() == "malformed"; });
    if (malformed) return {grpc::StatusCode::INVALID_ARGUMENT, "message must not hold NUL"};
    return is_away_ ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "away") : grpc::Status::OK;
  }

  void Set(bool is_open, bool is_away = false) {
    MutexLock lock(mutex_);
    open_ = is_open;
    is_away_ = is_away;
    changed_.SignalAll();
  }
  // Waits until so many calls came.
  std::vector<std::vector<std::string>> Await(size_t calls) {
    MutexLock lock(mutex_);
    while (calls_.size() < calls) changed_.Wait(mutex_);
    return calls_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ MUSTER_GUARDED_BY(mutex_) = true;
  bool is_away_ MUSTER_GUARDED_BY(mutex_) = false;
  std::vector<std::vector<std::string>> calls_ MUSTER_GUARDED_BY(mutex_);
};

class ReporterTest : public ::testing::Test {
 protected:
  // The machines that are to be looked at again, and after what pause.
  using Told = std::vector<std::pair<std::string, absl::Duration>>;

  ReporterTest() {
    reporter_ = std::make_unique<Reporter>(
        &muster_.client(),
        [this](const std::string& machine, absl::Duration pause) {
          MutexLock lock(mutex_);
          told_.emplace_back(machine, pause);
          changed_.SignalAll();
        },
        &steady_);
  }
  ~ReporterTest() override {
    service_.Set(true);
    muster_.client().Stop();
    reporter_->Stop();
  }

  static std::vector<NodeReport> MakeReports(const std::string& node,
                                             const std::vector<std::string>& messages) {
    std::vector<NodeReport> reports;
    for (const std::string& message : messages) {
      reports.emplace_back().set_node(node);
      reports.back().set_message(message);
    }
    return reports;
  }
  void Report(const std::string& node, const std::vector<std::string>& messages) {
    reporter_->Report(node, MakeReports(node, messages));
  }
  // Waits until so much was told.
  Told AwaitTold(size_t count) {
    MutexLock lock(mutex_);
    while (told_.size() < count) changed_.Wait(mutex_);
    return told_;
  }

  FakeReports service_;
  FakeSteadyClock steady_;
  std::unique_ptr<Reporter> reporter_;

 private:
  FakeMuster muster_{&service_};
  Mutex mutex_;
  CondVar changed_;
  Told told_ MUSTER_GUARDED_BY(mutex_);
};

TEST_F(ReporterTest, SendsWhatIsSeenTogetherInOrder) {
  Report("a", {"1", "2"});
  Report("b", {"1"});
  reporter_->Start();
  EXPECT_THAT(service_.Await(1)[0], ElementsAre("a 1", "a 2", "b 1"));
}

TEST_F(ReporterTest, TellsOfTheMachineThatIsRefused) {
  Report("a", {"1"});
  Report("bad", {"1", "2"});
  Report("c", {"1"});
  reporter_->Start();
  EXPECT_THAT(AwaitTold(1), ElementsAre(Pair("bad", Gt(kNone))));
}

TEST_F(ReporterTest, OneThatIsMalformedKeepsNoOtherFromMuster) {
  for (const char* node : {"a", "b", "malformed", "d", "e"}) Report(node, {"1", "2"});
  reporter_->Start();
  EXPECT_THAT(AwaitTold(1), ElementsAre(Pair("malformed", Gt(kNone))));
  std::set<std::string> taken;
  for (const auto& call : service_.Await(1)) {
    const bool refused = absl::c_any_of(
        call, [](const std::string& report) { return report.starts_with("malformed"); });
    if (!refused) taken.insert(call.begin(), call.end());
  }
  EXPECT_THAT(taken, ElementsAre("a 1", "a 2", "b 1", "b 2", "d 1", "d 2", "e 1", "e 2"));
}

TEST_F(ReporterTest, PausesDoubleUntilOneIsTaken) {
  reporter_->Start();
  for (size_t i = 1; i <= 3; ++i) {
    service_.Set(true, i < 3);
    Report(i < 3 ? "a" : "bad", {"1"});
    AwaitTold(i);
  }
  Report("a", {"2"});
  service_.Await(4);
  service_.Set(true, true);
  Report("b", {"1"});
  AwaitTold(4);  // one call at a time: the report of a is through
  Report("a", {"3"});
  const Told told = AwaitTold(5);
  EXPECT_EQ(told[1].second, 2 * told[0].second);
  EXPECT_EQ(told[2], std::make_pair(std::string("bad"), told[0].second)) << "each its own";
  EXPECT_EQ(told[4], told[0]) << "forgotten";
}

// Else its entry would stay for the life of the process.
TEST_F(ReporterTest, TheRefusalsOfAMachineThatIsGoneAreForgotten) {
  reporter_->Start();
  for (size_t i = 1; i <= 2; ++i) {
    Report("bad", {"1"});
    AwaitTold(i);
  }
  reporter_->Forget("bad");
  Report("bad", {"1"});
  const Told told = AwaitTold(3);
  EXPECT_GT(told[1].second, told[0].second);
  EXPECT_EQ(told[2].second, told[0].second);
}

TEST_F(ReporterTest, WhatDoesNotArriveIsRefused) {
  service_.Set(true, true);
  Report("a", {"1"});
  Report("b", {"1"});
  reporter_->Start();
  EXPECT_THAT(AwaitTold(2), ElementsAre(Pair("a", Gt(kNone)), Pair("b", Gt(kNone))));
}

TEST_F(ReporterTest, AnOutageIsToldOnceAMinute) {
  const testing::CountedLines lines("reports did not arrive");
  service_.Set(true, true);
  reporter_->Start();
  for (size_t i = 1; i <= 100; ++i) {
    Report(absl::StrCat("m", i), {"1"});
    AwaitTold(i);
  }
  EXPECT_EQ(lines.count(), 1);
  steady_.Advance(absl::Minutes(1));
  Report("a", {"1"});
  AwaitTold(101);
  EXPECT_EQ(lines.count(), 2);
}

TEST_F(ReporterTest, WhatWaitsIsReplacedByWhatIsSeenNow) {
  Report("a", {"1", "2"});
  Report("a", {"3"});
  reporter_->Start();
  EXPECT_THAT(service_.Await(1)[0], ElementsAre("a 3"));
}

TEST_F(ReporterTest, WhatHoldsNoMoreIsNotSent) {
  for (const char* node : {"a", "b", "c"}) Report(node, {"1"});
  Report("b", {});
  reporter_->Forget("c");
  for (const char* node : {"nobody", "c"}) Report(node, {});
  reporter_->Start();
  EXPECT_THAT(service_.Await(1)[0], ElementsAre("a 1"));
  // What was sent cannot be taken back.
  service_.Set(false);
  Report("d", {"2"});
  service_.Await(2);
  Report("d", {});
  service_.Set(true);
  Report("b", {"2"});
  EXPECT_THAT(service_.Await(3)[2], ElementsAre("b 2"));
}

TEST_F(ReporterTest, WhatWaitsOfItsWorkMayBeKept) {
  std::vector<NodeReport> reports = MakeReports("a", {"drained", "works"});
  reports[1].set_observation(NodeReport::OBSERVATION_ACTIVE);
  for (const char* node : {"a", "b"}) {
    for (NodeReport& report : reports) report.set_node(node);
    reporter_->Report(node, reports);
  }
  Report("c", {"1"});
  for (const char* node : {"a", "c", "nobody"}) reporter_->Report(node, {}, /*keeps_work=*/true);
  reporter_->Report("b", MakeReports("b", {"marked"}), /*keeps_work=*/true);
  reporter_->Start();
  EXPECT_THAT(service_.Await(1)[0], ElementsAre("a works", "b works", "b marked"));
}

// One batch of a machine at a time: what is offered meanwhile is looked at again.
TEST_F(ReporterTest, WhatIsOfferedWhileReportsAreUnderWayIsDroppedAndTold) {
  service_.Set(false);
  Report("a", {"1"});
  reporter_->Start();
  service_.Await(1);
  Report("a", {"2"});
  Report("b", {"1"});
  service_.Set(true);
  EXPECT_THAT(AwaitTold(1), ElementsAre(Pair("a", kNone)));
  EXPECT_THAT(service_.Await(2)[1], ElementsAre("b 1"));
  Report("a", {"3"});
  EXPECT_THAT(service_.Await(3)[2], ElementsAre("a 3"));
}

TEST_F(ReporterTest, ManyTravelInSeveralCalls) {
  for (int i = 0; i < 1200; ++i) Report(absl::StrCat("m", i), {"1", "2"});
  reporter_->Start();
  const auto calls = service_.Await(3);
  EXPECT_EQ(calls[0].size(), 1000u);
  EXPECT_EQ(calls[1].size(), 1000u);
  EXPECT_EQ(calls[2].size(), 400u);
}

TEST_F(ReporterTest, ReportNowAnswersWithOneCodeEach) {
  std::vector<NodeReport> reports = MakeReports("a", std::vector<std::string>(1500, "x"));
  reports[1234].set_node("bad");
  const auto codes = reporter_->ReportNow(reports);
  ASSERT_TRUE(codes.ok()) << codes.status();
  ASSERT_EQ(codes->size(), 1500u);
  EXPECT_EQ((*codes)[1234], absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ((*codes)[1233], absl::StatusCode::kOk);
  EXPECT_EQ(service_.Await(2).size(), 2u);
  service_.Set(true, true);
  EXPECT_TRUE(absl::IsUnavailable(reporter_->ReportNow(reports).status()));
}

}  // namespace
}  // namespace muster::kubernetes
