#include <map>

#include "services/configuration/core/names.h"
#include "services/configuration/testing/service_test_base.h"
#include "tests/testing/proto_matchers.h"

namespace muster::configuration {
namespace {

using ::muster::testing::EqualsProto;
using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;

constexpr char kDriver[] = "channels/stable/components/gpu-driver/releases/570.86.15";

TEST_F(ConfigurationServiceTest, PublishingIsIdempotent) {
  const auto first = Publish(kDriver);
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->name(), kDriver);
  clock_.Advance(absl::Hours(1));
  const auto again = Publish(kDriver);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(Unrevised(*again), EqualsProto(Unrevised(*first)));
  v1::GetReleaseRequest get;
  get.set_name(kDriver);
  const auto got = Call(&Stub::GetRelease, get);
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(Unrevised(*got), EqualsProto(Unrevised(*first)));
  EXPECT_EQ(service_->lane().revision(), 1);
}

TEST_F(ConfigurationServiceTest, WhoNamesNoReleaseIsToldWhatOneIsCalled) {
  const absl::Status refused = Publish("channels/stable/components/cpu/releases/1").status();
  EXPECT_THAT(refused, HasFieldViolation("release.name"));
  for (const Component component :
       {Component::kGpuDriver, Component::kNcoreImage, Component::kKubernetes, Component::kKernel})
    EXPECT_THAT(refused.message(), ::testing::HasSubstr(Print(component)));
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
  EXPECT_THAT(Unrevised(*got), EqualsProto(Unrevised(*pool)));

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
  EXPECT_THAT(Unrevised(*profile), EqualsProto(expected));
}

TEST_F(ConfigurationServiceTest, AReleaseComesToThePoolsThatFollow) {
  PublishBasics();
  v1::ConfigurationRequest always = Request("always");
  always.mutable_spec()->set_strategy(v1::ConfigurationSpec::STRATEGY_ALWAYS);
  const auto before = Sync(always);
  ASSERT_THAT(before, IsOk());
  ASSERT_THAT(Sync(Request("waits")), IsOk());
  ASSERT_THAT(Publish("channels/stable/components/gpu-driver/releases/570.124.06"), IsOk());
  const auto staged =
      AwaitPool("always", [&](const auto& pool) { return pool.active() != before->active(); });
  const auto waits = AwaitPool("waits", [](const auto& pool) { return pool.has_pending(); });
  ASSERT_THAT(staged, IsOk());
  ASSERT_THAT(waits, IsOk());
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
  EXPECT_EQ(pool->problem(), "No release of gpu-driver 999 in channel stable: there is 570.");
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

TEST_F(ConfigurationServiceTest, AReleasedUidIsRefusedForAsLongAsAnOperatorSays) {
  Stop();
  Start({.released_keep = absl::Hours(1)});
  const auto release = [&](const char* uid) {
    v1::ConfigurationRequest request = Request(uid);
    request.set_release(true);
    EXPECT_THAT(Sync(request), IsOk());
  };
  release("p");
  EXPECT_THAT(Sync(Request("p")), HasReason("POOL_RELEASED"));
  clock_.Advance(absl::Hours(1));
  release("q");
  EXPECT_THAT(Sync(Request("p")), IsOk());
}

TEST_F(ConfigurationServiceTest, ACheckSaysWhatASyncGetsAndChangesNothing) {
  PublishBasics();
  ASSERT_THAT(Publish("channels/stable/components/ncore-image/releases/mine"), IsOk());
  ASSERT_THAT(Sync(Request("p", 5)), IsOk());
  v1::ConfigurationRequest release = Request("gone");
  release.set_release(true);
  ASSERT_THAT(Sync(release), IsOk());
  const int64_t revision = service_->lane().revision();
  v1::CheckPoolConfigurationsRequest check;
  *check.add_configurations() = Request("p", 0);
  check.mutable_configurations(0)->mutable_spec()->set_image_name("mine");
  *check.add_configurations() = Request("new", 0);
  *check.add_configurations() = Request("gone", 0);
  const auto told = Call(&Stub::CheckPoolConfigurations, check);
  ASSERT_THAT(told, IsOk());
  EXPECT_EQ(told->results(0).configuration().generation(), 6);
  EXPECT_NE(told->results(0).configuration().active(), GetPool("p")->active());
  EXPECT_EQ(told->results(1).configuration().active(), GetPool("p")->active());
  EXPECT_THAT(rpc::FromRpcStatus(told->results(2).error()), HasReason("POOL_RELEASED"));
  EXPECT_EQ(service_->lane().revision(), revision);
  EXPECT_THAT(GetPool("new"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Call(&Stub::CheckPoolConfigurations, v1::CheckPoolConfigurationsRequest()),
              HasFieldViolation("configurations"));
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

  const auto profiles = Call(&Stub::ListNodeProfiles, v1::ListNodeProfilesRequest());
  ASSERT_THAT(profiles, IsOk());
  ASSERT_EQ(profiles->node_profiles_size(), 1);
  EXPECT_EQ(profiles->node_profiles(0).name(),
            absl::StrCat("nodeProfiles/", GetPool("a")->active()));
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

  // One release: itself, the new profile, the pool, in this order.
  int64_t revision = message.revision();
  ASSERT_THAT(Publish("channels/stable/components/gpu-driver/releases/580.1"), IsOk());
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
  v1::ConfigurationRequest release = Request("p", 2);
  release.set_release(true);
  ASSERT_THAT(Sync(release), IsOk());
  ASSERT_TRUE(next());
  EXPECT_EQ(message.type(), type::v1::WATCH_EVENT_TYPE_DELETED);
  EXPECT_EQ(message.key(), "poolConfigurations/p");
  context.TryCancel();
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
