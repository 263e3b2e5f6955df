#include "services/rpc/request_bounds.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include <string>

#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;

template <class Request>
std::string Says(const Request& request) {
  return std::string(CheckBounds(*Request::descriptor(), request.SerializeAsString()).message());
}

TEST(RequestBounds, AreKeptByWhatIsAtThem) {
  quota::v1::BatchSyncHoldingsRequest request;
  for (int i = 0; i < kMaxEntries; ++i)
    request.add_holdings()->set_name(std::string(kMaxReceiveBytes / kMaxEntries / 2, 'p'));
  request.mutable_holdings(0)->set_name(std::string(kMaxStringBytes, 'p'));
  EXPECT_EQ(Says(request), "");
}

TEST(RequestBounds, AListIsCountedToItsEnd) {
  quota::v1::CreateQuotaRequest request;
  for (int i = 0; i < 2'000'000; ++i) request.mutable_quota()->add_overrides();
  EXPECT_EQ(Says(request), "quota.overrides: has 2000000 entries; allowed are at most 1000.");
}

TEST(RequestBounds, AListOfNumbersTooPackedOrNot) {
  lifecycle::v1::WatchLifecycleRequest request;
  for (int i = 0; i < 2'000; ++i)
    request.add_kinds(lifecycle::v1::WatchLifecycleRequest::KIND_CLUSTER);
  EXPECT_EQ(Says(request), "kinds: has 2000 entries; allowed are at most 1000.");
  std::string one_by_one;
  for (int i = 0; i < 2'000; ++i) one_by_one += std::string("\x10\x01");
  EXPECT_EQ(CheckBounds(*lifecycle::v1::WatchLifecycleRequest::descriptor(), one_by_one).message(),
            "kinds: has 2000 entries; allowed are at most 1000.");
}

TEST(RequestBounds, AStringIsNamedWhereItStands) {
  lifecycle::v1::ReportNodesRequest request;
  request.add_reports();
  request.add_reports()->add_active_pods(std::string(kMaxStringBytes + 1, 'x'));
  EXPECT_EQ(Says(request), "reports[1].active_pods: has 16385 bytes; allowed are at most 16384.");
}

TEST(RequestBounds, AMapIsAList) {
  lifecycle::v1::ApplyNodePoolRequest request;
  for (int i = 0; i < 1'001; ++i)
    (*request.mutable_node_pool()->mutable_spec()->mutable_node_labels())[std::to_string(i)] = "v";
  EXPECT_EQ(Says(request),
            "node_pool.spec.node_labels: has 1001 entries; allowed are at most 1000.");
}

// As many reports as there may be, each with so many names.
lifecycle::v1::ReportNodesRequest Reports(int names) {
  lifecycle::v1::ReportNodesRequest request;
  for (int i = 0; i < kMaxEntries; ++i) {
    auto* report = request.add_reports();
    for (int j = 0; j < names; ++j) report->add_active_pods("");
  }
  return request;
}

TEST(RequestBounds, ListsWithinListsAreBoundedTogether) {
  const int most = kMaxRequestEntries / kMaxEntries - 1;
  EXPECT_EQ(Says(Reports(most)), "");
  EXPECT_EQ(Says(Reports(most + 1)),
            "reports[990].active_pods: is one entry too many: allowed are 100000 in a whole "
            "request.");
}

TEST(RequestBounds, FieldsThatNobodyKnowsCountToo) {
  quota::v1::GetQuotaRequest request;
  for (int i = 0; i <= kMaxRequestEntries; ++i)
    request.GetReflection()->MutableUnknownFields(&request)->AddVarint(1'000, 1);
  EXPECT_THAT(Says(request), HasSubstr("is one entry too many"));
}

// Which parsers take for a field that nobody knows, and go on.
TEST(RequestBounds, ANumberThatComesAsATextEndsNoBound) {
  std::string holdings;
  for (int i = 0; i < 2'000; ++i) holdings += std::string("\x0a\x00", 2);
  const std::string bytes = "\x0a\x03\x12\x01\xff" + holdings;
  quota::v1::CheckQuotaRequest request;
  ASSERT_TRUE(request.ParseFromString(bytes));
  ASSERT_EQ(request.holdings_size(), 2'001);
  EXPECT_EQ(CheckBounds(*request.GetDescriptor(), bytes).message(),
            "holdings: has 2001 entries; allowed are at most 1000.");
}

TEST(RequestBounds, FieldsThatComeInAnotherWayThanTheirsCountToo) {
  std::string texts, numbers;  // a name that is a number, nodes that are a text
  for (int i = 0; i <= kMaxRequestEntries; ++i) {
    texts += "\x08\x01";
    numbers += "\x12\x01x";
  }
  EXPECT_EQ(CheckBounds(*quota::v1::GetQuotaRequest::descriptor(), texts).message(),
            "name: is one entry too many: allowed are 100000 in a whole request.");
  EXPECT_EQ(CheckBounds(*quota::v1::HoldingRequest::descriptor(), numbers).message(),
            "nodes: is one entry too many: allowed are 100000 in a whole request.");
}

// Then so does its parser.
TEST(RequestBounds, APackedListThatIsBrokenEndsTheRequest) {
  const std::string bytes = "\x12\x01\xff" + std::string(2'000, '\0');
  lifecycle::v1::WatchLifecycleRequest request;
  EXPECT_FALSE(request.ParseFromString(bytes));
  EXPECT_TRUE(CheckBounds(*request.GetDescriptor(), bytes).ok());
}

TEST(RequestBounds, AMessageThatStandsThereTwiceIsRefused) {
  lifecycle::v1::ApplyNodePoolRequest request;
  for (int i = 0; i < 200; ++i)
    request.mutable_node_pool()->mutable_spec()->add_node_taints()->set_key("key");
  const std::string once = request.SerializeAsString();
  EXPECT_EQ(CheckBounds(*request.GetDescriptor(), once + once).message(),
            "node_pool: stands there more than once.");
}

TEST(RequestBounds, WhatIsNoMessageIsLeftToTheParser) {
  const auto& type = *quota::v1::CreateQuotaRequest::descriptor();
  EXPECT_TRUE(CheckBounds(type, std::string(100'000, '\xff')).ok());
  EXPECT_TRUE(CheckBounds(type, "\x12\x7f" + std::string(20, 'x')).ok());
}

// Two bytes each, and an object of the parser's.
TEST(RequestBounds, GroupsAreRefused) {
  const auto& type = *quota::v1::CreateQuotaRequest::descriptor();
  std::string groups;
  for (int i = 0; i < 500'000; ++i) groups += "\x1b\x1c";
  for (const std::string& request :
       {groups, "\x1b" + groups + "\x1c", "\x0b" + groups + "\x0c", std::string(10'000, '\x1b')}) {
    EXPECT_THAT(CheckBounds(type, request).message(),
                HasSubstr("has a group, which no message of ours has."));
  }
}

}  // namespace
}  // namespace muster::rpc
