// The pool of the reference's example, from its manifest to healthy, with the programs that a user
// runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/reference_example.h"

namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Ids and times differ from pool to pool.
std::string WithoutIdsAndTimes(absl::string_view line) {
  std::string text(line);
  text = std::regex_replace(text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"), "TIME");
  text = std::regex_replace(
      text, std::regex(R"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"), "UID");
  text = std::regex_replace(text, std::regex(R"(Resource Version:( +)\d+)"),
                            "Resource Version:$01NUMBER");
  return std::regex_replace(text, std::regex(R"( +$)"), "");
}

std::vector<std::string> Lines(absl::string_view text) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    lines.push_back(WithoutIdsAndTimes(line));
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

class ExampleTest : public ::testing::Test {
 protected:
  ExampleTest() {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
  }
  ~ExampleTest() override {
    if (HasFailure()) std::cerr << muster_.LogEnds();
  }

  // Reasons of the events about the pool and its Nodes since the last call, each as often as it was
  // counted since, in the order in which they were first told.
  std::vector<std::string> NewEvents() {
    std::vector<lifecycle::v1::Event> events = muster_.Events();
    const auto told_at = [&](const lifecycle::v1::Event& event) {
      const auto& time = seen_.contains(event.name()) ? event.last_time() : event.first_time();
      return std::pair(time.seconds(), time.nanos());
    };
    std::stable_sort(events.begin(), events.end(),
                     [&](const auto& a, const auto& b) { return told_at(a) < told_at(b); });
    std::vector<std::string> reasons;
    for (const auto& event : events) {
      int64_t& seen = seen_[event.name()];
      reasons.insert(reasons.end(), static_cast<size_t>(event.count() - seen), event.reason());
      seen = event.count();
    }
    return reasons;
  }
  // Of its journal. Who leads is told in it, too, after each stall that outlasts the lease: that is
  // nobody's doing.
  std::string LifecycleChanges() const {
    return muster_.database().QueryValue(
        "SELECT count(*) FROM lifecycle.journal WHERE kind <> 'lease'");
  }
  static int Count(const std::vector<std::string>& reasons, absl::string_view reason) {
    return static_cast<int>(std::count(reasons.begin(), reasons.end(), std::string(reason)));
  }
  // The first places of these reasons are in this order.
  static void ExpectOrder(const std::vector<std::string>& reasons,
                          const std::vector<std::string>& order) {
    auto at = reasons.begin();
    for (const std::string& reason : order) {
      const auto found = std::find(reasons.begin(), reasons.end(), reason);
      ASSERT_NE(found, reasons.end())
          << reason << " is missing in " << ::testing::PrintToString(reasons);
      EXPECT_TRUE(found >= at) << reason << " comes too early in "
                               << ::testing::PrintToString(reasons);
      at = found;
    }
  }

  MiniMuster muster_;
  std::map<std::string, int64_t> seen_;  // by event: how often it was counted
};

TEST_F(ExampleTest, DescribeReadsAsTheReferenceLineByLine) {
  ASSERT_TRUE(muster_.AwaitSettled(1));
  const Finished described = muster_.Ctl({"describe", "nodepool", "example-nodepool"});
  ASSERT_EQ(described.exit_code, 0) << described.output;
  std::vector<std::string> lines = Lines(described.output);
  const std::vector<std::string> reference = Lines(kReferenceExample);
  ASSERT_GE(lines.size(), reference.size());
  // After what the reference shows come the events, of which a pool an hour old has none.
  EXPECT_TRUE(absl::StartsWith(lines[reference.size()], "Events:")) << lines[reference.size()];
  lines.resize(reference.size());
  EXPECT_EQ(lines, reference);
  // What was not shown of a pool that never had another configuration.
  EXPECT_EQ(described.output.find("Node Configuration Revisions"), std::string::npos);
  for (const std::vector<std::string>& all :
       {std::vector<std::string>{"-o", "wide"}, std::vector<std::string>{"--all"}}) {
    std::vector<std::string> words = {"describe", "nodepool", "example-nodepool"};
    words.insert(words.end(), all.begin(), all.end());
    EXPECT_THAT(muster_.Ctl(words).output, ::testing::HasSubstr("Node Configuration Revisions"));
  }
  EXPECT_EQ(muster_.CheckBooks(1), "");
}

TEST_F(ExampleTest, ScalesUpAndDownWithTheEventsOfEachStep) {
  ASSERT_TRUE(muster_.AwaitSettled(1));
  std::vector<std::string> events = NewEvents();
  ExpectOrder(events, {"CWNodePoolCreated", "CWNodeRequestQueued", "CWNodeAssigned",
                       "CWNodeRegistered", "CWNodePoolScaledUp"});
  EXPECT_EQ(Count(events, "CWNodeAssigned"), 1);

  EXPECT_EQ(muster_.Ctl({"scale", "nodepool", "example-nodepool", "--nodes", "5"}).exit_code, 0);
  ASSERT_TRUE(muster_.AwaitSettled(5));
  events = NewEvents();
  ExpectOrder(events,
              {"CWNodeRequestQueued", "CWNodeAssigned", "CWNodeRegistered", "CWNodePoolScaledUp"});
  EXPECT_EQ(Count(events, "CWNodeAssigned"), 4);
  EXPECT_EQ(muster_.CheckBooks(5), "");

  EXPECT_EQ(muster_.Ctl({"scale", "nodepool", "example-nodepool", "--nodes", "2"}).exit_code, 0);
  ASSERT_TRUE(muster_.AwaitSettled(2));
  events = NewEvents();
  ExpectOrder(events, {"CWNodePoolRemoveNodes", "CWNodeDeletionRequestSuccess",
                       "CWNodeMarkedPrepareForTerminate", "CWNodeCordoned", "CWDrainNode",
                       "CWNodeDraining", "CWNodeTainted", "CWNodePreparedForTerminate",
                       "CWNodeDeleted", "CWNodePoolNodesRemoved", "CWNodePoolScaledDown"});
  EXPECT_EQ(Count(events, "CWNodeDeleted"), 3);
  EXPECT_EQ(muster_.CheckBooks(2), "");

  EXPECT_EQ(muster_.Ctl({"delete", "nodepool", "example-nodepool", "--wait"}).exit_code, 0);
  ASSERT_TRUE(muster_.Await([](const auto* pool) { return pool == nullptr; }));
  events = NewEvents();
  EXPECT_EQ(Count(events, "CWNodeDeleted"), 2);
  EXPECT_EQ(Count(events, "CWNodePoolDeleted"), 1);
  EXPECT_EQ(muster_.CheckBooks(0), "");
  EXPECT_EQ(muster_.database().QueryValue("SELECT count(*) FROM capacity.claim"), "0");
  EXPECT_EQ(muster_.database().QueryValue("SELECT count(*) FROM quota.holding"), "0");
}

TEST_F(ExampleTest, AConvergedFleetWritesNothing) {
  ASSERT_TRUE(muster_.AwaitSettled(1));
  // A resync of everything, by a restart, asks all services again.
  const auto revisions = [&] {
    std::string all;
    for (const char* schema : {"capacity", "quota", "configuration"}) {
      absl::StrAppend(&all,
                      muster_.database().QueryValue(
                          absl::StrCat("SELECT revision FROM ", schema, ".journal_head")),
                      " ");
    }
    return all;
  };
  const std::string before = revisions();
  const std::string lifecycle_before = LifecycleChanges();
  muster_.Kill();
  muster_.Start();
  ASSERT_TRUE(muster_.AwaitSettled(1));
  EXPECT_EQ(muster_.Ctl({"get", "nodepools"}).exit_code, 0);
  EXPECT_EQ(revisions(), before);
  EXPECT_EQ(LifecycleChanges(), lifecycle_before);
}

TEST_F(ExampleTest, BadInputIsRefusedWithFieldAndReasonAndWritesNothing) {
  ASSERT_TRUE(muster_.AwaitSettled(1));
  const std::string before = LifecycleChanges();
  const auto refused = [&](std::vector<std::string> words, const std::string& naming) {
    const Finished finished = muster_.Ctl(std::move(words));
    EXPECT_NE(finished.exit_code, 0) << finished.output;
    EXPECT_THAT(finished.output, HasSubstr(naming));
  };
  refused({"scale", "nodepool", "example-nodepool", "--nodes", "-1"}, "nodes");
  refused({"scale", "nodepool", "example-nodepool", "--nodes", "9223372036854775807"}, "odes");
  refused({"scale", "nodepool", "example-nodepool", "--nodes", "9223372036854775808"}, "nodes");
  refused({"scale", "nodepool", "nobody", "--nodes", "1"}, "nobody");
  refused({"get", "castles"}, "castles");
  refused({"delete", "nodepool", "nobody"}, "nobody");
  EXPECT_EQ(LifecycleChanges(), before);
}

}  // namespace
}  // namespace muster::testing
