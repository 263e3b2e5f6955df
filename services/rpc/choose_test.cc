#include "services/rpc/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_lane.h"
#include "services/rpc/testing/fake_quota_service.h"

namespace muster::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kRenderFruit = [](const Orchard&, const Versioned<Fruit>& fruit) {
  v1::Quota quota;
  quota.set_name(fruit.row->name);
  quota.set_limit(fruit.row->weight);
  return quota;
};

constexpr auto kIsHeavy = [](absl::string_view, const Fruit& fruit) { return fruit.weight > 9; };

// Fruits a/000 to a/299 of weights 0 to 9, over and over.
class ChooseTest : public ::testing::Test {
 protected:
  ChooseTest() {
    StagedState<Orchard> staged(lane_.state, 0);
    for (int i = 0; i < 300; ++i)
      staged.Put(Fruit{absl::StrCat("a/", absl::Dec(i, absl::kZeroPad3)), i % 10});
    staged.Put(Fruit{"b/0", 5});
    lane_.revision = staged.revision();
  }
  ~ChooseTest() override { slow_->Stop(); }

  absl::Status List(v1::ListQuotasRequest& request, std::vector<std::string>& names) {
    page_.Clear();
    server_.service.get = [&](grpc::CallbackServerContext* context, const v1::GetQuotaRequest*,
                              v1::Quota*) {
      const auto select = [](const v1::ListQuotasRequest& asked, error::Faults&) {
        // As of names with parts, of which a `-` says nothing.
        const size_t any = asked.parent().find('-');
        return any == std::string::npos ? Selection<Fruit>{asked.parent(), {}}
                                        : Selection<Fruit>{asked.parent().substr(0, any), kIsHeavy};
      };
      return ChooseRows<Fruit>(
          context, slow_, lane_, request, &page_, select,
          [](auto& out) { return out.add_quotas(); }, kRenderFruit);
    };
    grpc::ClientContext context;
    v1::Quota ignored;
    const absl::Status status = FromGrpcStatus(server_.stub->GetQuota(&context, {}, &ignored));
    for (const v1::Quota& quota : page_.quotas()) names.push_back(quota.name());
    request.set_page_token(page_.next_page_token());
    return status;
  }
  std::vector<std::string> ListAll(v1::ListQuotasRequest request) {
    std::vector<std::string> names;
    do {
      const absl::Status status = List(request, names);
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) break;
      EXPECT_EQ(page_.revision(), lane_.revision);
    } while (!request.page_token().empty());
    return names;
  }
  v1::ListQuotasRequest Request(const std::string& filter, const std::string& order = "",
                                int page_size = 0) {
    v1::ListQuotasRequest request;
    request.set_parent("a/");
    request.set_filter(filter);
    request.set_order_by(order);
    request.set_page_size(page_size);
    return request;
  }

  FakeLane<Orchard> lane_;
  v1::ListQuotasResponse page_;
  FakeServer server_;
  const std::shared_ptr<SlowCalls> slow_ = std::make_shared<SlowCalls>(SlowCallsOptions());
};

TEST_F(ChooseTest, WithoutBothItIsThePlainList) {
  EXPECT_EQ(ListAll(Request("", "", 1000)).size(), 300);
}

TEST_F(ChooseTest, FiltersPageByPage) {
  const std::vector<std::string> all = ListAll(Request("limit = 7", "", 4));
  ASSERT_EQ(all.size(), 30);
  EXPECT_EQ(all.front(), "a/007");
  EXPECT_EQ(all.back(), "a/297");
  EXPECT_THAT(ListAll(Request("limit = 11")), IsEmpty());
  EXPECT_THAT(ListAll(Request("name = a/12* AND limit < 2")), ElementsAre("a/120", "a/121"));
}

TEST_F(ChooseTest, OrdersPageByPageWhateverThePagesAre) {
  const std::vector<std::string> all = ListAll(Request("", "limit desc, name", 1000));
  ASSERT_EQ(all.size(), 300);
  EXPECT_EQ(all[0], "a/009");
  EXPECT_EQ(all[30], "a/008");
  for (const int page_size : {1, 7, 30, 299, 300})
    EXPECT_EQ(ListAll(Request("", "limit desc", page_size)), all) << page_size;
  EXPECT_THAT(ListAll(Request("name = a/00* limit > 6", "limit desc", 2)),
              ElementsAre("a/009", "a/008", "a/007"));
}

// Nothing of what is there is shown: a commit that comes meanwhile does not wait for the end, where
// it stands.
TEST_F(ChooseTest, AListThatPassesByManyRowsLetsCommitsIn) {
  int pieces = 0;
  lane_.before_peek = [&] {
    if (++pieces != 2) return;
    StagedState<Orchard> staged(lane_.state, lane_.revision);
    staged.Put(Fruit{"a/last", 10});
    lane_.revision = staged.revision();
  };
  const int64_t before = lane_.revision;
  v1::ListQuotasRequest request;
  request.set_parent("a/-/clusters/c1");
  std::vector<std::string> names;
  ASSERT_TRUE(List(request, names).ok());
  EXPECT_EQ(pieces, 2);
  EXPECT_THAT(names, ElementsAre("a/last"));
  EXPECT_EQ(page_.revision(), before) << "a watch after it tells of what came meanwhile";
}

TEST_F(ChooseTest, AListOfAllBelowItsParentIsThePlainOne) {
  lane_.before_peek = [] { ADD_FAILURE() << "in pieces"; };
  EXPECT_EQ(ListAll(Request("", "", 100)).size(), 300);
}

TEST(MayPassByMany, WhereNoPrefixSaysWhatIsAskedFor) {
  const auto by_parent = [](absl::string_view parent) {
    return internal::MayPassByManyBelow(parent, nullptr);
  };
  for (const char* parent :
       {"organizations/-/clusters/c1", "organizations/-/clusters/c1/nodePools/-",
        "organizations/acme/clusters/-/nodePools/train"})
    EXPECT_TRUE(by_parent(parent)) << parent;
  for (const char* parent :
       {"", "organizations/acme", "organizations/-", "organizations/-/clusters/-",
        "organizations/acme/clusters/-/nodePools/-", "organizations/acme/clusters/c1/nodePools/-"})
    EXPECT_FALSE(by_parent(parent)) << parent;
}

TEST(MayPassByMany, WhereACallerSeesAFewPlaces) {
  access::Scope zone, organization, two;
  zone.AddZone("US-EAST-04A");
  organization.AddOrganization("acme");
  two.AddOrganization("acme");
  two.AddOrganization("other");
  constexpr char kAll[] = "organizations/-/clusters/-";
  constexpr char kOwn[] = "organizations/acme/clusters/-";
  EXPECT_TRUE(internal::MayPassByManyBelow(kAll, &zone));
  EXPECT_TRUE(internal::MayPassByManyBelow(kOwn, &zone));
  EXPECT_TRUE(internal::MayPassByManyBelow(kAll, &two));
  EXPECT_FALSE(internal::MayPassByManyBelow(kOwn, &two)) << "all of it is theirs";
  EXPECT_FALSE(internal::MayPassByManyBelow(kAll, &organization))
      << "the list begins where theirs does";
}

// As capacity's claims, whose names do not tell whose they are.
TEST(MayPassByMany, WhereARequestHasNoParent) {
  access::Scope organization;
  organization.AddOrganization("acme");
  EXPECT_FALSE(internal::MayPassByMany(v1::GetQuotaRequest(), nullptr));
  EXPECT_TRUE(internal::MayPassByMany(v1::GetQuotaRequest(), &organization));
}

TEST_F(ChooseTest, ATokenIsOfItsRequestAlone) {
  std::vector<std::string> names;
  v1::ListQuotasRequest request = Request("limit = 7", "", 4);
  ASSERT_TRUE(List(request, names).ok());
  request.set_filter("limit = 8");
  EXPECT_EQ(error::DetailOf(List(request, names))->fields[0].field, "page_token");
}

TEST_F(ChooseTest, NamesTheFieldThatIsWrong) {
  std::vector<std::string> names;
  v1::ListQuotasRequest request = Request("colour = red", "age");
  const absl::Status status = List(request, names);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(error::DetailOf(status)->fields.size(), 2);
  EXPECT_EQ(error::DetailOf(status)->fields[0].field, "filter");
  EXPECT_EQ(error::DetailOf(status)->fields[1].field, "order_by");
  lane_.lost = error::Unavailable("The database is away.");
  request = Request("limit = 7");
  EXPECT_EQ(List(request, names).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace muster::rpc
