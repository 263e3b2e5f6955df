#include "services/configuration/release_rollout.h"

#include <prometheus/collectable.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "services/configuration/core/decide.h"
#include "services/configuration/core/settle.h"
#include "services/configuration/testing/service_test_base.h"
#include "tests/testing/metric_value.h"
#include "tests/testing/patient.h"

namespace muster::configuration {
namespace {

constexpr char kRelease[] = "channels/stable/components/gpu-driver/releases/580.1";

class ReleaseRolloutTest : public ConfigurationServiceTest {
 protected:
  // `pools` pools with GPUs under OnSpecUpdate, and as many that no driver concerns.
  void CreatePools(int pools) {
    PublishBasics();
    for (int at = 0; at < pools; at += 500) {
      v1::BatchSyncPoolConfigurationsRequest request;
      for (int i = at; i < std::min(pools, at + 500); ++i) {
        *request.add_configurations() = Request(absl::StrCat("gpu-", i));
        *request.add_configurations() = Request(absl::StrCat("cpu-", i));
        request.mutable_configurations()->rbegin()->mutable_spec()->set_gpu(false);
      }
      ASSERT_THAT(Call(&Stub::BatchSyncPoolConfigurations, request), IsOk());
    }
  }
  // Until `pools` pools have something pending, as the watchers see it.
  void AwaitPending(int pools) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(120));
    const auto stream = stub_->WatchConfigurations(&context, {});
    v1::WatchConfigurationsResponse message;
    while (pools > 0) {
      ASSERT_TRUE(stream->Read(&message)) << pools << " are left";
      if (message.configuration().has_pending()) --pools;
    }
    context.TryCancel();
  }
  std::optional<double> Value(const std::string& metric) const {
    return testing::MetricValue(*service_->collectable(), metric);
  }
};

TEST_F(ReleaseRolloutTest, TenThousandPoolsInBoundedBatches) {
  CreatePools(5'000);
  const int64_t before = service_->lane().revision();
  ASSERT_THAT(Publish(kRelease), IsOk());
  AwaitPending(5'000);
  // The release, one profile, and the pools that follow it.
  EXPECT_EQ(service_->lane().revision(), before + 5'002);
  // Answers come in order: when this one is there, the rollout has had its last.
  ASSERT_THAT(Publish(kRelease), IsOk());
  EXPECT_EQ(Value("muster_configuration_settled_pools_total"), 5'000);
  EXPECT_EQ(Value("muster_configuration_unsettled_pools"), 0);
  EXPECT_EQ(Value("muster_configuration_settle_batches_total"), 10);
}

// All that is there was looked through, and nothing counted, when the release comes.
TEST_F(ReleaseRolloutTest, WhatAReleaseLeavesToBeLookedAtIsCounted) {
  CreatePools(5);
  const auto unsettled = [metrics = service_->collectable()] {
    return testing::MetricSum(*metrics, "muster_configuration_unsettled_pools");
  };
  EXPECT_EQ(unsettled(), 0);
  const auto most = std::make_shared<std::atomic<double>>(0);
  // The rollout is told first, and commits nothing before this returns.
  service_->lane().Subscribe(
      [most, unsettled](const auto&) { *most = std::max(most->load(), unsettled()); });
  ASSERT_THAT(Publish(kRelease), IsOk());
  AwaitPending(5);
  EXPECT_EQ(*most, 5);
  EXPECT_EQ(unsettled(), 0);
}

// Whatever a replica left undone is found at the next start: here the release came while
// nobody rolled it out.
TEST_F(ReleaseRolloutTest, GoesOnAfterARestart) {
  CreatePools(20);
  {
    Stop();
    const std::unique_ptr<const storage::Store<configuration::State>> store =
        storage::NewConfigurationStore();
    storage::LaneOptions options;
    options.connect = {.conninfo = database_.conninfo("configuration"), .schema = "configuration"};
    auto lane = Lane::Create(testing::Patient(std::move(options)), store.get(), &clock_);
    ASSERT_THAT(lane, IsOk());
    std::promise<absl::Status> done;
    (*lane)->Submit(
        [](StagedState<State>& staged, absl::Time now) {
          return Decide(staged, PublishRelease{Channel::kStable, Component::kGpuDriver, "580.1"},
                        now)
              .status();
        },
        [&](const absl::Status& status, int64_t) { done.set_value(status); });
    ASSERT_THAT(done.get_future().get(), IsOk());
    EXPECT_EQ(UnsettledPools(**lane).size(), 20u);
  }
  Start();
  AwaitPending(20);
}

// Two replicas hear of the release; each pool is written once.
TEST_F(ReleaseRolloutTest, TwoReplicasWriteOnce) {
  auto other = NewReplica();
  CreatePools(600);
  const int64_t before = service_->lane().revision();
  ASSERT_THAT(Publish(kRelease), IsOk());
  AwaitPending(600);
  EXPECT_EQ(Value("muster_configuration_unsettled_pools"), 0);
  // Whoever was slower has then written what he had begun.
  other.reset();
  Stop();
  EXPECT_EQ(database_.QueryValue("SELECT revision FROM configuration.journal_head"),
            absl::StrCat(before + 602));
  Start();
}

// A release that another replica publishes is heard of by the journal.
TEST_F(ReleaseRolloutTest, HearsOfOtherReplicasReleases) {
  CreatePools(5);
  const auto collectable = service_->collectable();
  {
    Stop();
    Start();
  }
  EXPECT_TRUE(collectable->Collect().empty());
  const std::unique_ptr<const storage::Store<configuration::State>> store =
      storage::NewConfigurationStore();
  storage::LaneOptions options;
  options.connect = {.conninfo = database_.conninfo("configuration"), .schema = "configuration"};
  auto lane = Lane::Create(testing::Patient(std::move(options)), store.get(), &clock_);
  ASSERT_THAT(lane, IsOk());
  (*lane)->Submit(
      [](StagedState<State>& staged, absl::Time now) {
        return Decide(staged, PublishRelease{Channel::kStable, Component::kGpuDriver, "580.1"}, now)
            .status();
      },
      [](const absl::Status& status, int64_t) { EXPECT_THAT(status, IsOk()); });
  AwaitPending(5);
}

}  // namespace
}  // namespace muster::configuration
