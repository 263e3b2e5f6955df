#include "services/client/asked_service.h"

#include <gtest/gtest.h>

#include <string>

#include "muster/quota/v1/quota_service.pb.h"

namespace muster::client {
namespace {

absl::string_view HistoryOf(const std::string& name) {
  history::v1::ListChangesRequest changes;
  changes.set_name(name);
  history::v1::GetPastRequest past;
  past.set_name(name);
  EXPECT_EQ(AskedService(changes), AskedService(past));
  return AskedService(changes);
}

absl::string_view AccessTo(const std::string& method) {
  access::v1::CheckAccessRequest request;
  request.set_method(method);
  return AskedService(request);
}

TEST(AskedServiceTest, OfTheHistoryOfWhatItKeeps) {
  EXPECT_EQ(HistoryOf("organizations/acme/quotas/q"), "quota");
  EXPECT_EQ(HistoryOf("zones/Z-1A/machines/m"), "capacity");
  EXPECT_EQ(HistoryOf("channels/stable/components/driver/releases/1"), "configuration");
  EXPECT_EQ(HistoryOf("organizations/acme/clusters/c/nodePools/p"), "lifecycle");
  EXPECT_EQ(HistoryOf("strange"), "");
  history::v1::ListPastRequest list;
  list.set_parent("organizations/acme");
  list.set_collection("holdings");
  EXPECT_EQ(AskedService(list), "quota");
}

TEST(AskedServiceTest, OfAccessToItsMethods) {
  EXPECT_EQ(AccessTo("CreateQuota"), "quota");
  EXPECT_EQ(AccessTo("muster.capacity.v1.CapacityService/UpdateZone"), "capacity");
  EXPECT_EQ(AccessTo("PublishRelease"), "configuration");
  EXPECT_EQ(AccessTo("ApplyNodePool"), "lifecycle");
  EXPECT_EQ(AccessTo("GetPast"), "") << "every process has it";
  EXPECT_EQ(AccessTo("NoSuch"), "");
}

TEST(AskedServiceTest, WhatOneServiceAloneHasNeedsNone) {
  EXPECT_EQ(AskedService(quota::v1::ListQuotasRequest()), "");
}

}  // namespace
}  // namespace muster::client
