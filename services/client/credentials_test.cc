#include "services/client/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/testing/authority.h"
#include "tests/testing/status_matchers.h"

namespace muster::client {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CredentialsTest, AreOfAllFilesOrNone) {
  const auto none = ReadCredentials({});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, nullptr);
  EXPECT_THAT(
      ReadCredentials({.key = "k"}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("certificateAuthority: is required"),
                     HasSubstr("clientCertificate: is required"), Not(HasSubstr("clientKey")))));
}

TEST(CredentialsTest, ATokenStandsInTheStead) {
  testing::Authority authority;
  authority.Issue("ci", "subjectAltName=URI:spiffe://muster.test/ci");
  const auto refused = [](const CredentialFiles& files, const std::string& says) {
    EXPECT_THAT(ReadCredentials(files).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(says)));
  };
  const std::string token = authority.Path("token");
  refused({.token = token}, "certificateAuthority: is required with a token");
  refused({.authority = authority.authority(), .token = token},
          "tokenFile: " + token + " cannot be read, or is empty");
  std::ofstream(token) << "abc\n";
  refused({authority.authority(), authority.certificate("ci"), "", token},
          "tokenFile: is given beside a certificate");
  refused({.authority = token, .token = token},
          "certificateAuthority: " + token + " has no certificate in PEM");
  const auto good = ReadCredentials({.authority = authority.authority(), .token = token});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_NE(*good, nullptr);
}

TEST(CredentialsTest, WhatCannotBeUsedIsNamedByKeyAndFile) {
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
               HasSubstr("clientKey: " + authority.key("other") + " is not the key")));
  EXPECT_THAT(
      ReadCredentials({"/nowhere", authority.certificate("ci"), authority.key("ci")}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("certificateAuthority: /nowhere cannot be read")));
}

}  // namespace
}  // namespace muster::client
