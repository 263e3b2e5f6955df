#include "services/configuration/core/validate.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

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

}  // namespace
}  // namespace muster::configuration
