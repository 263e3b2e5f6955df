#include "services/fleetsim/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::fleetsim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Power = DesiredMachine::Power;

capacity::v1::InstanceType TypeOf(const std::string& id, int vcpus) {
  capacity::v1::InstanceType type;
  type.set_name("instanceTypes/" + id);
  type.set_vcpus(vcpus);
  return type;
}

DesiredMachine DesiredOf(const std::string& machine, const std::string& type,
                         Power power = Power::kRunning) {
  return {.machine = machine, .instance_type = type, .power = power};
}

TEST(CatalogueTest, HardwareIsWhatCapacitySays) {
  capacity::v1::InstanceType type = TypeOf("cd-hc-a384-genoa", 384);
  type.set_memory_kib(1583673336);
  type.set_ephemeral_storage_kib(30003181568);
  type.set_gpus(2);
  type.set_max_pods(300);
  type.set_architecture("amd64");
  EXPECT_EQ(HardwareOf(type), (Hardware{.cpus = 384,
                                        .memory_kib = 1583673336,
                                        .storage_kib = 30003181568,
                                        .gpus = 2,
                                        .pods = 300,
                                        .architecture = "amd64"}));
}

TEST(CatalogueTest, AMachineOfAnUnknownTypeWaitsForIt) {
  Catalogue catalogue;
  catalogue.Learn(TypeOf("known", 1));
  const auto told =
      catalogue.Complete({DesiredOf("a", "new"), DesiredOf("b", "known"), DesiredOf("c", "newer")});
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].machine, "b");
  EXPECT_EQ(told[0].hardware.cpus, 1);
  EXPECT_TRUE(catalogue.is_waited_for());
  EXPECT_THAT(catalogue.Missing(), ElementsAre("new", "newer"));
  EXPECT_THAT(catalogue.Complete({}), IsEmpty());
  catalogue.Learn(TypeOf("new", 2));
  const auto later = catalogue.Complete({});
  ASSERT_THAT(later, SizeIs(1));
  EXPECT_EQ(later[0].machine, "a");
  EXPECT_EQ(later[0].hardware.cpus, 2);
  EXPECT_THAT(catalogue.Missing(), ElementsAre("newer"));
}

TEST(CatalogueTest, OnlyWhatIsDesiredLastOfAMachineWaits) {
  Catalogue catalogue;
  catalogue.Complete({DesiredOf("a", "new", Power::kArriving), DesiredOf("a", "new")});
  catalogue.Learn(TypeOf("new", 2));
  const auto told = catalogue.Complete({});
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].power, Power::kRunning);
}

TEST(CatalogueTest, WhatIsOffNeedsNoType) {
  Catalogue catalogue;
  catalogue.Complete({DesiredOf("a", "new")});
  EXPECT_THAT(catalogue.Complete({DesiredOf("a", "new", Power::kOff)}), SizeIs(1));
  EXPECT_FALSE(catalogue.is_waited_for()) << "nothing is left that waits";
}

TEST(CatalogueTest, TheEndOfAnEarlierLifeLeavesTheNextOneWaiting) {
  Catalogue catalogue;
  DesiredMachine next = DesiredOf("a", "new", Power::kArriving);
  next.create_time = absl::FromUnixSeconds(10);
  DesiredMachine end = DesiredOf("a", "new", Power::kOff);
  end.create_time = absl::FromUnixSeconds(5);
  EXPECT_THAT(catalogue.Complete({next, end}), SizeIs(1));
  EXPECT_TRUE(catalogue.is_waited_for());
}

TEST(CatalogueTest, TheLastSayOfATypeCounts) {
  Catalogue catalogue;
  catalogue.Learn(TypeOf("new", 2));
  catalogue.Learn(TypeOf("new", 3));
  EXPECT_EQ(catalogue.Complete({DesiredOf("a", "new")}).at(0).hardware.cpus, 3);
}

}  // namespace
}  // namespace muster::fleetsim
