#include <functional>
#include <limits>

#include "services/common/faults.h"
#include "services/configuration/testing/service_test_base.h"

// Every field of every request, spoiled in every way: INVALID_ARGUMENT names it, and nothing is
// written.
namespace muster::configuration {
namespace {

template <class Request>
using Cases = std::vector<muster::testing::BadInput<Request>>;

using ConfigurationBadInputTest = ConfigurationServiceTest;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr char kProfile[] = "np-0123456789ab";
constexpr char kPool[] = "poolConfigurations/p";
const std::string kLong(5'000, 'x');

v1::ConfigurationRequest GoodConfiguration(const std::string& uid) {
  v1::ConfigurationRequest request;
  request.set_pool_uid(uid);
  request.set_generation(1);
  request.mutable_spec()->set_gpu(true);
  request.mutable_boot_failures()->set_node_profile(kProfile);
  request.mutable_boot_failures()->add_machines("g1");
  return request;
}

// Field below the ConfigurationRequest, and how to spoil it.
std::vector<std::pair<std::string, std::function<void(v1::ConfigurationRequest&)>>>
BadConfigurations() {
  return {
      {"pool_uid", [](auto& r) { r.set_pool_uid(""); }},
      {"pool_uid", [](auto& r) { r.set_pool_uid("Not/A/Uid"); }},
      {"pool_uid", [](auto& r) { r.set_pool_uid(kLong); }},
      {"generation", [](auto& r) { r.set_generation(-1); }},
      {"generation", [](auto& r) { r.set_generation(kLeast); }},
      {"generation", [](auto& r) { r.set_generation(kMost); }},
      {"spec", [](auto& r) { r.clear_spec(); }},
      {"spec.image_name", [](auto& r) { r.mutable_spec()->set_image_name(std::string(254, 'i')); }},
      {"spec.image_name",
       [](auto& r) { r.mutable_spec()->set_image_name(std::string("a\0b", 3)); }},
      {"spec.image_kernel", [](auto& r) { r.mutable_spec()->set_image_kernel("6.5\n"); }},
      {"spec.release_train", [](auto& r) { r.mutable_spec()->set_release_train("nightly"); }},
      {"spec.gpu_version", [](auto& r) { r.mutable_spec()->set_gpu_version("570.86"); }},
      {"spec.gpu_version",
       [](auto& r) { r.mutable_spec()->set_gpu_version("9223372036854775808"); }},
      {"spec.kubernetes", [](auto& r) { r.mutable_spec()->set_kubernetes("v1.33"); }},
      {"spec.strategy",
       [](auto& r) {
         r.mutable_spec()->set_strategy(static_cast<v1::ConfigurationSpec::Strategy>(99));
       }},
      {"nodes_in_delivery", [](auto& r) { r.set_nodes_in_delivery(-1); }},
      {"nodes_in_delivery", [](auto& r) { r.set_nodes_in_delivery(1'000'001); }},
      {"nodes_in_delivery", [](auto& r) { r.set_nodes_in_delivery(kMost); }},
      {"boot_failures.node_profile",
       [](auto& r) { r.mutable_boot_failures()->clear_node_profile(); }},
      {"boot_failures.node_profile",
       [](auto& r) { r.mutable_boot_failures()->set_node_profile("np-0123456789AB"); }},
      {"boot_failures.node_profile",
       [](auto& r) { r.mutable_boot_failures()->set_node_profile(kLong); }},
      {"boot_failures.enable_count",
       [](auto& r) { r.mutable_boot_failures()->set_enable_count(-1); }},
      {"boot_failures.machines[1]", [](auto& r) { r.mutable_boot_failures()->add_machines(""); }},
      {"boot_failures.machines[1]",
       [](auto& r) { r.mutable_boot_failures()->add_machines("Machines/1"); }},
      {"boot_failures.machines[1]", [](auto& r) { r.mutable_boot_failures()->add_machines("g1"); }},
      {"pool", [](auto& r) { r.set_pool(std::string("a\0b", 3)); }},
      {"boot_failures.machines",
       [](auto& r) {
         for (int i = 2; i <= 65; ++i) {
           r.mutable_boot_failures()->add_machines(absl::StrCat("g", i));
         }
       }},
  };
}

// As many faults as fit into a request cost no more than a few.
TEST_F(ConfigurationBadInputTest, MillionsOfFaults) {
  v1::SyncPoolConfigurationRequest sync;
  *sync.mutable_configuration() = GoodConfiguration("p");
  for (int i = 0; i < 500'000; ++i) {
    sync.mutable_configuration()->mutable_boot_failures()->add_machines("");
  }
  absl::Status refusal = Call(&Stub::SyncPoolConfiguration, sync).status();
  EXPECT_THAT(refusal, HasFieldViolation("configuration.boot_failures.machines"));
  EXPECT_EQ(error::DetailOf(refusal)->fields.size(), 1u);

  v1::BatchSyncPoolConfigurationsRequest batch;
  for (int i = 0; i < 1'000; ++i) batch.add_configurations();
  refusal = Call(&Stub::BatchSyncPoolConfigurations, batch).status();
  EXPECT_THAT(refusal, HasFieldViolation("configurations[0].pool_uid"));
  EXPECT_LE(error::DetailOf(refusal)->fields.size(), error::Faults::kMaxNamed + 1);
  EXPECT_EQ(error::DetailOf(refusal)->fields.back(), (error::FieldViolation{"", "and more."}));
}

TEST_F(ConfigurationBadInputTest, Configurations) {
  Cases<v1::SyncPoolConfigurationRequest> one = {
      {"configuration.generation", [](auto& r) { r.mutable_configuration()->set_generation(0); }}};
  Cases<v1::BatchSyncPoolConfigurationsRequest> batch = {
      {"configurations[1].generation",
       [](auto& r) { r.mutable_configurations(1)->set_generation(0); }}};
  Cases<v1::CheckPoolConfigurationsRequest> check;
  for (const auto& [field, spoil] : BadConfigurations()) {
    one.push_back({absl::StrCat("configuration.", field),
                   [spoil = spoil](auto& r) { spoil(*r.mutable_configuration()); }});
    const auto spoil_second = [spoil = spoil](auto& r) { spoil(*r.mutable_configurations(1)); };
    batch.push_back({absl::StrCat("configurations[1].", field), spoil_second});
    check.push_back({absl::StrCat("configurations[1].", field), spoil_second});
  }
  v1::SyncPoolConfigurationRequest sync;
  *sync.mutable_configuration() = GoodConfiguration("p");
  ExpectRefused(&Stub::SyncPoolConfiguration, sync, one);
  EXPECT_THAT(Call(&Stub::SyncPoolConfiguration, v1::SyncPoolConfigurationRequest()),
              AllOf(HasFieldViolation("configuration.pool_uid"),
                    HasFieldViolation("configuration.generation"),
                    HasFieldViolation("configuration.spec")));

  batch.push_back({"configurations", [](auto& r) { r.clear_configurations(); }});
  batch.push_back({"configurations", [](auto& r) {
                     for (int i = 0; i < 1'000; ++i) {
                       *r.add_configurations() = GoodConfiguration(absl::StrCat("p-", i));
                     }
                   }});
  batch.push_back({"configurations[2].pool_uid",
                   [](auto& r) { *r.add_configurations() = GoodConfiguration("p"); }});
  v1::BatchSyncPoolConfigurationsRequest good;
  *good.add_configurations() = GoodConfiguration("o");
  *good.add_configurations() = GoodConfiguration("p");
  ExpectRefused(&Stub::BatchSyncPoolConfigurations, good, batch);
  v1::CheckPoolConfigurationsRequest question;
  *question.mutable_configurations() = good.configurations();
  ExpectRefused(&Stub::CheckPoolConfigurations, question, check);
  // What was spoiled was good before.
  EXPECT_THAT(Call(&Stub::SyncPoolConfiguration, sync), IsOk());
  EXPECT_THAT(Call(&Stub::BatchSyncPoolConfigurations, good), IsOk());
}

std::vector<std::string> BadReleaseNames() {
  return {"",
          "channels/beta/components/gpu-driver/releases/1",
          "channels/stable/components/gpu-drivers/releases/1",
          "channels/stable/components/gpu-driver/releases/1.x",
          "channels/stable/components/gpu-driver/releases/1.2.3.4.5",
          "channels/stable/components/gpu-driver/releases/",
          kLong};
}

TEST_F(ConfigurationBadInputTest, Releases) {
  Cases<v1::PublishReleaseRequest> publish = {{"release.name", [](auto& r) { r.clear_release(); }}};
  Cases<v1::WithdrawReleaseRequest> withdraw;
  Cases<v1::GetReleaseRequest> get;
  for (const std::string& bad : BadReleaseNames()) {
    publish.push_back({"release.name", [bad](auto& r) { r.mutable_release()->set_name(bad); }});
    withdraw.push_back({"name", [bad](auto& r) { r.set_name(bad); }});
    get.push_back({"name", [bad](auto& r) { r.set_name(bad); }});
  }
  ExpectRefused(&Stub::PublishRelease, v1::PublishReleaseRequest(), publish);
  ExpectRefused(&Stub::WithdrawRelease, v1::WithdrawReleaseRequest(), withdraw);
  ExpectRefused(&Stub::GetRelease, v1::GetReleaseRequest(), get);
}

template <class Request>
Cases<Request> BadPoolNames() {
  Cases<Request> cases;
  for (const std::string& bad :
       {std::string(), std::string("p"), std::string("pools/p"),
        std::string("poolConfigurations/P"), std::string("poolConfigurations/"), kLong}) {
    cases.push_back({"name", [bad](auto& r) { r.set_name(bad); }});
  }
  return cases;
}

// `words`: what else than a profile id is allowed somewhere, but not here.
template <class Request>
Cases<Request> BadOrders(const std::vector<std::string>& words) {
  Cases<Request> cases = BadPoolNames<Request>();
  for (const std::string& bad :
       {std::string("np-"), std::string("np-0123456789a"),
        std::string("nodeProfiles/np-0123456789ab"), std::string("Pending"), kLong}) {
    cases.push_back({"node_profile", [bad](auto& r) { r.set_node_profile(bad); }});
  }
  for (const std::string& bad : words) {
    cases.push_back({"node_profile", [bad](auto& r) { r.set_node_profile(bad); }});
  }
  return cases;
}

TEST_F(ConfigurationBadInputTest, Orders) {
  const auto promote = For<v1::PromoteConfigurationRequest>("p", kProfile);
  ExpectRefused(&Stub::PromoteConfiguration, promote,
                BadOrders<v1::PromoteConfigurationRequest>({"previous"}));
  const auto rollback = For<v1::RollbackConfigurationRequest>("p", kProfile);
  ExpectRefused(&Stub::RollbackConfiguration, rollback,
                BadOrders<v1::RollbackConfigurationRequest>({"pending"}));
  const auto enable = For<v1::EnableRevisionRequest>("p", kProfile);
  ExpectRefused(&Stub::EnableRevision, enable,
                BadOrders<v1::EnableRevisionRequest>({"", "pending", "previous"}));
}

TEST_F(ConfigurationBadInputTest, Reads) {
  v1::GetPoolConfigurationRequest pool;
  pool.set_name(kPool);
  ExpectRefused(&Stub::GetPoolConfiguration, pool, BadPoolNames<v1::GetPoolConfigurationRequest>());
  v1::GetNodeProfileRequest profile;
  profile.set_name("nodeProfiles/np-0123456789ab");
  ExpectRefused(&Stub::GetNodeProfile, profile,
                Cases<v1::GetNodeProfileRequest>{
                    {"name", [](auto& r) { r.clear_name(); }},
                    {"name", [](auto& r) { r.set_name(kProfile); }},
                    {"name", [](auto& r) { r.set_name("nodeProfiles/np-0123456789AB"); }},
                    {"name", [](auto& r) { r.set_name(kLong); }}});
  ExpectRefused(
      &Stub::ListReleases, v1::ListReleasesRequest(),
      Cases<v1::ListReleasesRequest>{{"page_size", [](auto& r) { r.set_page_size(-1); }},
                                     {"page_token", [](auto& r) { r.set_page_token("made up"); }}});
  ExpectRefused(&Stub::ListNodeProfiles, v1::ListNodeProfilesRequest(),
                Cases<v1::ListNodeProfilesRequest>{
                    {"page_size", [](auto& r) { r.set_page_size(-1); }},
                    {"page_token", [](auto& r) { r.set_page_token("made up"); }}});
  ExpectRefused(&Stub::ListPoolConfigurations, v1::ListPoolConfigurationsRequest(),
                Cases<v1::ListPoolConfigurationsRequest>{
                    {"page_size", [](auto& r) { r.set_page_size(-1); }},
                    {"page_token", [](auto& r) { r.set_page_token("made up"); }}});
}

// The options of the process: the same rule.
TEST_F(ConfigurationBadInputTest, Options) {
  for (const int threshold : {-1, 0, 65}) {
    ConfigurationService::Options options;
    options.boot_failures_to_disable = threshold;
    EXPECT_THAT(ConfigurationService::Create(std::move(options)),
                HasFieldViolation("boot_failures_to_disable"));
  }
}

}  // namespace
}  // namespace muster::configuration
