#include "services/configuration/core/validate.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "services/configuration/core/limits.h"

namespace muster::configuration {
namespace {

const SyncPool kGood = {
    .pool_uid = "pool-1", .generation = 1, .spec = {.gpu_version = "570", .gpu = true}};

std::vector<error::FieldViolation> Validate(const SyncPool& request, absl::string_view path) {
  error::Faults faults;
  configuration::Validate(request, path, faults);
  return faults.named();
}

struct SyncCase {
  const char* field = "";  // empty: nothing is wrong
  std::function<void(SyncPool&)> change = {};
};

const SyncCase kCases[] = {
    {"", [](SyncPool&) {}},
    {"configuration.pool_uid", [](SyncPool& r) { r.pool_uid = ""; }},
    {"configuration.pool_uid", [](SyncPool& r) { r.pool_uid = "Pool"; }},
    {"configuration.pool_uid", [](SyncPool& r) { r.pool_uid = std::string(65, 'a'); }},
    {"", [](SyncPool& r) { r.pool_uid = std::string(64, 'a'); }},
    {"configuration.generation", [](SyncPool& r) { r.generation = 0; }},
    {"configuration.generation", [](SyncPool& r) { r.generation = -1; }},
    {"configuration.generation",
     [](SyncPool& r) { r.generation = std::numeric_limits<int64_t>::max(); }},
    {"", [](SyncPool& r) { r.generation = std::numeric_limits<int64_t>::max() - 1; }},
    {"configuration.spec.image_name",
     [](SyncPool& r) { r.spec.image_name = std::string(254, 'a'); }},
    {"configuration.spec.image_name", [](SyncPool& r) { r.spec.image_name = "two\nlines"; }},
    {"configuration.spec.image_name", [](SyncPool& r) { r.spec.image_name = "bild-ä"; }},
    {"", [](SyncPool& r) { r.spec.image_name = std::string(253, 'a'); }},
    {"configuration.spec.image_kernel", [](SyncPool& r) { r.spec.image_kernel = "6.5\t"; }},
    {"", [](SyncPool& r) { r.spec.image_kernel = "6.5.13-65-650-4141"; }},
    {"configuration.spec.gpu_version", [](SyncPool& r) { r.spec.gpu_version = "570.86"; }},
    {"configuration.spec.gpu_version", [](SyncPool& r) { r.spec.gpu_version = "-570"; }},
    {"configuration.spec.gpu_version", [](SyncPool& r) { r.spec.gpu_version = "r570"; }},
    {"configuration.spec.gpu_version",
     [](SyncPool& r) { r.spec.gpu_version = "9223372036854775807"; }},
    {"", [](SyncPool& r) { r.spec.gpu_version = ""; }},
    {"configuration.spec.kubernetes", [](SyncPool& r) { r.spec.kubernetes = "v1.33"; }},
    {"configuration.spec.kubernetes", [](SyncPool& r) { r.spec.kubernetes = "1.2.3.4.5"; }},
    {"", [](SyncPool& r) { r.spec.kubernetes = "1.33.2"; }},
    {"configuration.nodes_in_delivery", [](SyncPool& r) { r.nodes_in_delivery = -1; }},
    {"configuration.nodes_in_delivery", [](SyncPool& r) { r.nodes_in_delivery = kMaxNodes + 1; }},
    {"", [](SyncPool& r) { r.nodes_in_delivery = kMaxNodes; }},
    {"configuration.running_profiles[1]",
     [](SyncPool& r) {
       r.running_profiles = {"np-0123456789ab", "np-?"};
     }},
    {"configuration.running_profiles",
     [](SyncPool& r) { r.running_profiles.resize(kMostRevisions + 1, "np-0123456789ab"); }},
    {"", [](SyncPool& r) { r.running_profiles.resize(kMostRevisions, "np-0123456789ab"); }},
    {"configuration.orders_told", [](SyncPool& r) { r.orders_told = -1; }},
    {"configuration.pool", [](SyncPool& r) { r.pool = std::string(kMaxPoolNameBytes + 1, 'p'); }},
    {"configuration.pool", [](SyncPool& r) { r.pool = "a\nb"; }},
    {"", [](SyncPool& r) { r.pool = std::string(kMaxPoolNameBytes, 'p'); }},
    {"configuration.boot_failures.node_profile",
     [](SyncPool& r) { r.boot_failures = BootFailures{.node_profile = "np-1"}; }},
    // The spec is not read when the pool is gone.
    {"", [](SyncPool& r) { r.release = true, r.spec.gpu_version = "x"; }},
    {"configuration.generation", [](SyncPool& r) { r.release = true, r.generation = 0; }},
};

TEST(ValidateTest, NamesTheField) {
  for (const SyncCase& row : kCases) {
    SyncPool request = kGood;
    row.change(request);
    const auto faults = Validate(request, "configuration");
    ASSERT_EQ(faults.size(), row.field[0] == '\0' ? 0u : 1u) << row.field;
    if (!faults.empty()) {
      EXPECT_EQ(faults[0].field, row.field);
    }
  }
}

TEST(ValidateTest, ListsEveryFault) {
  SyncPool request = kGood;
  request.pool_uid = "";
  request.generation = 0;
  request.spec.kubernetes = "?";
  EXPECT_EQ(Validate(request, "configurations[3]").size(), 3u);
  EXPECT_EQ(Validate(request, "configurations[3]")[0].field, "configurations[3].pool_uid");
}

std::vector<error::FieldViolation> Faulty(const BootFailures& failures) {
  SyncPool request = kGood;
  request.boot_failures = failures;
  return Validate(request, "configuration");
}

TEST(ValidateTest, FailuresAreOfDifferentMachines) {
  const auto failed = [](std::vector<std::string> machines, int64_t enable_count = 0) {
    return Faulty({.node_profile = "np-0123456789ab",
                   .enable_count = enable_count,
                   .machines = std::move(machines)});
  };
  EXPECT_TRUE(failed({"g1", "g2"}).empty());
  EXPECT_EQ(failed({"g1", "G2"}).at(0).field, "configuration.boot_failures.machines[1]");
  EXPECT_EQ(failed({"g1", "g1"}).at(0).field, "configuration.boot_failures.machines[1]");
  EXPECT_EQ(failed({}, -1).at(0).field, "configuration.boot_failures.enable_count");
  std::vector<std::string> many;
  for (size_t i = 0; i < kMaxFailedMachines; ++i) many.push_back("g" + std::to_string(i));
  EXPECT_TRUE(failed(many).empty());
  many.push_back("one-more");
  EXPECT_EQ(failed(many).at(0).field, "configuration.boot_failures.machines");
}

// "must be empty, `pending` or `np-{12 hex}`": each order has its own word.
TEST(ValidateTest, OrdersNameAProfileOrTheirWord) {
  const auto faults_of = [](OrderKind kind, const std::string& requested,
                            const std::string& rollback = "") {
    error::Faults faults;
    configuration::Validate(
        OrderPool{.pool_uid = "p", .kind = kind, .requested = requested, .rollback = rollback},
        faults);
    std::string fields;
    for (const error::FieldViolation& fault : faults.named()) fields += fault.field + ";";
    return fields;
  };
  constexpr char kGoodId[] = "np-0123456789ab";
  for (const char* good : {"pending", kGoodId})
    EXPECT_EQ(faults_of(OrderKind::kPromote, good), "") << good;
  for (const char* good : {"previous", kGoodId})
    EXPECT_EQ(faults_of(OrderKind::kRollback, good), "") << good;
  EXPECT_EQ(faults_of(OrderKind::kPromote, "previous"), "node_profile;");
  EXPECT_EQ(faults_of(OrderKind::kRollback, "pending"), "node_profile;");
  EXPECT_EQ(faults_of(OrderKind::kPromote, "np-1"), "node_profile;");
  for (const char* good : {"", "previous", kGoodId})
    EXPECT_EQ(faults_of(OrderKind::kPromote, "pending", good), "") << good;
  EXPECT_EQ(faults_of(OrderKind::kPromote, "pending", "np-1"), "rollback;");
  error::Faults faults;
  configuration::Validate(EnableRevision{.pool_uid = "p", .node_profile = "np-1"}, faults);
  EXPECT_EQ(faults.named().at(0).field, "node_profile");
}

}  // namespace
}  // namespace muster::configuration
