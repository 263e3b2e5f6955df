// Lists with `filter` and `order_by`, across clusters and organizations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "services/rpc/page.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kEverywhere[] = "organizations/-/clusters/-";

class ListsTest : public LifecycleServiceTest {
 protected:
  ListsTest() {
    MakeCluster("organizations/acme/clusters/c2", "RNO2A");
    MakeCluster("organizations/other/clusters/c1", "US-EAST-04A");
    MakePool("organizations/acme/clusters/c1", "a", 1, 2);
    MakePool("organizations/acme/clusters/c1", "b", 3, 1);
    MakePool("organizations/acme/clusters/c2", "c", 2, 2);
    MakePool("organizations/other/clusters/c1", "d", 3, 2);
  }

  void MakeCluster(const std::string& name, const std::string& zone) {
    v1::UpdateClusterRequest request;
    request.mutable_cluster()->set_name(name);
    request.mutable_cluster()->set_zone(zone);
    EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateCluster, request), IsOk());
  }
  void MakePool(const std::string& cluster, const std::string& id, int priority, int64_t target) {
    v1::ApplyNodePoolRequest request = Pool(target);
    request.mutable_node_pool()->set_name(absl::StrCat(cluster, "/nodePools/", id));
    request.mutable_node_pool()->mutable_spec()->set_priority(priority);
    const auto made = Call(*replica_->stub, &Stub::ApplyNodePool, request);
    EXPECT_THAT(made, IsOk());
    if (made.ok()) uids_[id] = made->uid();
  }

  static std::string IdOf(const std::string& name) { return name.substr(name.rfind('/') + 1); }
  // The ids on all pages, of at most `size` each.
  std::vector<std::string> Pools(v1::ListNodePoolsRequest list, int size = 0) {
    std::vector<std::string> ids;
    list.set_page_size(size);
    do {
      const auto page = Call(*replica_->stub, &Stub::ListNodePools, list);
      EXPECT_THAT(page, IsOk());
      if (!page.ok()) break;
      for (const v1::NodePool& pool : page->node_pools()) ids.push_back(IdOf(pool.name()));
      list.set_page_token(page->next_page_token());
    } while (!list.page_token().empty());
    return ids;
  }
  // On all pages, of at most `size` each.
  std::vector<v1::Event> AllEvents(v1::ListEventsRequest list, int size) {
    std::vector<v1::Event> events;
    list.set_page_size(size);
    do {
      const auto page = Call(*replica_->stub, &Stub::ListEvents, list);
      EXPECT_THAT(page, IsOk());
      if (!page.ok()) break;
      events.insert(events.end(), page->events().begin(), page->events().end());
      list.set_page_token(page->next_page_token());
    } while (!list.page_token().empty());
    return events;
  }
  // Of the pools that the events are about.
  std::vector<std::string> Events(const v1::ListEventsRequest& list, int size = 0) {
    std::vector<std::string> ids;
    for (const v1::Event& event : AllEvents(list, size)) ids.push_back(IdOf(event.object()));
    return ids;
  }
  std::vector<std::string> EventNames(const v1::ListEventsRequest& list, int size = 0) {
    std::vector<std::string> names;
    for (const v1::Event& event : AllEvents(list, size)) names.push_back(event.name());
    return names;
  }

  std::map<std::string, std::string> uids_;
};

TEST_F(ListsTest, PoolsAreChosenWhereverTheParentSays) {
  v1::ListNodePoolsRequest list;
  list.set_parent(kEverywhere);
  list.set_order_by("spec.priority desc, spec.target_nodes");
  EXPECT_THAT(Pools(list), ElementsAre("b", "d", "c", "a"));
  list.set_filter("spec.target_nodes = 2");
  EXPECT_THAT(Pools(list), ElementsAre("d", "c", "a"));
  list.set_parent("organizations/acme/clusters/-");
  EXPECT_THAT(Pools(list), ElementsAre("c", "a"));
  list.set_parent(kCluster);
  EXPECT_THAT(Pools(list), ElementsAre("a"));
  list.set_filter("spec.target_nodes > 2");
  EXPECT_THAT(Pools(list), IsEmpty());
}

TEST_F(ListsTest, PagesGoOnInTheOrderAskedForAndInNoOther) {
  v1::ListNodePoolsRequest list;
  list.set_parent(kEverywhere);
  list.set_order_by("spec.priority desc");
  list.set_filter("spec.target_nodes = 2");
  for (const int size : {1, 2, 3}) EXPECT_THAT(Pools(list, size), ElementsAre("d", "c", "a"));
  list.set_page_size(1);
  const auto first = Call(*replica_->stub, &Stub::ListNodePools, list);
  ASSERT_THAT(first, IsOk());
  list.set_page_token(first->next_page_token());
  list.set_order_by("spec.priority");
  EXPECT_THAT(Call(*replica_->stub, &Stub::ListNodePools, list).status(),
              HasFieldViolation("page_token"));
}

TEST_F(ListsTest, EventsAreChosenByPoolAndByWhatTheySay) {
  v1::ListEventsRequest list;
  list.set_parent(kEverywhere);
  list.set_filter("type = Normal AND reason = CWNodePoolCreated");
  list.set_order_by("object desc");
  for (const int size : {1, 3, 100})
    EXPECT_THAT(Events(list, size), ElementsAre("d", "c", "b", "a"));
  list.set_order_by("last_time, name");
  EXPECT_THAT(Events(list), ElementsAre("a", "b", "c", "d")) << "the oldest first";
  list.set_parent("organizations/acme/clusters/-");
  EXPECT_THAT(Events(list), ElementsAre("a", "b", "c"));
  list.set_pool_uid(uids_["b"]);
  EXPECT_THAT(Events(list), ElementsAre("b"));
  list.set_filter("type = Warning");
  EXPECT_THAT(Events(list), IsEmpty());
}

TEST_F(ListsTest, EventsComeNewestFirstWhateverThePagesAre) {
  v1::ListEventsRequest list;
  v1::ListEventsRequest sorted;
  sorted.set_order_by("last_time desc, name desc");
  for (const char* parent : {kEverywhere, "organizations/acme/clusters/-", kCluster}) {
    list.set_parent(parent);
    sorted.set_parent(parent);
    for (const std::string filter : {"", "reason = CWNodePoolCreated"}) {
      list.set_filter(filter);
      sorted.set_filter(filter);
      const std::vector<std::string> all = EventNames(sorted);
      EXPECT_GE(all.size(), 2) << parent << filter;
      for (const int size : {1, 2, 3, 100})
        EXPECT_EQ(EventNames(list, size), all) << parent << filter;
    }
  }
  list.set_parent(kEverywhere);
  EXPECT_THAT(Events(list), ElementsAre("d", "c", "b", "a"));
  list.set_pool_uid(uids_["b"]);
  for (const char* parent : {kEverywhere, kCluster}) {
    list.set_parent(parent);
    EXPECT_THAT(Events(list), ElementsAre("b")) << parent;
  }
  list.set_parent("organizations/acme/clusters/c2");
  EXPECT_THAT(Events(list), IsEmpty()) << "it is elsewhere";
  list.set_pool_uid("nosuch");
  EXPECT_THAT(Events(list), IsEmpty());
  list.clear_pool_uid();
  list.set_parent("organizations/nosuch/clusters/-");
  EXPECT_THAT(Events(list), IsEmpty());
}

TEST_F(ListsTest, EventsThatComeWhilePagesAreReadAreOnNoneOfThem) {
  v1::ListEventsRequest list;
  list.set_parent(kEverywhere);
  const std::vector<std::string> before = EventNames(list);
  ASSERT_GE(before.size(), 4);
  list.set_page_size(2);
  std::vector<std::string> read;
  int64_t revision = 0;
  do {
    const auto page = Call(*replica_->stub, &Stub::ListEvents, list);
    ASSERT_THAT(page, IsOk());
    if (revision == 0) revision = page->revision();
    for (const v1::Event& event : page->events()) read.push_back(event.name());
    MakePool("organizations/acme/clusters/c2", absl::StrCat("p", read.size()), 1, 1);
    list.set_page_token(page->next_page_token());
  } while (!list.page_token().empty());
  EXPECT_EQ(read, before);
  list.set_page_size(0);
  EXPECT_GT(EventNames(list).size(), before.size());
}

TEST_F(ListsTest, ATokenOfAnotherOrderIsNoneOfEvents) {
  v1::ListEventsRequest list;
  list.set_parent(kEverywhere);
  // As servers made them that listed by name.
  list.set_page_token(rpc::PageToken(list, "organizations/acme/clusters/c1/events/1"));
  EXPECT_THAT(Call(*replica_->stub, &Stub::ListEvents, list).status(),
              HasFieldViolation("page_token"));
}

TEST_F(ListsTest, ClustersToo) {
  v1::ListClustersRequest list;
  list.set_parent("organizations/acme");
  list.set_order_by("zone");
  auto page = Call(*replica_->stub, &Stub::ListClusters, list);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->clusters_size(), 2);
  EXPECT_EQ(IdOf(page->clusters(0).name()), "c2");
  list.set_filter("zone != RNO2A");
  page = Call(*replica_->stub, &Stub::ListClusters, list);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->clusters_size(), 1);
  EXPECT_EQ(page->clusters(0).name(), kCluster);
}

TEST_F(ListsTest, WhatIsWrongIsNamedAllAtOnce) {
  v1::ListNodePoolsRequest pools;
  pools.set_parent("organizations/acme");
  pools.set_filter("spec.colour = red");
  pools.set_order_by("spec.node_labels");
  EXPECT_THAT(Call(*replica_->stub, &Stub::ListNodePools, pools).status(),
              AllOf(HasFieldViolation("parent"), HasFieldViolation("filter"),
                    HasFieldViolation("order_by")));
  v1::ListEventsRequest events;
  events.set_parent(kEverywhere);
  events.set_filter("last_time > yesterday");
  events.set_order_by("age");
  EXPECT_THAT(Call(*replica_->stub, &Stub::ListEvents, events).status(),
              AllOf(HasFieldViolation("filter"), HasFieldViolation("order_by")));
}

}  // namespace
}  // namespace muster::lifecycle
