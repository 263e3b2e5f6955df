#include "services/musterctl/client/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/deadline.h"
#include "services/common/mutex.h"
#include "services/common/trace_context.h"
#include "services/musterctl/client/page_queue.h"
#include "services/musterctl/client/testing/fake_api.h"

namespace muster::musterctl {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Where so many meet: who comes waits for all others, a minute at most.
class Meeting {
 public:
  explicit Meeting(int all) : all_(all) {}

  void Come() {
    MutexLock lock(mutex_);
    ++here_;
    changes_.SignalAll();
    const Deadline patience(absl::Minutes(1));
    while (here_ < all_ && patience.WaitFor(changes_, mutex_)) {
    }
    have_met_ = have_met_ && here_ >= all_;
  }
  // All that came found all others.
  bool have_met() const {
    MutexLock lock(mutex_);
    return have_met_ && here_ == all_;
  }

 private:
  const int all_;
  mutable Mutex mutex_;
  CondVar changes_;
  int here_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool have_met_ MUSTER_GUARDED_BY(mutex_) = true;
};

class CellsApiTest : public ::testing::Test {
 protected:
  CellsApiTest() {
    for (FakeApi* api : all()) {
      capacity::v1::Zone zone;
      zone.set_name(api == east_.get()   ? "zones/EAST-1A"
                    : api == west_.get() ? "zones/WEST-1A"
                                         : "zones/NORTH-1A");
      api->items[Kind::kZone] = {zone};
    }
  }
  std::vector<FakeApi*> all() const { return {east_.get(), west_.get(), north_.get()}; }
  static void Away(FakeApi& api) {
    api.refusal_of_reads = api.refusal = FromServer(absl::UnavailableError("nobody is there"));
  }

  std::shared_ptr<FakeApi> east_ = std::make_shared<FakeApi>();
  std::shared_ptr<FakeApi> west_ = std::make_shared<FakeApi>();
  std::shared_ptr<FakeApi> north_ = std::make_shared<FakeApi>();
  std::vector<std::string> told_;
  CellsApi cells_{{{"east", east_}, {"west", west_}, {"north", north_}},
                  [this](const absl::Status& error) { told_.emplace_back(error.message()); }};
};

std::vector<std::string> PlacesOf(const absl::StatusOr<std::vector<Item>>& items) {
  std::vector<std::string> places;
  if (!items.ok()) return {items.status().ToString()};
  for (const Item& item : *items) places.push_back(absl::StrCat(item.cell, " ", IdOf(item)));
  return places;
}

TEST_F(CellsApiTest, ListsAreAskedForAtTheSameTimeAndStandInTheOrderOfTheCells) {
  Meeting meeting(3);
  for (FakeApi* api : all()) api->before_list = [&] { meeting.Come(); };
  EXPECT_THAT(PlacesOf(cells_.List(Kind::kZone, "")),
              ElementsAre("east EAST-1A", "west WEST-1A", "north NORTH-1A"));
  EXPECT_TRUE(meeting.have_met());
}

TEST_F(CellsApiTest, WhereAThingIsAllAreAskedAtTheSameTime) {
  Meeting meeting(3);
  for (FakeApi* api : all()) api->before_get = [&] { meeting.Come(); };
  EXPECT_EQ(cells_.Get(Kind::kZone, "WEST-1A")->cell, "west");
  EXPECT_TRUE(meeting.have_met());
}

TEST_F(CellsApiTest, WhatGoesToAllGoesAtTheSameTime) {
  Meeting meeting(3);
  for (FakeApi* api : all()) {
    api->apply_answers = {[&] {
      meeting.Come();
      return absl::OkStatus();
    }};
  }
  const auto applied = cells_.Apply(configuration::v1::Release(), WriteMode());
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->detail, "in east, west, north");
  EXPECT_TRUE(meeting.have_met());
}

TEST_F(CellsApiTest, CallsAreOfTheTraceOfWhoeverAsks) {
  const TraceContext trace = TraceContext::New();
  std::vector<std::string> ids(3);
  for (size_t i = 0; i < 3; ++i) {
    all()[i]->before_list =
        all()[i]->before_get = [&, i] { ids[i] = CurrentTrace::Get().TraceId(); };
  }
  const CurrentTrace scope(trace);
  EXPECT_THAT(PlacesOf(cells_.List(Kind::kZone, "")), SizeIs(3));
  EXPECT_THAT(ids, Each(trace.TraceId()));
  ids.assign(3, "");
  EXPECT_TRUE(cells_.GetEvery(Kind::kZone, "WEST-1A").ok());
  EXPECT_THAT(ids, Each(trace.TraceId()));
}

// So many that a cell whose turn has not come waits with the rest.
std::vector<Item> ManyZones(size_t count) {
  std::vector<Item> items;
  for (size_t i = 0; i < count; ++i) {
    capacity::v1::Zone zone;
    zone.set_name(absl::StrCat("zones/", 1000 + i));
    items.emplace_back(zone);
  }
  return items;
}

TEST_F(CellsApiTest, LongListsComeWholeAndInOrder) {
  for (FakeApi* api : all()) {
    api->page_size = 1;
    api->items[Kind::kZone] = ManyZones(3 * PageQueue::kMostAhead);
  }
  std::vector<std::string> expected;
  for (const char* cell : {"east", "west", "north"}) {
    for (const Item& item : ManyZones(3 * PageQueue::kMostAhead))
      expected.push_back(absl::StrCat(cell, " ", IdOf(item)));
  }
  EXPECT_EQ(PlacesOf(cells_.List(Kind::kZone, "")), expected);
}

TEST_F(CellsApiTest, AListOfWhichNoMoreIsWantedEnds) {
  for (FakeApi* api : all()) {
    api->page_size = 1;
    api->items[Kind::kZone] = ManyZones(3 * PageQueue::kMostAhead);
  }
  Away(*north_);
  int pages = 0;
  EXPECT_TRUE(
      cells_.ListPages(Kind::kZone, {}, [&](std::vector<Item>) { return ++pages < 2; }).ok());
  EXPECT_EQ(pages, 2);
  EXPECT_THAT(told_, IsEmpty()) << "nobody asks what north would have said";
  EXPECT_FALSE(cells_.is_partial());
}

// None waits for a list that waits for whoever takes its pages.
TEST_F(CellsApiTest, AnExceptionEndsAList) {
  for (FakeApi* api : all()) {
    api->page_size = 1;
    api->items[Kind::kZone] = ManyZones(3 * PageQueue::kMostAhead);
  }
  const auto list = [&](const PageReceiver& receive) {
    return cells_.ListPages(Kind::kZone, {}, receive);
  };
  const auto refuse = [](std::vector<Item>) -> bool { throw std::runtime_error("no more"); };
  EXPECT_THROW((void)list(refuse), std::runtime_error);
  const auto take = [](std::vector<Item>) { return true; };
  west_->before_list = [] { throw std::runtime_error("broken"); };
  EXPECT_THROW((void)list(take), std::runtime_error);
}

TEST_F(CellsApiTest, ErrorsNameTheirCellsInTheirOrder) {
  Away(*east_);
  north_->refusal_of_reads = FromServer(absl::PermissionDeniedError("not you"));
  EXPECT_THAT(PlacesOf(cells_.List(Kind::kZone, "")), ElementsAre("west WEST-1A"));
  EXPECT_THAT(told_, ElementsAre("cell east: nobody is there", "cell north: not you"));
  EXPECT_TRUE(cells_.is_partial());
  told_.clear();
  Away(*west_);
  Away(*north_);
  const auto nothing = cells_.List(Kind::kZone, "");
  EXPECT_TRUE(absl::IsUnavailable(nothing.status())) << nothing.status();
  EXPECT_EQ(nothing.status().message(), "cell north: nobody is there");
  EXPECT_THAT(told_, ElementsAre("cell west: nobody is there")) << "east is not asked again";
}

TEST_F(CellsApiTest, WhatNoneThatAnswersHasIsAskedForAgain) {
  Away(*east_);
  const auto get = [&] { return cells_.Get(Kind::kZone, "EAST-1A"); };
  const auto unknown = get();
  EXPECT_TRUE(absl::IsFailedPrecondition(unknown.status())) << unknown.status();
  EXPECT_TRUE(PassesBy(unknown.status()));
  east_->refusal_of_reads = absl::OkStatus();
  EXPECT_TRUE(PassesBy(get().status())) << "east is not asked again";
  cells_.AskAgain();
  ASSERT_TRUE(get().ok());
  EXPECT_EQ(get()->cell, "east");
  EXPECT_FALSE(cells_.is_partial()) << "all are asked, and answer";
  EXPECT_THAT(told_, ElementsAre("cell east: nobody is there"));
}

TEST_F(CellsApiTest, WhatACellRefusesToTellDoesNotPassBy) {
  east_->refusal_of_reads = FromServer(absl::PermissionDeniedError("not you"));
  const auto unknown = cells_.Get(Kind::kZone, "EAST-1A");
  EXPECT_TRUE(absl::IsFailedPrecondition(unknown.status())) << unknown.status();
  EXPECT_FALSE(PassesBy(unknown.status()));
}

// What a zone has of the one request.
void AddZone(FakeApi& api, const std::string& zone, capacity::v1::Availability availability,
             int64_t free, int64_t ahead = 0) {
  capacity::v1::ZonePlacements& added = *api.placements.add_zones();
  added.set_zone(zone);
  added.set_availability(availability);
  capacity::v1::Placement& placement = *added.add_placements();
  placement.set_free(free);
  placement.set_queue_ahead(ahead);
  placement.set_availability(availability);
}

capacity::v1::FindPlacementsRequest ForNodes(int64_t nodes) {
  capacity::v1::FindPlacementsRequest request;
  request.add_requests()->set_instance_type("t");
  request.mutable_requests(0)->set_nodes(nodes);
  return request;
}

std::vector<std::string> ZonesOf(const FoundPlacements& found) {
  std::vector<std::string> zones;
  for (int i = 0; i < found.answer.zones_size(); ++i)
    zones.push_back(
        absl::StrCat(found.cells[static_cast<size_t>(i)], " ", found.answer.zones(i).zone()));
  return zones;
}

TEST_F(CellsApiTest, PlacementsOfAllStandBestFirstAsThoseOfOne) {
  AddZone(*east_, "E1", capacity::v1::AVAILABILITY_LIKELY, 8);
  AddZone(*east_, "E2", capacity::v1::AVAILABILITY_LIMITED, 1, 9);
  AddZone(*west_, "W1", capacity::v1::AVAILABILITY_LIKELY, 20);
  AddZone(*west_, "W2", capacity::v1::AVAILABILITY_LIMITED, 1, 2);
  AddZone(*west_, "W3", capacity::v1::AVAILABILITY_SKU_UNAVAILABLE, 0);
  AddZone(*north_, "D1", capacity::v1::AVAILABILITY_LIKELY, 8);
  AddZone(*north_, "D2", capacity::v1::AVAILABILITY_POSSIBLY, 3);
  const auto found = cells_.FindPlacements(ForNodes(4));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(ZonesOf(*found), ElementsAre("west W1", "north D1", "east E1", "north D2", "west W2",
                                           "east E2", "west W3"));
  EXPECT_EQ(found->answer.recommended_zone(), "W1");
}

// What is kept for gangs is not told: the order of a cell counts more than what can be worked out.
TEST_F(CellsApiTest, PlacementsOfOneCellStayInItsOrder) {
  AddZone(*east_, "E1", capacity::v1::AVAILABILITY_LIKELY, 4);
  AddZone(*east_, "E2", capacity::v1::AVAILABILITY_LIKELY, 9);
  AddZone(*west_, "W1", capacity::v1::AVAILABILITY_NOT_AVAILABLE, 0);
  EXPECT_THAT(ZonesOf(*cells_.FindPlacements(ForNodes(4))),
              ElementsAre("east E1", "east E2", "west W1"));
  east_->placements.Clear();
  const auto nothing = cells_.FindPlacements(ForNodes(4));
  EXPECT_EQ(nothing->answer.recommended_zone(), "") << "these Nodes are to be had nowhere";
}

TEST_F(CellsApiTest, ZonesThatAreNamedAreAskedOfTheCellsThatHaveThem) {
  AddZone(*west_, "WEST-1A", capacity::v1::AVAILABILITY_LIKELY, 4);
  auto request = ForNodes(4);
  request.add_zones("WEST-1A");
  EXPECT_THAT(ZonesOf(*cells_.FindPlacements(request)), ElementsAre("west WEST-1A"));
  EXPECT_THAT(west_->calls, ElementsAre(HasSubstr("zones: \"WEST-1A\"")));
  EXPECT_THAT(east_->calls, IsEmpty());
  request.add_zones("SOUTH-1A");
  const auto refused = cells_.FindPlacements(request);
  EXPECT_TRUE(absl::IsNotFound(refused.status())) << refused.status();
  EXPECT_EQ(refused.status().message(), "no cell has zone \"SOUTH-1A\"");
  Away(*east_);
  request = ForNodes(4);
  EXPECT_THAT(ZonesOf(*cells_.FindPlacements(request)), ElementsAre("west WEST-1A"));
  EXPECT_THAT(told_, ElementsAre("cell east: nobody is there"));
}

TEST_F(CellsApiTest, ACellThatLacksTheInstanceTypeHasNoZonesForIt) {
  const auto lacks = [](const std::string& what) {
    return FromServer(absl::InvalidArgumentError(what + " is not in the catalogue."));
  };
  AddZone(*west_, "W1", capacity::v1::AVAILABILITY_LIKELY, 20);
  east_->refusal_of_placements = north_->refusal_of_placements = lacks("t");
  const auto found = cells_.FindPlacements(ForNodes(4));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(ZonesOf(*found), ElementsAre("west W1"));
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_FALSE(cells_.is_partial());
  // All that is asked for is in the one that refuses: the others do not answer for it.
  auto in_east = ForNodes(4);
  in_east.add_zones("EAST-1A");
  EXPECT_EQ(cells_.FindPlacements(in_east).status().message(),
            "cell east: t is not in the catalogue.");
  // Nobody has it.
  west_->refusal_of_placements = lacks("t");
  EXPECT_EQ(cells_.FindPlacements(ForNodes(4)).status().message(), "t is not in the catalogue.");
  west_->refusal_of_placements = lacks("u");
  EXPECT_EQ(cells_.FindPlacements(ForNodes(4)).status().message(),
            "cell east: t is not in the catalogue.");
  EXPECT_THAT(told_, IsEmpty());
}

history::v1::Change ChangeAt(int64_t seconds, int64_t revision) {
  history::v1::Change change;
  change.mutable_change_time()->set_seconds(seconds);
  change.set_revision(revision);
  return change;
}

std::vector<std::string> ChangesOf(const ToldChanges& told) {
  std::vector<std::string> changes;
  for (int i = 0; i < told.answer.changes_size(); ++i) {
    changes.push_back(
        absl::StrCat(told.cells[static_cast<size_t>(i)], " ", told.answer.changes(i).revision()));
  }
  return changes;
}

TEST_F(CellsApiTest, ChangesOfAllCellsAreInTheOrderOfTime) {
  const ResourceId cluster{Kind::kCluster, "moved"};
  *east_->changes.add_changes() = ChangeAt(20, 90);
  *east_->changes.add_changes() = ChangeAt(10, 80);
  east_->changes.set_complete(true);
  *west_->changes.add_changes() = ChangeAt(40, 4);
  *west_->changes.add_changes() = ChangeAt(30, 3);
  west_->changes.set_complete(true);
  north_->refusal_of_reads = FromServer(absl::NotFoundError("no change is known"));
  const auto all = cells_.ListChanges(cluster, 20, absl::InfinitePast());
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(ChangesOf(*all), ElementsAre("west 4", "west 3", "east 90", "east 80"));
  EXPECT_TRUE(all->answer.complete());
  EXPECT_EQ(all->answer.next_page_token(), "");
  const auto some = cells_.ListChanges(cluster, 3, absl::InfinitePast());
  EXPECT_THAT(ChangesOf(*some), ElementsAre("west 4", "west 3", "east 90"));
  EXPECT_NE(some->answer.next_page_token(), "");
  EXPECT_FALSE(cells_.is_partial());
  west_->refusal_of_reads = east_->refusal_of_reads = north_->refusal_of_reads;
  EXPECT_TRUE(absl::IsNotFound(cells_.ListChanges(cluster, 3, absl::InfinitePast()).status()));
}

history::v1::GetPastResponse PastAt(int64_t revision) {
  history::v1::GetPastResponse past;
  past.set_revision(revision);
  return past;
}

TEST_F(CellsApiTest, ThePastIsOfTheCellThatHadIt) {
  const ResourceId pool{Kind::kNodePool, "train"};
  west_->past = {PastAt(7)};
  north_->past = {FromServer(absl::OutOfRangeError("The journal does not reach back so far."))};
  const auto was = cells_.GetPast(pool, absl::UnixEpoch());
  ASSERT_TRUE(was.ok()) << was.status();
  ASSERT_THAT(*was, SizeIs(1));
  EXPECT_EQ(was->front().cell, "west");
  EXPECT_EQ(was->front().answer.revision(), 7);
  EXPECT_THAT(told_, IsEmpty()) << "north has nothing to do with it";
  EXPECT_FALSE(cells_.is_partial());

  west_->past.clear();
  const auto unknown = cells_.GetPast(pool, absl::UnixEpoch());
  EXPECT_EQ(unknown.status().message(), "nodepool \"train\" is in none of the cells that answer");
  EXPECT_THAT(told_, ElementsAre("cell north: The journal does not reach back so far."));
  EXPECT_TRUE(cells_.is_partial());
}

TEST_F(CellsApiTest, ARevisionIsOneCells) {
  const std::string says =
      "a revision (a time is of all): of one cell at a time; say by --context which of east, west, "
      "north";
  const auto was = cells_.GetPast({Kind::kNodePool, "train"}, int64_t{41});
  EXPECT_EQ(was.status().message(), says);
  EXPECT_EQ(cells_.ListPast(Kind::kNodePool, "", int64_t{41}).status().message(), says);
  EXPECT_THAT(PlacesOf(cells_.ListPast(Kind::kZone, "", absl::UnixEpoch())),
              ElementsAre("east EAST-1A", "west WEST-1A", "north NORTH-1A"));
  EXPECT_THAT(east_->calls, ElementsAre("past list zone  time"));
}

}  // namespace
}  // namespace muster::musterctl
