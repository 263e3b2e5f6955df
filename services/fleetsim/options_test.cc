#include "services/fleetsim/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/fleetsim/registry.h"

namespace muster::fleetsim {
namespace {

using ::testing::HasSubstr;

Settings Good() { return {.server = "127.0.0.1:7600", .report_batch = 500, .report_calls = 2}; }

std::string Refusal(const Settings& settings) {
  return std::string(MakeOptions(settings).status().message());
}

TEST(OptionsTest, SpeedDividesEveryTime) {
  Settings settings = Good();
  settings.speed = 10;
  settings.fleet.boot_time = absl::Seconds(30);
  settings.fleet.work_duration = absl::Minutes(10);
  const auto options = MakeOptions(settings);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->fleet.boot_time, absl::Seconds(3));
  EXPECT_EQ(options->fleet.work_duration, absl::Minutes(1));
}

TEST(OptionsTest, NamesTheFlagThatIsWrong) {
  const std::pair<void (*)(Settings&), const char*> cases[] = {
      {[](Settings& s) { s.server.clear(); }, "--server"},
      {[](Settings& s) { s.speed = 0; }, "--speed"},
      {[](Settings& s) { s.speed = std::numeric_limits<double>::quiet_NaN(); }, "--speed"},
      {[](Settings& s) { s.report_batch = 501; }, "--report_batch"},
      {[](Settings& s) { s.report_batch = 0; }, "--report_batch"},
      {[](Settings& s) { s.report_calls = 0; }, "--report_calls"},
      {[](Settings& s) { s.report_calls = 17; }, "--report_calls"},
      {[](Settings& s) { s.fleet.spread = 1.1; }, "--spread"},
      {[](Settings& s) { s.fleet.boot_failure_rate = -0.1; }, "--boot_failure_rate"},
      {[](Settings& s) { s.fleet.drain_block_rate = 2; }, "--drain_block_rate"},
      {[](Settings& s) { s.fleet.interruptible_share = s.fleet.graceful_share = 0.6; },
       "--graceful_share"},
      {[](Settings& s) { s.fleet.failure_arrival = -absl::Seconds(1); }, "--failure_arrival"},
      {[](Settings& s) { s.fail_share = 1.5; }, "--fail_share"},
      {[](Settings& s) { s.fleet.boot_time = -absl::Seconds(1); }, "--boot_time"},
      {[](Settings& s) { s.fleet.drain_time = absl::InfiniteDuration(); }, "--drain_time"},
      {[](Settings& s) { s.cluster.context = "c"; }, "--kube_context"},
      {[](Settings& s) { s.cluster.kubelet.daemon_pods = 1; }, "--daemon_pods"},
      {[](Settings& s) { s.kube_cluster = "organizations/a/clusters/c"; }, "--kube_cluster"},
      {[](Settings& s) { s.machines = "US-EAST-04A:gd-8xa100-i128"; }, "--register_machines"}};
  for (const auto& [spoil, flag] : cases) {
    Settings settings = Good();
    spoil(settings);
    EXPECT_THAT(Refusal(settings), HasSubstr(flag));
  }
}

TEST(OptionsTest, AClusterHasItsOwn) {
  const auto with_cluster = [](void (*change)(Settings&)) {
    Settings settings = Good();
    settings.cluster.kubeconfig = "kubeconfig";
    change(settings);
    return settings;
  };
  const std::pair<void (*)(Settings&), const char*> cases[] = {
      {[](Settings& s) { s.cluster.calls = 0; }, "--kube_calls"},
      {[](Settings& s) { s.cluster.calls = 65; }, "--kube_calls"},
      {[](Settings& s) { s.cluster.lease_interval = absl::Milliseconds(999); }, "--lease_interval"},
      {[](Settings& s) { s.cluster.lease_interval = absl::Hours(2); }, "--lease_interval"},
      {[](Settings& s) { s.cluster.kubelet.daemon_pods = -1; }, "--daemon_pods"},
      {[](Settings& s) { s.cluster.kubelet.daemon_pods = 51; }, "--daemon_pods"},
      {[](Settings& s) { s.cluster.kubelet.pod_namespace.clear(); }, "--pod_namespace"},
      {[](Settings& s) { s.kube_cluster = "acme/example"; }, "--kube_cluster"},
      {[](Settings& s) { s.kube_cluster = "organizations/a/clusters/"; }, "--kube_cluster"},
      {[](Settings& s) { s.fleet.drain_block_rate = 0.1; }, "--drain_block_rate"}};
  for (const auto& [spoil, flag] : cases)
    EXPECT_THAT(Refusal(with_cluster(spoil)), HasSubstr(flag));

  const auto all = MakeOptions(with_cluster([](Settings& s) { s.speed = 10; }));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->fleet.kubernetes, "");
  EXPECT_EQ(all->cluster.kubelet.speed, 10);
  const auto one = MakeOptions(
      with_cluster([](Settings& s) { s.kube_cluster = "organizations/acme/clusters/example"; }));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->fleet.kubernetes, "organizations/acme/clusters/example/");
  EXPECT_EQ(MakeOptions(Good())->fleet.kubernetes, std::nullopt);
}

TEST(RegistryTest, ReadsLots) {
  const auto lots = ParseLots("US-EAST-04A:gd-8xa100-i128:16, US-WEST-01A:gb200-4x:36:18");
  ASSERT_TRUE(lots.ok()) << lots.status();
  ASSERT_EQ(lots->size(), 2u);
  EXPECT_EQ((*lots)[1].zone, "US-WEST-01A");
  EXPECT_EQ((*lots)[1].instance_type, "gb200-4x");
  EXPECT_EQ((*lots)[1].count, 36);
  EXPECT_EQ((*lots)[1].rack_size, 18);
  EXPECT_TRUE(ParseLots("")->empty());
}

TEST(RegistryTest, RefusesWhatIsNoLot) {
  for (const char* text :
       {"a", "a:b", "a:b:c", "a:b:0", "a:b:-1", "a:b:2000001", ":b:1", "a::1", "a:b:1:0",
        "a:b:1:2:3", "a:b:1200000,a:c:1200000", "a:b:9223372036854775808"}) {
    EXPECT_FALSE(ParseLots(text).ok()) << text;
  }
}

TEST(RegistryTest, MakesTheSameMachinesWithoutTwoAlike) {
  const std::vector<MachineLot> lots = {{"Z-1A", "t1", 50'000, 8}, {"Z-1A", "t2", 50'000, 18}};
  const auto machines = MakeMachines(lots, 7);
  ASSERT_EQ(machines.size(), 100'000u);
  std::set<std::string> names;
  std::set<std::string> places;
  for (const auto& machine : machines) {
    names.insert(machine.name());
    places.insert(machine.rack() + "/" + std::to_string(machine.slot()));
  }
  EXPECT_EQ(names.size(), machines.size());
  EXPECT_EQ(places.size(), machines.size());
  EXPECT_THAT(machines[0].name(), ::testing::MatchesRegex("machines/g[0-9a-f]{6}"));
  EXPECT_EQ(machines[60'000].SerializeAsString(),
            MakeMachines(lots, 7)[60'000].SerializeAsString());
  EXPECT_EQ(machines[50'000].instance_type(), "t2");
}

}  // namespace
}  // namespace muster::fleetsim
