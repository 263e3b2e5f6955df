#include "services/musterctl/client/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/authority.h"
#include "tests/testing/status_matchers.h"

namespace muster::musterctl {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CredentialsTest, AreOfAllFilesOrNone) {
  const auto none = ReadCredentials({});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, nullptr);
  EXPECT_THAT(ReadCredentials({.key = "k"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--certificate-authority: is required"),
                             HasSubstr("--client-certificate: is required"),
                             Not(HasSubstr("--client-key")))));
}

TEST(CredentialsTest, WhatCannotBeUsedIsNamedByFlagAndFile) {
  testing::Authority authority;
  authority.Issue("ci", "subjectAltName=URI:spiffe://muster.test/ci");
  authority.Issue("other", "subjectAltName=URI:spiffe://muster.test/other");
  const auto good =
      ReadCredentials({authority.authority(), authority.certificate("ci"), authority.key("ci")});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_NE(*good, nullptr);
  EXPECT_THAT(
      ReadCredentials({authority.authority(), authority.certificate("ci"), authority.key("other")})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("--client-key: " + authority.key("other") + " is not the key")));
  EXPECT_THAT(
      ReadCredentials({"/nowhere", authority.certificate("ci"), authority.key("ci")}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("--certificate-authority: /nowhere cannot be read")));
}

}  // namespace
}  // namespace muster::musterctl
