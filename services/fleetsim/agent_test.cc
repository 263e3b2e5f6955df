#include "services/fleetsim/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "services/fleetsim/registry.h"
#include "services/fleetsim/testing/fake_server.h"
#include "services/fleetsim/testing/nodes.h"
#include "tests/testing/patience.h"

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;

// An agent at work for as long as it lives.
class RunningAgent {
 public:
  explicit RunningAgent(const AgentOptions& options)
      : agent_(options, clock_), thread_([this] { agent_.Run(); }) {}
  ~RunningAgent() {
    agent_.Stop();
    thread_.join();
  }
  Agent* operator->() { return &agent_; }

 private:
  SystemClock clock_;
  Agent agent_;
  std::thread thread_;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentOptions Options() {
    return {.server = server_.address(),
            .fleet = {.boot_time = absl::Milliseconds(2),
                      .ready_time = absl::Milliseconds(1),
                      .drain_time = absl::Milliseconds(2),
                      .terminate_time = absl::Milliseconds(1)},
            .first_retry = absl::Milliseconds(1),
            .last_retry = absl::Milliseconds(5)};
  }
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) server_.Put(NewNode(i, absl::Now()));
  }
  // Drains every Node and waits until all are off.
  void DrainAll() {
    const std::vector<Node> nodes = server_.nodes();
    for (Node node : nodes) {
      Cordon(node, true, absl::Now());
      server_.Put(node);
    }
    server_.WaitForAll(Node::STATE_DELETED, nodes.size());
  }

  FakeServer server_;
};

TEST_F(AgentTest, BringsNodesUpAndDown) {
  AddNodes(20);
  RunningAgent agent(Options());
  server_.WaitForAll(Node::STATE_PRODUCTION, 20);
  AddNodes(30);  // ten more, and twenty that start again
  server_.WaitForAll(Node::STATE_PRODUCTION, 30);
  DrainAll();
}

TEST_F(AgentTest, SurvivesStreamsThatAreCut) {
  RunningAgent agent(Options());
  server_.WaitForWatches(1);
  server_.CutWatchesAfter(7);
  AddNodes(40);
  server_.WaitForAll(Node::STATE_PRODUCTION, 40);
  DrainAll();
  // The agent needed the first 240 of 280 changes, seven a stream.
  EXPECT_GE(agent->stats().streams, 34);
}

TEST_F(AgentTest, TakesTheSnapshotAgainWhenItWasCutShort) {
  AddNodes(40);
  server_.CutWatchesAfter(7);
  RunningAgent agent(Options());
  server_.WaitForSnapshots(3);
  server_.CutWatchesAfter(0);
  server_.WaitForAll(Node::STATE_PRODUCTION, 40);
}

TEST_F(AgentTest, TakesASnapshotWhenItsRevisionIsGone) {
  RunningAgent agent(Options());
  AddNodes(5);
  server_.WaitForAll(Node::STATE_PRODUCTION, 5);
  server_.Compact(1);
  server_.CutWatchesAfter(1);
  AddNodes(6);
  server_.WaitForSnapshots(2);
  server_.CutWatchesAfter(0);
  server_.WaitForAll(Node::STATE_PRODUCTION, 6);
}

TEST_F(AgentTest, SendsAgainWhatDidNotArriveAndWhoseAnswerWasLost) {
  server_.FailReports(3, 3);
  AddNodes(10);
  RunningAgent agent(Options());
  server_.WaitForAll(Node::STATE_PRODUCTION, 10);
  EXPECT_GT(agent->stats().lost, 0);
}

// E.g. of an observation that only a later server knows.
TEST_F(AgentTest, OneReportThatIsMalformedKeepsNoOtherFromTheServer) {
  AddNodes(10);
  server_.TakeForMalformed(NewNode(3, absl::Now()).name());
  RunningAgent agent(Options());
  const auto in_production = [&] {
    const std::vector<Node> nodes = server_.nodes();
    return std::count_if(nodes.begin(), nodes.end(),
                         [](const Node& node) { return node.state() == Node::STATE_PRODUCTION; });
  };
  testing::Until([&] { return in_production() == 9; }, "the others");
}

TEST_F(AgentTest, DuplicatesDoNoHarm) {
  server_.SendTwice();
  RunningAgent agent(Options());
  AddNodes(10);
  server_.WaitForAll(Node::STATE_PRODUCTION, 10);
  DrainAll();
}

TEST_F(AgentTest, ForgetsNodesThatAreGone) {
  RunningAgent agent(Options());
  AddNodes(3);
  server_.WaitForAll(Node::STATE_PRODUCTION, 3);
  for (const Node& node : server_.nodes()) server_.Delete(node.name());
  server_.Put(NewNode(7, absl::Now()));
  server_.WaitForAll(Node::STATE_PRODUCTION, 1);
  EXPECT_EQ(agent->nodes(), 1u);
}

TEST_F(AgentTest, AnotherAgentGoesOnWhereOneDied) {
  AddNodes(30);
  {
    RunningAgent agent(Options());
    server_.WaitForReports(10);
  }
  RunningAgent agent(Options());
  server_.WaitForAll(Node::STATE_PRODUCTION, 30);
}

TEST_F(AgentTest, KeepsToItsBatchSize) {
  AddNodes(50);
  AgentOptions options = Options();
  options.report_batch = 8;
  RunningAgent agent(options);
  server_.WaitForAll(Node::STATE_PRODUCTION, 50);
  EXPECT_LE(server_.largest_report(), 8u);
}

TEST_F(AgentTest, KeepsToItsNumberOfCalls) {
  AddNodes(50);
  AgentOptions options = Options();
  options.report_batch = 1;
  options.report_calls = 3;
  server_.HoldReports();
  RunningAgent agent(options);
  server_.WaitForHeldReports(3);
  server_.LetReportsGo();
  server_.WaitForAll(Node::STATE_PRODUCTION, 50);
  EXPECT_EQ(server_.most_calls(), 3);
}

TEST_F(AgentTest, ItsStatisticsStartAnewWhenTheyAreTaken) {
  RunningAgent agent(Options());
  // In a snapshot a Node may be reported twice: at once, and at its end if nothing was seen of it.
  server_.WaitForWatches(1);
  AddNodes(5);
  server_.WaitForAll(Node::STATE_PRODUCTION, 5);
  AgentStats stats = agent->TakeStats();
  while (stats.accepted < 15) stats.accepted += agent->TakeStats().accepted;
  EXPECT_EQ(stats.accepted, 15) << "three reports a Node";
  EXPECT_EQ(agent->TakeStats().calls, 0);
  EXPECT_EQ(agent->TakeStats().lag.count(), 0);
}

TEST_F(AgentTest, RegistersMachinesInChunksOnceTheirZoneIsKnown) {
  server_.FailRegistrations(3);
  AgentOptions options = Options();
  options.machines = MakeMachines({{"US-EAST-04A", "gd-8xa100-i128", 1234, 8}}, 1);
  RunningAgent agent(options);
  server_.WaitForMachines(1234);
}

TEST_F(AgentTest, OneMachineThatIsRefusedKeepsNoOtherFromBeingRegistered) {
  AgentOptions options = Options();
  options.machines = MakeMachines({{"US-EAST-04A", "gd-8xa100-i128", 1234, 8}}, 1);
  server_.TakeForMalformed(options.machines[3].name());
  RunningAgent agent(options);
  server_.WaitForMachines(1233);
}

TEST_F(AgentTest, StopsWhileTheServerIsAway) {
  AgentOptions options = Options();
  options.server = "unix:/nonexistent/socket";
  RunningAgent agent(options);
}

}  // namespace
}  // namespace muster::fleetsim
