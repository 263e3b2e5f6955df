#include "services/page/core/cell.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::page {
namespace {

using capacity::v1::Machine;
using lifecycle::v1::Node;

CellState Of(Machine::State machine, Node::State node = Node::STATE_UNSPECIFIED) {
  MachinePart machine_part;
  machine_part.known = machine != Machine::STATE_UNSPECIFIED;
  machine_part.state = machine;
  NodePart node_part;
  node_part.known = node != Node::STATE_UNSPECIFIED;
  node_part.state = node;
  return StateOf(machine_part, node_part);
}

TEST(CellTest, AMachineWithoutANodeShowsItsOwnState) {
  EXPECT_EQ(Of(Machine::STATE_FREE), CellState::kFree);
  EXPECT_EQ(Of(Machine::STATE_HELD), CellState::kHeld);
  EXPECT_EQ(Of(Machine::STATE_RECLAIMING), CellState::kReclaiming);
  EXPECT_EQ(Of(Machine::STATE_IN_REPAIR), CellState::kInRepair);
  EXPECT_EQ(Of(Machine::STATE_RETIRED), CellState::kRetired);
}

TEST(CellTest, OfAMachineOfWhichOnlyThePlaceIsKnownNothingIsMadeUp) {
  MachinePart machine;
  machine.known = true;
  EXPECT_EQ(StateOf(machine, {}), CellState::kNodeless);
  NodePart node;
  node.known = true;
  node.state = Node::STATE_PRODUCTION;
  EXPECT_EQ(StateOf(machine, node), CellState::kProduction);
}

TEST(CellTest, ANodeShowsWhereItIsInItsLife) {
  EXPECT_EQ(Of(Machine::STATE_HELD, Node::STATE_ASSIGNED), CellState::kAssigned);
  EXPECT_EQ(Of(Machine::STATE_HELD, Node::STATE_PRODUCTION), CellState::kProduction);
  EXPECT_EQ(Of(Machine::STATE_HELD, Node::STATE_DRAINING), CellState::kLeaving);
  EXPECT_EQ(Of(Machine::STATE_UNSPECIFIED, Node::STATE_TRIAGE), CellState::kTriage);
}

TEST(CellTest, WhatIsTakenFromSpotShowsThatWhateverElseItDoes) {
  EXPECT_EQ(Of(Machine::STATE_RECLAIMING, Node::STATE_PRODUCTION), CellState::kReclaiming);
  NodePart node;
  node.known = true;
  node.state = Node::STATE_CORDONED;
  node.preempted = true;
  EXPECT_EQ(StateOf({}, node), CellState::kReclaiming);
}

TEST(CellTest, EveryNodeStateThatCanBeSentShowsAStateOfANode) {
  const std::set<CellState> nodes = {CellState::kAssigned,      CellState::kBooting,
                                     CellState::kRegistered,    CellState::kProduction,
                                     CellState::kReconfiguring, CellState::kTriage,
                                     CellState::kLeaving,       CellState::kFailed};
  for (int state = 1; state < Node::State_ARRAYSIZE; ++state)
    EXPECT_EQ(nodes.count(Of(Machine::STATE_HELD, static_cast<Node::State>(state))), 1U) << state;
}

TEST(CellTest, EveryStateHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const CellState state : kAllCellStates) names.insert(std::string(CellStateName(state)));
  EXPECT_EQ(names.size(), std::size(kAllCellStates));
  EXPECT_EQ(names.count(""), 0U);
}

}  // namespace
}  // namespace muster::page
