#include "services/rpc/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/rpc/list.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_lane.h"
#include "services/rpc/testing/fake_quota_service.h"

namespace muster::rpc {
namespace {

using ::testing::ElementsAre;

bool IsFruit(absl::string_view name) { return !name.empty() && name.size() < 8; }
constexpr auto kRender = [](const Orchard&, const Versioned<Fruit>& fruit) {
  v1::Quota quota;
  quota.set_name(fruit.row->name);
  quota.set_limit(fruit.row->weight);
  quota.set_etag(absl::StrCat(fruit.revision));
  return quota;
};

class ReadTest : public ::testing::Test {
 protected:
  ReadTest() {
    StagedState<Orchard> staged(lane_.state, 0);
    for (int64_t i = 0; i < 6; ++i) staged.Put(Fruit{absl::StrCat(i < 4 ? "a" : "b", "/", i), i});
    lane_.revision = staged.revision();
  }
  // Has the RPC do what `handle` does.
  absl::Status Serve(std::function<grpc::ServerUnaryReactor*(
                         grpc::CallbackServerContext*, const v1::GetQuotaRequest&, v1::Quota*)>
                         handle,
                     const v1::GetQuotaRequest& request, v1::Quota& response) {
    server_.service.get = [handle](grpc::CallbackServerContext* context,
                                   const v1::GetQuotaRequest* asked,
                                   v1::Quota* out) { return handle(context, *asked, out); };
    grpc::ClientContext context;
    return FromGrpcStatus(server_.stub->GetQuota(&context, request, &response));
  }
  absl::StatusOr<v1::Quota> Get(const std::string& name) {
    v1::GetQuotaRequest request;
    request.set_name(name);
    v1::Quota response;
    const absl::Status status = Serve(
        [this](auto* context, const auto& asked, v1::Quota* out) {
          return GetRow<Fruit>(context, lane_, asked, out, NameShape{&IsFruit, "must be short."},
                               kRender);
        },
        request, response);
    if (!status.ok()) return status;
    return response;
  }
  // One page, as the names in it; `token` is taken and given.
  absl::Status List(v1::ListQuotasRequest& request, std::vector<std::string>& names) {
    v1::ListQuotasResponse page;
    v1::Quota ignored;
    const auto select = [](const v1::ListQuotasRequest& asked, error::Faults& faults) {
      faults.Require(!asked.parent().empty(), "parent", "is required.");
      return Selection<Fruit>{asked.parent(), [](absl::string_view key, const Fruit& fruit) {
                                return key != "a/1" && fruit.weight != 2;
                              }};
    };
    // The response is written before the call is answered: the lane of these tests does not wait.
    const absl::Status status = Serve(
        [&](auto* context, const auto&, v1::Quota*) {
          return ListRows<Fruit>(
              context, lane_, request, &page, select, [](auto& out) { return out.add_quotas(); },
              kRender);
        },
        {}, ignored);
    for (const v1::Quota& quota : page.quotas()) names.push_back(quota.name());
    request.set_page_token(page.next_page_token());
    return status;
  }

  CaughtLog log_;
  FakeLane<Orchard> lane_;
  FakeServer server_;
};

TEST_F(ReadTest, GetsTheRowThatIsNamed) {
  const auto row = Get("a/3");
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->name(), "a/3");
  EXPECT_EQ(row->limit(), 3);
  EXPECT_EQ(row->etag(), "4");
  EXPECT_EQ(row->revision(), 6) << "of what is shown, not of the row's last change";
}

TEST_F(ReadTest, GetRefusesWhatIsNoNameAndKnowsWhatIsNotThere) {
  const auto bad = Get("far too long");
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error::DetailOf(bad.status())->fields,
              ElementsAre(error::FieldViolation{"name", "must be short."}));
  EXPECT_EQ(Get("a/9").status().code(), absl::StatusCode::kNotFound);
  lane_.lost = error::Unavailable("The database is away.");
  EXPECT_EQ(Get("a/3").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ReadTest, ListsWhatIsSelectedPageByPage) {
  v1::ListQuotasRequest request;
  request.set_parent("a/");
  request.set_page_size(1);
  std::vector<std::string> names;
  do {
    ASSERT_TRUE(List(request, names).ok());
  } while (!request.page_token().empty());
  EXPECT_THAT(names, ElementsAre("a/0", "a/3"));
}

// What a caller with `scope` has a list look at below `prefix`.
std::vector<std::string> LookedAt(const Orchard& state, void (*add)(access::Scope&),
                                  const std::string& prefix, const std::string& after = "") {
  const auto scope = std::make_shared<access::Scope>();
  add(*scope);
  std::vector<std::string> names;
  WalkNarrowed<Fruit>(NarrowedPrefix(scope, prefix), ByName<Fruit>(), state, after,
                      [&](absl::string_view name, const auto&) {
                        names.emplace_back(name);
                        return true;
                      });
  return names;
}

TEST_F(ReadTest, AListLooksAtNothingThatIsAnothers) {
  const auto acme = [](access::Scope& scope) { scope.AddOrganization("acme"); };
  const auto zone = [](access::Scope& scope) { scope.AddZone("US-EAST-04A"); };
  StagedState<Orchard> staged(lane_.state, lane_.revision);
  const std::string own = "organizations/acme/clusters/c1";
  const std::string foreign = "organizations/other/clusters/c1";
  for (const std::string& name : {own, foreign}) staged.Put(Fruit{name});
  EXPECT_THAT(LookedAt(lane_.state, acme, "organizations/other/"), ElementsAre());
  EXPECT_THAT(LookedAt(lane_.state, acme, "organizations/acme/"), ElementsAre(own));
  EXPECT_THAT(LookedAt(lane_.state, acme, "organizations/"), ElementsAre(own));
  EXPECT_THAT(LookedAt(lane_.state, acme, "", "b"), ElementsAre("b/4", "b/5", own, foreign))
      << "as capacity's claims, whose keys do not say whose they are";
  EXPECT_THAT(LookedAt(lane_.state, zone, "organizations/other/"), ElementsAre(foreign));
  lane_.revision = staged.revision();
}

// `-` sorts before `/`.
TEST_F(ReadTest, AClustersListLooksAtNoneWhoseNameIsLonger) {
  const auto prod = [](access::Scope& scope) {
    scope.AddCluster("organizations/acme/clusters/prod");
  };
  const std::string clusters = "organizations/acme/clusters/";
  StagedState<Orchard> staged(lane_.state, lane_.revision);
  for (const char* name : {"prod-2/a", "prod/a", "prod/b", "prod0/a"})
    staged.Put(Fruit{clusters + name});
  EXPECT_THAT(LookedAt(lane_.state, prod, clusters),
              ElementsAre(clusters + "prod/a", clusters + "prod/b"));
  EXPECT_THAT(LookedAt(lane_.state, prod, clusters, clusters + "prod/a"),
              ElementsAre(clusters + "prod/b"));
  EXPECT_THAT(LookedAt(lane_.state, prod, clusters + "prod-2/"), ElementsAre());
  staged.Put(Fruit{clusters + "prod"});
  EXPECT_EQ(LookedAt(lane_.state, prod, clusters).front(), clusters + "prod")
      << "where clusters themselves are listed";
  lane_.revision = staged.revision();
}

TEST_F(ReadTest, ListRefusesBadSelectionsAndPages) {
  std::vector<std::string> names;
  v1::ListQuotasRequest request;
  EXPECT_EQ(error::DetailOf(List(request, names))->fields[0].field, "parent");
  request.set_parent("a/");
  request.set_page_size(-1);
  EXPECT_EQ(error::DetailOf(List(request, names))->fields[0].field, "page_size");
  EXPECT_TRUE(names.empty());
}

}  // namespace
}  // namespace muster::rpc
