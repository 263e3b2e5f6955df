#include "services/configuration/configuration_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>

#include <functional>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/testing/proto_matchers.h"
#include "tests/testing/service_test.h"

namespace muster::configuration {
namespace {

using ::muster::testing::EqualsProto;
using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using Stub = v1::ConfigurationService::Stub;

constexpr char kDriver[] = "channels/stable/components/gpu-driver/releases/570.86.15";

class ConfigurationServiceTest
    : public testing::ServiceTest<ConfigurationService, v1::ConfigurationService> {
 protected:
  ConfigurationServiceTest() : ServiceTest("configuration") {}

  absl::StatusOr<v1::Release> Publish(const std::string& name) {
    v1::PublishReleaseRequest request;
    request.mutable_release()->set_name(name);
    return Call(&Stub::PublishRelease, request);
  }
  void PublishBasics() {
    for (const char* release : {"ncore-image/releases/2.10.1", "gpu-driver/releases/570.86.15",
                                "kubernetes/releases/1.33"}) {
      ASSERT_THAT(Publish(absl::StrCat("channels/stable/components/", release)), IsOk());
    }
  }
  static v1::ConfigurationRequest Request(const std::string& uid, int64_t generation = 1) {
    v1::ConfigurationRequest request;
    request.set_pool_uid(uid);
    request.set_generation(generation);
    request.mutable_spec()->set_gpu(true);
    return request;
  }
  absl::StatusOr<v1::PoolConfiguration> Sync(const v1::ConfigurationRequest& configuration) {
    v1::SyncPoolConfigurationRequest request;
    *request.mutable_configuration() = configuration;
    return Call(&Stub::SyncPoolConfiguration, request);
  }
  absl::StatusOr<v1::PoolConfiguration> GetPool(const std::string& uid) {
    v1::GetPoolConfigurationRequest request;
    request.set_name(absl::StrCat("poolConfigurations/", uid));
    return Call(&Stub::GetPoolConfiguration, request);
  }
};

TEST_F(ConfigurationServiceTest, PublishingIsIdempotent) {
  const auto first = Publish(kDriver);
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->name(), kDriver);
  clock_.Advance(absl::Hours(1));
  const auto again = Publish(kDriver);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(*again, EqualsProto(*first));
  v1::GetReleaseRequest get;
  get.set_name(kDriver);
  const auto got = Call(&Stub::GetRelease, get);
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(*got, EqualsProto(*first));
  EXPECT_EQ(service_->lane().revision(), 1);
}

TEST_F(ConfigurationServiceTest, SaysWhatNodesBoot) {
  PublishBasics();
  const auto pool = Sync(Request("p"));
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->name(), "poolConfigurations/p");
  EXPECT_EQ(pool->revisions_size(), 1);
  EXPECT_EQ(pool->revisions(0).node_profile(), pool->active());
  const auto got = GetPool("p");
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(*got, EqualsProto(*pool));

  v1::GetNodeProfileRequest get;
  get.set_name(absl::StrCat("nodeProfiles/", pool->active()));
  const auto profile = Call(&Stub::GetNodeProfile, get);
  ASSERT_THAT(profile, IsOk());
  v1::NodeProfile expected;
  expected.set_name(get.name());
  expected.set_image("2.10.1");
  expected.set_release_train("stable");
  expected.set_gpu_driver("570.86.15");
  expected.set_kubernetes("1.33");
  EXPECT_THAT(*profile, EqualsProto(expected));
}

TEST_F(ConfigurationServiceTest, AReleaseComesToThePoolsThatFollow) {
  PublishBasics();
  v1::ConfigurationRequest always = Request("always");
  always.mutable_spec()->set_strategy(v1::ConfigurationSpec::STRATEGY_ALWAYS);
  const auto before = Sync(always);
  ASSERT_THAT(before, IsOk());
  ASSERT_THAT(Sync(Request("waits")), IsOk());
  ASSERT_THAT(Publish("channels/stable/components/gpu-driver/releases/570.124.06"), IsOk());
  const auto staged = GetPool("always");
  const auto waits = GetPool("waits");
  ASSERT_THAT(staged, IsOk());
  ASSERT_THAT(waits, IsOk());
  EXPECT_NE(staged->active(), before->active());
  EXPECT_EQ(waits->active(), before->active());
  EXPECT_EQ(waits->pending().node_profile(), staged->active());
  EXPECT_EQ(waits->pending().summary(1), "GPU driver 570.86.15 → 570.124.06");
}

TEST_F(ConfigurationServiceTest, NothingFitsIsAnAnswer) {
  PublishBasics();
  v1::ConfigurationRequest request = Request("p");
  request.mutable_spec()->set_gpu_version("999");
  const auto pool = Sync(request);
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->active(), "");
  EXPECT_EQ(pool->problem(), "No release of gpu-driver 999 in channel stable.");
}

TEST_F(ConfigurationServiceTest, GenerationsFenceAndReleaseRemoves) {
  PublishBasics();
  ASSERT_THAT(Sync(Request("p", 5)), IsOk());
  EXPECT_THAT(Sync(Request("p", 4)),
              AllOf(StatusIs(absl::StatusCode::kAborted), HasReason("GENERATION_TOO_OLD")));
  const int64_t revision = service_->lane().revision();
  ASSERT_THAT(Sync(Request("p", 5)), IsOk());
  EXPECT_EQ(service_->lane().revision(), revision);
  v1::ConfigurationRequest release = Request("p", 5);
  release.set_release(true);
  release.clear_spec();
  for (int i = 0; i < 2; ++i) {
    const auto gone = Sync(release);
    ASSERT_THAT(gone, IsOk());
    EXPECT_EQ(gone->active(), "");
    EXPECT_THAT(GetPool("p"), StatusIs(absl::StatusCode::kNotFound));
  }
}

TEST_F(ConfigurationServiceTest, ABatchIsAnsweredOneByOne) {
  PublishBasics();
  ASSERT_THAT(Sync(Request("old", 9)), IsOk());
  v1::BatchSyncPoolConfigurationsRequest request;
  *request.add_configurations() = Request("a");
  *request.add_configurations() = Request("old", 8);
  *request.add_configurations() = Request("b");
  const auto response = Call(&Stub::BatchSyncPoolConfigurations, request);
  ASSERT_THAT(response, IsOk());
  ASSERT_EQ(response->results_size(), 3);
  EXPECT_EQ(response->results(0).configuration().name(), "poolConfigurations/a");
  EXPECT_FALSE(response->results(0).has_error());
  EXPECT_FALSE(response->results(1).has_configuration());
  EXPECT_THAT(rpc::FromRpcStatus(response->results(1).error()), HasReason("GENERATION_TOO_OLD"));
  EXPECT_EQ(response->results(2).configuration().active(),
            response->results(0).configuration().active());
}

TEST_F(ConfigurationServiceTest, ListsArePagedInOrder) {
  PublishBasics();
  v1::ListReleasesRequest request;
  request.set_page_size(2);
  auto page = Call(&Stub::ListReleases, request);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->releases_size(), 2);
  EXPECT_EQ(page->releases(0).name(), kDriver);
  request.set_page_token(page->next_page_token());
  page = Call(&Stub::ListReleases, request);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->releases_size(), 1);
  EXPECT_EQ(page->releases(0).name(), "channels/stable/components/ncore-image/releases/2.10.1");
  EXPECT_EQ(page->next_page_token(), "");

  for (const char* uid : {"b", "a", "c"}) ASSERT_THAT(Sync(Request(uid)), IsOk());
  v1::ListPoolConfigurationsRequest pools;
  pools.set_page_size(1);
  std::string seen;
  do {
    const auto answer = Call(&Stub::ListPoolConfigurations, pools);
    ASSERT_THAT(answer, IsOk());
    ASSERT_EQ(answer->configurations_size(), 1);
    absl::StrAppend(&seen, answer->configurations(0).name(), " ");
    pools.set_page_token(answer->next_page_token());
  } while (!pools.page_token().empty());
  EXPECT_EQ(seen, "poolConfigurations/a poolConfigurations/b poolConfigurations/c ");
}

TEST_F(ConfigurationServiceTest, AWatchShowsASnapshotThenEveryChange) {
  PublishBasics();
  const auto pool = Sync(Request("p"));
  ASSERT_THAT(pool, IsOk());
  grpc::ClientContext context;
  const auto stream = stub_->WatchConfigurations(&context, {});
  v1::WatchConfigurationsResponse message;
  std::map<v1::WatchConfigurationsResponse::ResourceCase, int> snapshot;
  for (;;) {
    ASSERT_TRUE(stream->Read(&message));
    if (message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END) break;
    EXPECT_EQ(message.type(), type::v1::WATCH_EVENT_TYPE_SNAPSHOT);
    ++snapshot[message.resource_case()];
  }
  EXPECT_EQ(snapshot[v1::WatchConfigurationsResponse::kRelease], 3);
  EXPECT_EQ(snapshot[v1::WatchConfigurationsResponse::kNodeProfile], 1);
  EXPECT_EQ(snapshot[v1::WatchConfigurationsResponse::kConfiguration], 1);

  // One release: itself, the new profile, the pool, in one commit and in this order.
  int64_t revision = message.revision();
  ASSERT_THAT(Publish("channels/stable/components/gpu-driver/releases/580.1"), IsOk());
  v1::ConfigurationRequest release = Request("p", 2);
  release.set_release(true);
  ASSERT_THAT(Sync(release), IsOk());
  const auto next = [&] {
    do {
      if (!stream->Read(&message)) return false;
    } while (message.type() == type::v1::WATCH_EVENT_TYPE_PROGRESS);
    EXPECT_EQ(message.revision(), ++revision);
    return true;
  };
  ASSERT_TRUE(next());
  EXPECT_EQ(message.release().name(), "channels/stable/components/gpu-driver/releases/580.1");
  ASSERT_TRUE(next());
  EXPECT_EQ(message.node_profile().gpu_driver(), "580.1");
  ASSERT_TRUE(next());
  EXPECT_EQ(message.configuration().active(), pool->active());
  EXPECT_TRUE(message.configuration().has_pending());
  ASSERT_TRUE(next());
  EXPECT_EQ(message.type(), type::v1::WATCH_EVENT_TYPE_DELETED);
  EXPECT_EQ(message.key(), "poolConfigurations/p");
  context.TryCancel();
}

struct BadField {
  const char* field = "";
  std::function<void(v1::ConfigurationRequest&)> change = {};
};

const BadField kBadFields[] = {
    {"pool_uid", [](auto& r) { r.set_pool_uid(""); }},
    {"pool_uid", [](auto& r) { r.set_pool_uid("Not/A/Uid"); }},
    {"pool_uid", [](auto& r) { r.set_pool_uid(std::string(5000, 'x')); }},
    {"generation", [](auto& r) { r.set_generation(0); }},
    {"generation", [](auto& r) { r.set_generation(std::numeric_limits<int64_t>::min()); }},
    {"spec", [](auto& r) { r.clear_spec(); }},
    {"spec.image_name", [](auto& r) { r.mutable_spec()->set_image_name(std::string(254, 'i')); }},
    {"spec.image_name", [](auto& r) { r.mutable_spec()->set_image_name(std::string("a\0b", 3)); }},
    {"spec.image_kernel", [](auto& r) { r.mutable_spec()->set_image_kernel("6.5\n"); }},
    {"spec.release_train", [](auto& r) { r.mutable_spec()->set_release_train("nightly"); }},
    {"spec.gpu_version", [](auto& r) { r.mutable_spec()->set_gpu_version("570.86"); }},
    {"spec.gpu_version", [](auto& r) { r.mutable_spec()->set_gpu_version("9223372036854775808"); }},
    {"spec.kubernetes", [](auto& r) { r.mutable_spec()->set_kubernetes("v1.33"); }},
    {"spec.strategy",
     [](auto& r) {
       r.mutable_spec()->set_strategy(static_cast<v1::ConfigurationSpec::Strategy>(99));
     }},
};

TEST_F(ConfigurationServiceTest, BadConfigurationsNameTheFieldAndWriteNothing) {
  for (const BadField& row : kBadFields) {
    v1::ConfigurationRequest bad = Request("p");
    row.change(bad);
    const auto refused = Sync(bad);
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(refused, HasFieldViolation(absl::StrCat("configuration.", row.field)));
    v1::BatchSyncPoolConfigurationsRequest batch;
    *batch.add_configurations() = Request("good");
    *batch.add_configurations() = bad;
    EXPECT_THAT(Call(&Stub::BatchSyncPoolConfigurations, batch),
                HasFieldViolation(absl::StrCat("configurations[1].", row.field)));
  }
  EXPECT_THAT(Call(&Stub::SyncPoolConfiguration, v1::SyncPoolConfigurationRequest()),
              AllOf(HasFieldViolation("configuration.pool_uid"),
                    HasFieldViolation("configuration.generation"),
                    HasFieldViolation("configuration.spec")));
  EXPECT_EQ(service_->lane().revision(), 0);
}

TEST_F(ConfigurationServiceTest, BadBatchesWriteNothing) {
  v1::BatchSyncPoolConfigurationsRequest batch;
  EXPECT_THAT(Call(&Stub::BatchSyncPoolConfigurations, batch), HasFieldViolation("configurations"));
  *batch.add_configurations() = Request("a");
  *batch.add_configurations() = Request("a", 2);
  EXPECT_THAT(Call(&Stub::BatchSyncPoolConfigurations, batch),
              HasFieldViolation("configurations[1].pool_uid"));
  batch.clear_configurations();
  for (int i = 0; i <= 1'000; ++i) *batch.add_configurations() = Request(absl::StrCat("p-", i));
  EXPECT_THAT(Call(&Stub::BatchSyncPoolConfigurations, batch), HasFieldViolation("configurations"));
  EXPECT_EQ(service_->lane().revision(), 0);
}

TEST_F(ConfigurationServiceTest, BadNamesAndPagesNameTheField) {
  for (const std::string& bad :
       {std::string(), std::string("channels/beta/components/gpu-driver/releases/1"),
        std::string("channels/stable/components/gpu-driver/releases/1.x"),
        std::string(5000, 'x')}) {
    EXPECT_THAT(Publish(bad), HasFieldViolation("release.name"));
    v1::GetReleaseRequest release;
    release.set_name(bad);
    EXPECT_THAT(Call(&Stub::GetRelease, release), HasFieldViolation("name"));
    v1::GetNodeProfileRequest profile;
    profile.set_name(bad);
    EXPECT_THAT(Call(&Stub::GetNodeProfile, profile), HasFieldViolation("name"));
    v1::GetPoolConfigurationRequest pool;
    pool.set_name(bad);
    EXPECT_THAT(Call(&Stub::GetPoolConfiguration, pool), HasFieldViolation("name"));
  }
  v1::ListReleasesRequest releases;
  releases.set_page_size(-1);
  EXPECT_THAT(Call(&Stub::ListReleases, releases), HasFieldViolation("page_size"));
  v1::ListPoolConfigurationsRequest pools;
  pools.set_page_token("made up");
  EXPECT_THAT(Call(&Stub::ListPoolConfigurations, pools), HasFieldViolation("page_token"));
  EXPECT_EQ(service_->lane().revision(), 0);
}

TEST_F(ConfigurationServiceTest, WhatDoesNotExistIsNotFound) {
  v1::GetReleaseRequest release;
  release.set_name(kDriver);
  EXPECT_THAT(Call(&Stub::GetRelease, release), HasReason("NOT_FOUND"));
  v1::GetNodeProfileRequest profile;
  profile.set_name("nodeProfiles/np-0123456789ab");
  EXPECT_THAT(Call(&Stub::GetNodeProfile, profile), HasReason("NOT_FOUND"));
  EXPECT_THAT(GetPool("p"), AllOf(StatusIs(absl::StatusCode::kNotFound), HasReason("NOT_FOUND")));
}

TEST_F(ConfigurationServiceTest, AWatchMustBeginSomewhere) {
  for (const int64_t revision : {int64_t{-1}, int64_t{99}}) {
    grpc::ClientContext context;
    v1::WatchConfigurationsRequest request;
    request.mutable_start()->set_after_revision(revision);
    const auto stream = stub_->WatchConfigurations(&context, request);
    v1::WatchConfigurationsResponse message;
    EXPECT_FALSE(stream->Read(&message));
    const absl::Status status = rpc::FromGrpcStatus(stream->Finish());
    if (revision < 0) {
      EXPECT_THAT(status, HasFieldViolation("start.after_revision"));
    } else {
      EXPECT_THAT(status, HasReason("REVISION_IN_FUTURE"));
    }
  }
}

}  // namespace
}  // namespace muster::configuration
