#include "services/capacity/core/validate.h"

#include <functional>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/testing/world.h"
#include "tests/testing/status_matchers.h"

namespace muster::capacity {
namespace {

using ::muster::testing::FieldsOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

SyncClaim GoodClaim() {
  SyncClaim claim;
  claim.pool_uid = "p-1";
  claim.generation = 1;
  claim.zone = World::kZone;
  claim.instance_type = World::kType;
  claim.nodes = 3;
  claim.organization = "acme";
  return claim;
}

TEST(ValidateTest, Claims) {
  struct Case {
    std::string field = {};
    std::function<void(SyncClaim&)> spoil = {};
  };
  const Case cases[] = {
      {"claim.pool_uid", [](SyncClaim& c) { c.pool_uid = ""; }},
      {"claim.pool_uid", [](SyncClaim& c) { c.pool_uid = std::string(65, 'a'); }},
      {"claim.pool_uid", [](SyncClaim& c) { c.pool_uid = "P"; }},
      {"claim.generation", [](SyncClaim& c) { c.generation = 0; }},
      {"claim.generation", [](SyncClaim& c) { c.generation = -1; }},
      {"claim.generation",
       [](SyncClaim& c) { c.generation = std::numeric_limits<int64_t>::max(); }},
      {"claim.organization", [](SyncClaim& c) { c.organization = ""; }},
      {"claim.organization", [](SyncClaim& c) { c.organization = "Acme"; }},
      {"claim.organization", [](SyncClaim& c) { c.organization = std::string(64, 'a'); }},
      {"claim.zone", [](SyncClaim& c) { c.zone = ""; }},
      {"claim.zone", [](SyncClaim& c) { c.zone = std::string(33, 'A'); }},
      {"claim.instance_type", [](SyncClaim& c) { c.instance_type = ""; }},
      {"claim.instance_type", [](SyncClaim& c) { c.instance_type = std::string(64, 'a'); }},
      {"claim.nodes", [](SyncClaim& c) { c.nodes = -1; }},
      {"claim.nodes", [](SyncClaim& c) { c.nodes = kMaxNodes + 1; }},
      {"claim.nodes", [](SyncClaim& c) { c.nodes = std::numeric_limits<int64_t>::max(); }},
      {"claim.nodes", [](SyncClaim& c) { c.release = true; }},
      {"claim.leaving_nodes", [](SyncClaim& c) { c.leaving_nodes = -1; }},
      {"claim.known_machines", [](SyncClaim& c) { c.known_machines = std::string(65, 'a'); }},
      {"claim.wanted_nodes", [](SyncClaim& c) { c.wanted_nodes = -1; }},
      {"claim.wanted_nodes", [](SyncClaim& c) { c.wanted_nodes = kMaxNodes + 1; }},
      {"claim.wanted_nodes",
       [](SyncClaim& c) {
         c.release = true;
         c.nodes = 0;
         c.wanted_nodes = 1;
       }},
      {"claim.pool", [](SyncClaim& c) { c.pool = std::string(513, 'x'); }},
      {"claim.pool", [](SyncClaim& c) { c.pool = std::string("a\0b", 3); }},
      {"claim.returns[0].machine", [](SyncClaim& c) { c.returns = {{""}}; }},
      {"claim.returns[0].machine", [](SyncClaim& c) { c.returns = {{"Not A Machine"}}; }},
      {"claim.returns[1].machine",
       [](SyncClaim& c) {
         c.returns = {{"m"}, {"m"}};
       }},
  };
  Faults faults;
  Validate(GoodClaim(), "claim", faults);
  EXPECT_THAT(faults, IsEmpty());
  for (const Case& c : cases) {
    SyncClaim claim = GoodClaim();
    c.spoil(claim);
    faults = {};
    Validate(claim, "claim", faults);
    EXPECT_THAT(FieldsOf(faults), ElementsAre(c.field));
  }
  SyncClaim many = GoodClaim();
  for (size_t i = 0; i <= kMaxReturns; ++i) many.returns.push_back({absl::StrCat("m", i)});
  faults = {};
  Validate(many, "claim", faults);
  EXPECT_THAT(FieldsOf(faults), ElementsAre("claim.returns"));
}

TEST(ValidateTest, Machines) {
  struct Case {
    std::string field = {};
    std::function<void(MachineRow&)> spoil = {};
  };
  const Case cases[] = {
      {"machines[0].zone", [](MachineRow& m) { m.zone = ""; }},
      {"machines[0].instance_type", [](MachineRow& m) { m.instance_type = "a b"; }},
      {"machines[0].fabric", [](MachineRow& m) { m.fabric = std::string(64, 'f'); }},
      {"machines[0].rack", [](MachineRow& m) { m.rack = "r/1"; }},
      {"machines[0].slot", [](MachineRow& m) { m.slot = -1; }},
      {"machines[0].slot", [](MachineRow& m) { m.slot = std::numeric_limits<int32_t>::max(); }},
      {"machines[0].labels[]", [](MachineRow& m) { m.labels[""] = "x"; }},
      {"machines[0].labels[-a]", [](MachineRow& m) { m.labels["-a"] = "x"; }},
      {"machines[0].labels[a/b/c]", [](MachineRow& m) { m.labels["a/b/c"] = "x"; }},
      {"machines[0].labels[a]", [](MachineRow& m) { m.labels["a"] = std::string(64, 'x'); }},
      // Cut between characters: what is no UTF-8 no client could read.
      {absl::StrCat("machines[0].labels[", std::string(316, 'a'), "]"),
       [](MachineRow& m) { m.labels[std::string(316, 'a') + "\xc3\xa9\xc3\xa9"] = "x"; }},
      {"machines[0].labels",
       [](MachineRow& m) {
         for (size_t i = 0; i <= kMaxLabels; ++i) m.labels[absl::StrCat("k", i)] = "";
       }},
  };
  for (const Case& c : cases) {
    MachineRow machine = World::Machine("m1", "f1", "r1", 3);
    machine.labels = {{"node.example.com/disk", "nvme"},
                      {"empty", ""},
                      {std::string(64, 'a') + "/b", ""},
                      {std::string(253, 'a') + "/b", ""}};
    Faults faults;
    Validate(machine, "machines[0]", faults);
    EXPECT_THAT(faults, IsEmpty());
    c.spoil(machine);
    Validate(machine, "machines[0]", faults);
    EXPECT_THAT(FieldsOf(faults), ElementsAre(c.field));
  }
}

TEST(ValidateTest, Affinity) {
  using Op = AffinityOperator;
  const std::string term = "claim.affinity.terms[0]";
  struct Case {
    std::string field = {};
    std::function<void(Affinity::Terms&)> spoil = {};
  };
  const auto of = [](int expression, std::function<void(AffinityExpression&)> spoil) {
    return [expression, spoil](Affinity::Terms& terms) {
      spoil(terms[0].expressions[static_cast<size_t>(expression)]);
    };
  };
  const Case cases[] = {
      {"claim.affinity.terms", [](Affinity::Terms& terms) { terms.resize(17, terms[0]); }},
      {"claim.affinity.terms",
       [](Affinity::Terms& terms) {
         for (AffinityExpression& each : terms[0].expressions) {
           each.op = Op::kIn;
           each.values.assign(64, std::string(63, 'v'));
         }
         terms.resize(16, terms[0]);
       }},
      {term + ".expressions", [](Affinity::Terms& terms) { terms[0].expressions.clear(); }},
      {term + ".expressions",
       [](Affinity::Terms& terms) { terms[0].expressions.resize(17, terms[0].expressions[0]); }},
      {term + ".expressions[0].key", of(0, [](auto& e) { e.key = ""; })},
      {term + ".expressions[1].key", of(1, [](auto& e) { e.key = "a b"; })},
      {term + ".expressions[2].key", of(2, [](auto& e) { e.key = std::string(64, 'k'); })},
      {term + ".expressions[3].key", of(3, [](auto& e) { e.key = std::string(254, 'k') + "/b"; })},
      {term + ".expressions[0].values", of(0, [](auto& e) { e.values.clear(); })},
      {term + ".expressions[1].values", of(1, [](auto& e) { e.values.clear(); })},
      {term + ".expressions[2].values", of(2, [](auto& e) { e.values = {"x"}; })},
      {term + ".expressions[3].values", of(3, [](auto& e) { e.values = {"x"}; })},
      {term + ".expressions[0].values", of(0, [](auto& e) { e.values.resize(65); })},
      {term + ".expressions[0].values[1]",
       of(0, [](auto& e) { e.values[1] = std::string(64, 'v'); })},
      {term + ".expressions[1].values[0]", of(1, [](auto& e) { e.values[0] = "-x"; })},
      {"claim.affinity.terms[1].expressions", [](Affinity::Terms& terms) { terms.resize(2); }},
  };
  for (const Case& c : cases) {
    SyncClaim claim = GoodClaim();
    claim.affinity = {{{{{"disk", Op::kIn, {"nvme", ""}},
                         {"a.example.com/b", Op::kNotIn, {"x"}},
                         {"seen", Op::kExists, {}},
                         {"gone", Op::kDoesNotExist, {}}}}}};
    Faults faults;
    Validate(claim, "claim", faults);
    EXPECT_THAT(faults, IsEmpty());
    Affinity::Terms terms = claim.affinity.terms();
    c.spoil(terms);
    claim.affinity = terms;
    Validate(claim, "claim", faults);
    EXPECT_THAT(FieldsOf(faults), ElementsAre(c.field));
  }
}

TEST(ValidateTest, Catalogue) {
  struct Case {
    std::string field = {};
    std::function<void(InstanceTypeRow&)> spoil = {};
  };
  const Case cases[] = {
      {"t.name", [](InstanceTypeRow& t) { t.id = "_t"; }},
      {"t.name", [](InstanceTypeRow& t) { t.id = "t."; }},
      {"t.gpus",
       [](InstanceTypeRow& t) {
         t.gpus = -1;
         t.gpu_model = "";
       }},
      {"t.gpus", [](InstanceTypeRow& t) { t.gpus = kMaxGpus + 1; }},
      {"t.gpu_model", [](InstanceTypeRow& t) { t.gpu_model = ""; }},
      {"t.gpu_model", [](InstanceTypeRow& t) { t.gpu_model = "A100 "; }},
      {"t.gpu_model", [](InstanceTypeRow& t) { t.gpu_model = "A\t100"; }},
      {"t.gpu_model", [](InstanceTypeRow& t) { t.gpus = 0; }},
      {"t.vcpus", [](InstanceTypeRow& t) { t.vcpus = 0; }},
      {"t.memory_kib", [](InstanceTypeRow& t) { t.memory_kib = 0; }},
      {"t.memory_kib",
       [](InstanceTypeRow& t) { t.memory_kib = std::numeric_limits<int64_t>::max(); }},
      {"t.ephemeral_storage_kib", [](InstanceTypeRow& t) { t.ephemeral_storage_kib = -1; }},
      {"t.architecture", [](InstanceTypeRow& t) { t.architecture = "mips"; }},
      {"t.max_pods", [](InstanceTypeRow& t) { t.max_pods = 0; }},
      {"t.nodes_per_rack", [](InstanceTypeRow& t) { t.nodes_per_rack = -18; }},
  };
  for (const Case& c : cases) {
    InstanceTypeRow type{.id = "t",
                         .gpus = 8,
                         .gpu_model = "RTX Pro 6000",
                         .vcpus = 1,
                         .memory_kib = 1,
                         .architecture = "arm64",
                         .max_pods = 1};
    Faults faults;
    Validate(type, "t", faults);
    EXPECT_THAT(faults, IsEmpty());
    c.spoil(type);
    Validate(type, "t", faults);
    EXPECT_THAT(FieldsOf(faults), ElementsAre(c.field));
  }
  Faults faults;
  Validate(ZoneRow{.id = "A1A", .instance_types = {"good", "not good"}}, "zone", faults);
  EXPECT_THAT(FieldsOf(faults), ElementsAre("zone.instance_types[1]"));
  faults = {};
  Validate(SetMachineState{"m", MachineState::kHeld}, faults);
  Validate(SetMachineState{"m", MachineState::kReclaiming}, faults);
  EXPECT_THAT(FieldsOf(faults), ElementsAre("state", "state"));
}

}  // namespace
}  // namespace muster::capacity
