#include "services/common/cause.h"

#include <gtest/gtest.h>

#include "services/common/error.h"

namespace muster::error {
namespace {

TEST(Cause, IsForOperatorsOnly) {
  const absl::Status status =
      WithCause(Unavailable("The database is away."), "FATAL: no user \"muster\"");
  EXPECT_EQ(status.message(), "The database is away.");
  EXPECT_EQ(CauseOf(status), "FATAL: no user \"muster\"");
  EXPECT_EQ(ForOperators(status), "The database is away. (FATAL: no user \"muster\")");
  EXPECT_EQ(ReasonOf(status), "UNAVAILABLE") << "beside it";
  EXPECT_EQ(ForOperators(NotFound("a")), "a does not exist.");
  EXPECT_TRUE(WithCause(absl::OkStatus(), "all is well").ok());
}

}  // namespace
}  // namespace muster::error
