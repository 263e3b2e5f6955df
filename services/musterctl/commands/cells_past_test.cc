#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "services/musterctl/commands/testing/cells_test_base.h"

// Where Nodes are to be had in several cells, and what was in them.
namespace muster::musterctl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CellsFindTest : public CellsTest {
 protected:
  CellsFindTest() {
    Offer(east_, "EAST-1A", 5);
    Offer(west_, "WEST-1A", 9);
  }
  static void Offer(FakeApi& api, const std::string& zone_id, int64_t free) {
    auto& zone = *api.placements.add_zones();
    zone.set_zone(zone_id);
    zone.set_availability(capacity::v1::AVAILABILITY_LIKELY);
    zone.add_placements()->set_free(free);
    zone.mutable_placements(0)->set_availability(capacity::v1::AVAILABILITY_LIKELY);
    api.placements.set_recommended_zone(zone_id);
  }
};

TEST_F(CellsFindTest, ZonesOfAllCellsAreRanked) {
  EXPECT_EQ(RunLine({"find", "placements", "t=4"}), kDone) << err();
  EXPECT_EQ(out(),
            "CELL   ZONE      INSTANCE TYPE   NODES   CLASS     FREE   RECLAIMABLE   AHEAD   "
            "IN SERVICE   AVAILABILITY\n"
            "west   WEST-1A   t               4       default   9      0             0       "
            "0            Likely available\n"
            "east   EAST-1A   t               4       default   5      0             0       "
            "0            Likely available\n"
            "Recommended zone: WEST-1A (in west)\n");
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--zone=EAST-1A"}), kDone) << err();
  EXPECT_THAT(out(), HasSubstr("Recommended zone: EAST-1A (in east)\n"));
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--zone=NORTH-1A"}), kFailed);
  EXPECT_EQ(err(), "error: no cell has zone \"NORTH-1A\"\n");
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--context=east"}), kDone);
  EXPECT_THAT(out(), StartsWith("ZONE ")) << "one is as it ever was";
}

TEST_F(CellsFindTest, WhatIsFoundIsMadeInTheCellOfItsCluster) {
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--apply", "--name=batch", "--cluster=c-west"}),
            kDone)
      << err();
  EXPECT_THAT(out(), HasSubstr("nodepool/batch unchanged (in west)\n"));
  EXPECT_THAT(east_.resources, IsEmpty());
  EXPECT_EQ(west_.resources.size(), 1u);
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--apply", "--name=batch", "--cluster=c-east"}),
            kFailed);
  EXPECT_THAT(err(), HasSubstr("the recommended zone is WEST-1A, and cluster \"c-east\" is in "
                               "EAST-1A"));
}

TEST_F(CellsFindTest, WithoutACellTheOthersAreRankedAndNothingIsMade) {
  Away(west_);
  EXPECT_EQ(RunLine({"find", "placements", "t=4"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("Recommended zone: EAST-1A (in east)\n"));
  EXPECT_EQ(err(), "error: cell west: nobody is there (UNAVAILABLE)\n");
  EXPECT_EQ(RunLine({"find", "placements", "t=4", "--apply", "--name=batch", "--cluster=c-east"}),
            kFailed);
  EXPECT_THAT(err(), HasSubstr("is in none of the cells that answer"));
  EXPECT_THAT(east_.resources, IsEmpty());
}

class CellsPastTest : public CellsTest {
 protected:
  static history::v1::GetPastResponse Past(const std::string& cluster, int64_t nodes) {
    history::v1::GetPastResponse past;
    past.mutable_resource()->PackFrom(Pool(cluster, "train", nodes));
    return past;
  }
};

TEST_F(CellsPastTest, HistorySaysInWhichCell) {
  const auto add = [](FakeApi& api, int64_t seconds, int64_t revision) {
    history::v1::Change& change = *api.changes.add_changes();
    change.mutable_change_time()->set_seconds(1'749'480'000 + seconds);
    change.set_revision(revision);
    change.set_before_known(true);
    api.changes.set_complete(true);
  };
  add(east_, 20, 90);
  add(west_, 40, 4);
  EXPECT_EQ(RunLine({"history", "cluster/moved"}), kDone) << err();
  EXPECT_EQ(out(),
            "2025-06-09T14:40:40Z updated by ? (revision 4 of west)\n"
            "2025-06-09T14:40:20Z updated by ? (revision 90 of east)\n");
  Away(west_);
  EXPECT_EQ(RunLine({"history", "cluster/moved"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("(revision 90 of east)"));
  EXPECT_EQ(err(), "error: cell west: nobody is there (UNAVAILABLE)\n");
  east_.refusal_of_reads = FromServer(absl::NotFoundError("no change is known"));
  EXPECT_EQ(RunLine({"history", "cluster/moved"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("error: cluster \"moved\" is in none of the cells that answer\n"));
}

TEST_F(CellsPastTest, GetShowsWhatWas) {
  EXPECT_EQ(RunLine({"get", "nodepools", "-A", "--at=1h", "-o",
                     "custom-columns=CELL:.metadata.cell,N:.spec.targetNodes"}),
            kDone)
      << err();
  EXPECT_EQ(out(), "CELL   N\neast   3\nwest   12\n");
  west_.past = {Past("c-west", 7)};
  EXPECT_EQ(RunLine({"get", "np/train", "--at=1h", "-o",
                     "jsonpath={.metadata.cell} {.spec.targetNodes}"}),
            kDone)
      << err();
  EXPECT_EQ(out(), "west 7");
  Away(east_);
  EXPECT_EQ(RunLine({"get", "nodepools", "-A", "--at=1h", "-o", "name"}), kFailed);
  EXPECT_EQ(out(), "nodepool/organizations/acme/clusters/c-west/nodePools/eval\n");
  EXPECT_EQ(err(), "error: cell east: nobody is there (UNAVAILABLE)\n");
}

// Of all clusters the server tells of the Nodes of others, too.
TEST_F(CellsPastTest, GetShowsTheNodesThatANodePoolHad) {
  const auto node = [](const std::string& path) {
    lifecycle::v1::Node made;
    made.set_name("organizations/acme/clusters/" + path);
    return made;
  };
  east_.items[Kind::kNode] = {node("c-east/nodePools/train/nodes/g1"),
                              node("c-east/nodePools/trainer/nodes/g2")};
  west_.items[Kind::kNode] = {node("c-west/nodePools/eval/nodes/g3"),
                              node("c-west/nodePools/train/nodes/g4")};
  const auto names = [&](const std::string& pool) {
    EXPECT_EQ(
        RunLine({"get", "nodes", "-A", absl::StrCat("--nodepool=", pool), "--at=1h", "-o", "name"}),
        kDone)
        << err();
    return out();
  };
  EXPECT_EQ(names("train"),
            "node/organizations/acme/clusters/c-east/nodePools/train/nodes/g1\n"
            "node/organizations/acme/clusters/c-west/nodePools/train/nodes/g4\n");
  EXPECT_EQ(names("nodepool/eval"),
            "node/organizations/acme/clusters/c-west/nodePools/eval/nodes/g3\n");
}

TEST_F(CellsPastTest, DiffIsOfTheCellThatHadIt) {
  west_.past = {Past("c-west", 7), Past("c-west", 9)};
  EXPECT_EQ(RunLine({"diff", "np/train", "--since=1h"}), kDone) << err();
  EXPECT_EQ(out(), "  spec.target_nodes: 7 -> 9\n");
  Away(east_);
  west_.past = {Past("c-west", 7), Past("c-west", 9)};
  EXPECT_EQ(RunLine({"diff", "np/train", "--since=1h"}), 2) << "east may have had it, too";
  EXPECT_EQ(out(), "  spec.target_nodes: 7 -> 9\n");
  EXPECT_THAT(err(), ::testing::EndsWith("error: not all cells answered\n"));
  east_.refusal_of_reads = east_.refusal = absl::OkStatus();
  east_.past = {Past("c-east", 7)};
  EXPECT_EQ(RunLine({"diff", "np/train", "--since=1h"}), 2);
  EXPECT_EQ(err(),
            "error: nodepool/train was then in several cells: east, west; say which is meant, e.g. "
            "--context=east\n");
  // East has it no more.
  east_.past = {Past("c-east", 7), FromServer(absl::NotFoundError("there is none"))};
  EXPECT_EQ(RunLine({"diff", "np/train", "--since=1h"}), 2);
  EXPECT_EQ(err(),
            "error: nodepool/train was then in several cells: east, west; say which is meant, e.g. "
            "--context=west\n");
  east_.past = west_.past = {};
  EXPECT_EQ(RunLine({"diff", "np/train", "--since=1h", "--cluster=c-west"}), 2);
  EXPECT_EQ(err(),
            "note: nodepool/train was not there then, or its past is not told to you; musterctl "
            "history tells when it was\n"
            "error: there was none\n");
}

}  // namespace
}  // namespace muster::musterctl
