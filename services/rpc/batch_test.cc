#include "services/rpc/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/quota/v1/quota_service.pb.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace muster::rpc {
namespace {

using ::muster::testing::FieldsOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using BatchRequest = quota::v1::BatchSyncHoldingsRequest;

std::vector<int64_t> Parse(const BatchRequest& request, error::Faults& faults, size_t max = 1'000) {
  return ParseBatch(
      request.holdings(), {.field = "holdings", .max = max, .key = "name"},
      [](const quota::v1::HoldingRequest& holding) { return absl::string_view(holding.name()); },
      [](const quota::v1::HoldingRequest& holding, absl::string_view path, error::Faults& found) {
        found.Require(!holding.name().empty(), error::Below(path, "name"), "is required.");
        return holding.nodes();
      },
      faults);
}

BatchRequest BatchOf(std::initializer_list<const char*> names) {
  BatchRequest request;
  for (const char* name : names) {
    request.add_holdings()->set_nodes(request.holdings_size());
    request.mutable_holdings()->rbegin()->set_name(name);
  }
  return request;
}

TEST(ParseBatch, GivesOneCommandAnEntry) {
  error::Faults faults;
  EXPECT_THAT(Parse(BatchOf({"a", "b", "c"}), faults), ElementsAre(1, 2, 3));
  EXPECT_TRUE(faults.empty());
}

TEST(ParseBatch, NamesFaultsByTheirEntryAndWhatStandsTwice) {
  error::Faults faults;
  Parse(BatchOf({"a", "", "b", "a", ""}), faults);
  EXPECT_THAT(FieldsOf(faults),
              ElementsAre("holdings[1].name", "holdings[3].name", "holdings[4].name"));
  EXPECT_EQ(faults.named()[1].description, "stands in the batch twice.");
}

TEST(ParseBatch, OfAnotherSizeIsOneFault) {
  for (const BatchRequest& request : {BatchRequest(), BatchOf({"a", "b", "c"})}) {
    error::Faults faults;
    EXPECT_THAT(Parse(request, faults, 2), IsEmpty());
    EXPECT_THAT(FieldsOf(faults), ElementsAre("holdings"));
  }
}

TEST(ParseBatch, StopsLookingWhenNoMoreIsNamed) {
  BatchRequest request;
  for (int i = 0; i < 1'000; ++i) request.add_holdings();
  error::Faults faults;
  EXPECT_EQ(Parse(request, faults).size(), error::Faults::kMaxNamed + 1);
  EXPECT_EQ(error::DetailOf(faults.status())->fields.back().description, "and more.");
}

TEST(RenderResults, AnAnswerOrAnErrorAnEntry) {
  quota::v1::BatchSyncHoldingsResponse response;
  RenderResults<int64_t>(
      {7, error::NotFound("pool"), 9}, response.mutable_results(),
      [](int64_t nodes, auto& result) { result.mutable_answer()->set_nodes(nodes); });
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_EQ(response.results(0).answer().nodes(), 7);
  EXPECT_EQ(FromRpcStatus(response.results(1).error()), error::NotFound("pool"));
  EXPECT_FALSE(response.results(1).has_answer());
  EXPECT_EQ(response.results(2).answer().nodes(), 9);
}

TEST(RenderResults, WhetherEachWasTaken) {
  google::protobuf::RepeatedPtrField<google::rpc::Status> results;
  RenderResults({absl::OkStatus(), error::NotFound("node")}, &results);
  ASSERT_EQ(results.size(), 2);
  EXPECT_EQ(results[0].code(), 0);
  EXPECT_EQ(FromRpcStatus(results[1]), error::NotFound("node"));
}

}  // namespace
}  // namespace muster::rpc
