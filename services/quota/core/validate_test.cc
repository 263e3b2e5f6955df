#include "services/quota/core/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace muster::quota {
namespace {

using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

template <class Command>
std::vector<error::FieldViolation> Validate(const Command& command, absl::string_view path) {
  error::Faults faults;
  quota::Validate(command, path, faults);
  return faults.named();
}

SyncHolding Good() {
  return {"organizations/acme/quotas/US-EAST-04A~t~default", "p", 3, 1, "pool"};
}

TEST(QuotaValidate, AcceptsTheWholeRange) {
  SyncHolding command = Good();
  for (const int64_t nodes : {int64_t{0}, int64_t{1}, int64_t{1'000'000}}) {
    command.nodes = nodes;
    EXPECT_THAT(Validate(command, ""), IsEmpty()) << nodes;
    EXPECT_THAT(Validate(UpdateQuota{{}, nodes}, ""), IsEmpty()) << nodes;
  }
}

TEST(QuotaValidate, NamesEveryFaultAtOnce) {
  SyncHolding command = Good();
  command.nodes = -1;
  command.generation = 0;
  command.pool = std::string(513, 'x');
  EXPECT_THAT(Validate(command, "holdings[3]"),
              UnorderedElementsAre(Field(&error::FieldViolation::field, "holdings[3].nodes"),
                                   Field(&error::FieldViolation::field, "holdings[3].generation"),
                                   Field(&error::FieldViolation::field, "holdings[3].pool")));
}

TEST(QuotaValidate, RefusesOverflowAndNodesOfAReleasedHolding) {
  SyncHolding command = Good();
  command.generation = kHuge;
  EXPECT_THAT(Validate(command, "holding"),
              UnorderedElementsAre(Field(&error::FieldViolation::field, "holding.generation")));
  command = Good();
  command.nodes = kHuge;
  EXPECT_THAT(Validate(command, "holding"),
              UnorderedElementsAre(Field(&error::FieldViolation::field, "holding.nodes")));
  EXPECT_THAT(Validate(UpdateQuota{{}, kHuge}, "quota"),
              UnorderedElementsAre(Field(&error::FieldViolation::field, "quota.limit")));
  command = Good();
  command.pool = std::string("p\0ol", 4);
  EXPECT_THAT(Validate(command, ""),
              UnorderedElementsAre(Field(&error::FieldViolation::field, "pool")));
  command = Good();
  command.release = true;
  EXPECT_THAT(Validate(command, ""),
              UnorderedElementsAre(Field(&error::FieldViolation::field, "nodes")));
}

}  // namespace
}  // namespace muster::quota
