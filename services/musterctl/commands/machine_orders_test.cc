#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/musterctl/commands/testing/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using MachineOrdersTest = CommandsTest;

TEST_F(MachineOrdersTest, MachinesAreMendedBrokenAndRetired) {
  EXPECT_EQ(RunLine({"set-state", "machine/g1", "free"}), kDone) << err();
  EXPECT_EQ(out(), "machine/g1 is free\n");
  EXPECT_EQ(RunLine({"set-state", "machine", "g1", "g2", "in-repair"}), kDone) << err();
  EXPECT_EQ(out(), "machine/g1 is in_repair\nmachine/g2 is in_repair\n");
  EXPECT_EQ(RunLine({"set-state", "machines/g1", "IN_REPAIR"}), kDone) << err();
  EXPECT_EQ(RunLine({"set-state", "machine/g1", "retired", "--dry-run"}), kDone) << err();
  EXPECT_EQ(out(), "machine/g1 would be retired\n");
  EXPECT_THAT(api_.calls,
              ElementsAre("set g1 STATE_FREE", "set g1 STATE_IN_REPAIR", "set g2 STATE_IN_REPAIR",
                          "set g1 STATE_IN_REPAIR", "try set g1 STATE_RETIRED"));
}

TEST_F(MachineOrdersTest, TellsTheStateThatTheMachineHasThen) {
  api_.state_of_machines = capacity::v1::Machine::STATE_HELD;
  EXPECT_EQ(RunLine({"set-state", "machine/g1", "free"}), kDone) << err();
  EXPECT_EQ(out(), "machine/g1 is held\n") << "somebody waited";
}

TEST_F(MachineOrdersTest, OtherStatesAndOtherKindsAreWrongUse) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"set-state"},
                                               {"set-state", "free"},
                                               {"set-state", "machine/g1"},
                                               {"set-state", "machine", "free"},
                                               {"set-state", "machine/g1", "held"},
                                               {"set-state", "free", "machine/g1"},
                                               {"set-state", "node/train/g1", "free"}}) {
    EXPECT_EQ(RunLine(line), kWrongUse) << line.back();
    EXPECT_THAT(err(), HasSubstr("set-state: machine/MACHINE free|in-repair|retired"));
  }
  EXPECT_THAT(api_.calls, IsEmpty());
}

TEST_F(MachineOrdersTest, ARefusalOfOneIsToldAndTheOthersAreAsked) {
  api_.refusal =
      error::FailedPrecondition("MACHINE_HELD", "machines/g1", "Machine g1 is held by claim u1.");
  EXPECT_EQ(RunLine({"set-state", "machine/g1", "machine/g2", "retired"}), kFailed);
  EXPECT_THAT(err(),
              HasSubstr("Machine g1 is held by claim u1. (FAILED_PRECONDITION, MACHINE_HELD)"));
  EXPECT_THAT(api_.calls, ElementsAre("set g1 STATE_RETIRED", "set g2 STATE_RETIRED"));
}

TEST_F(MachineOrdersTest, CompletionOffersMachinesAndThenStates) {
  capacity::v1::Machine machine;
  machine.set_name("machines/g1");
  api_.items[Kind::kMachine] = {machine};
  EXPECT_EQ(RunLine({"__complete", "--", "set-state", "ma"}), kDone);
  EXPECT_EQ(out(), "machine/g1\n");
  EXPECT_EQ(RunLine({"__complete", "--", "set-state", "machine/g1", ""}), kDone);
  EXPECT_EQ(out(), "free\nin-repair\nretired\n");
  EXPECT_EQ(RunLine({"__complete", "--", "set-state", "machine/g1", "machine/g2", "in"}), kDone);
  EXPECT_EQ(out(), "in-repair\n");
  EXPECT_EQ(RunLine({"__complete", "--", "set-state", "machine/g1", "free", ""}), kDone);
  EXPECT_EQ(out(), "") << "all is said";
}

TEST_F(MachineOrdersTest, CompletionOffersStatesBehindTheNamesOfAKind) {
  capacity::v1::Machine machine;
  machine.set_name("machines/g1");
  api_.items[Kind::kMachine] = {machine};
  EXPECT_EQ(RunLine({"__complete", "--", "set-state", "machine", ""}), kDone);
  EXPECT_EQ(out(), "g1\n") << "of none nothing is said";
  EXPECT_EQ(RunLine({"__complete", "--", "set-state", "machine", "g1", ""}), kDone);
  EXPECT_EQ(out(), "free\ng1\nin-repair\nretired\n");
  EXPECT_EQ(RunLine({"__complete", "--", "set-state", "machine", "g1", "free", ""}), kDone);
  EXPECT_EQ(out(), "");
}

}  // namespace
}  // namespace muster::musterctl
