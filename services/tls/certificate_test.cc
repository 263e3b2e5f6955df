// Which keys and certificates can be used together.
#include "services/tls/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "tests/testing/authority.h"
#include "tests/testing/status_matchers.h"

namespace muster::tls {
namespace {

using ::muster::testing::Authority;
using ::muster::testing::IsOkAndHolds;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kDomain[] = "muster.test";

class CertificateTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    authority_ = new Authority();
    authority_->Issue("server", "subjectAltName=DNS:localhost,URI:spiffe://muster.test/musterd");
    authority_->Issue("client",
                      "subjectAltName=URI:spiffe://muster.test/ci\nextendedKeyUsage=clientAuth");
    authority_->Issue("nameless", "subjectAltName=DNS:localhost");
    authority_->Issue("old", "subjectAltName=URI:spiffe://muster.test/old",
                      absl::Now() - absl::Hours(2), absl::Now() - absl::Hours(1));
    authority_->IssueAuthority("stranger");
  }
  static void TearDownTestSuite() { delete authority_; }

  static Pem Of(const std::string& name) {
    return {authority_->Text(name + ".key"), authority_->Text(name + ".crt"),
            authority_->Text("ca.crt")};
  }
  static absl::StatusOr<Identity> Check(const Pem& pem, Use use = Use::kServer,
                                        absl::Time now = absl::Now()) {
    return CheckPem(pem, kDomain, use, now);
  }
  static void ExpectRefused(const Pem& pem, const std::string& field, const std::string& why) {
    EXPECT_THAT(Check(pem),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field + ": " + why)));
  }

  static inline Authority* authority_ = nullptr;
};

TEST_F(CertificateTest, WhatFitsHasAnIdentityAndAnEnd) {
  const absl::StatusOr<Identity> identity = Check(Of("server"));
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->id, "spiffe://muster.test/musterd");
  EXPECT_GT(identity->expires, absl::Now() + absl::Hours(47));
  EXPECT_LE(identity->expires, absl::Now() + absl::Hours(48));
  EXPECT_LT(identity->begins, absl::Now());
  EXPECT_GT(identity->begins, absl::Now() - absl::Hours(1));
}

TEST_F(CertificateTest, AKeyMustFitItsCertificate) {
  Pem pem = Of("server");
  pem.key = Of("client").key;
  ExpectRefused(pem, "key", "is not the key of the first of the certificates.");
}

TEST_F(CertificateTest, EachFileMustHaveWhatItIsFor) {
  Pem pem = Of("server");
  std::swap(pem.key, pem.certificates);
  ExpectRefused(pem, "certificates", "has no certificate in PEM.");
  pem = Of("server");
  pem.key = pem.key.substr(0, pem.key.size() / 2);
  ExpectRefused(pem, "key", "has no private key in PEM without a passphrase.");
  pem = Of("server");
  pem.authorities = "";
  ExpectRefused(pem, "authorities", "has no certificate in PEM.");
}

TEST_F(CertificateTest, TheChainMustLeadToAnAuthority) {
  Pem pem = Of("server");
  pem.authorities = authority_->Text("stranger.crt");
  ExpectRefused(
      pem, "certificates",
      "cannot be used with these authorities now: unable to get local issuer certificate.");
}

TEST_F(CertificateTest, WhatHasExpiredOrNotBegunIsRefused) {
  ExpectRefused(Of("old"), "certificates",
                "cannot be used with these authorities now: certificate has expired.");
  EXPECT_THAT(Check(Of("server"), Use::kServer, absl::Now() - absl::Hours(24)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not yet valid")));
}

TEST_F(CertificateTest, AClientsIsNoServers) {
  EXPECT_THAT(Check(Of("client"), Use::kClient),
              ::testing::Property(&absl::StatusOr<Identity>::ok, true));
  ExpectRefused(Of("client"), "certificates", "must be for servers");
}

TEST_F(CertificateTest, OneWithoutAnIdentityIsRefused) {
  ExpectRefused(Of("nameless"), "certificates",
                "must name exactly one URI, a SPIFFE ID; the first names 0.");
}

TEST(SpiffeIdTest, IsTheOnlyOneAndOfTheTrustDomain) {
  EXPECT_THAT(SpiffeIdOf({"spiffe://muster.test/a/b"}, kDomain),
              IsOkAndHolds("spiffe://muster.test/a/b"));
  for (const std::vector<std::string>& uris :
       std::vector<std::vector<std::string>>{{},
                                             {"https://x", "spiffe://muster.test/a/b"},
                                             {"spiffe://muster.test/a", "spiffe://muster.test/b"},
                                             {"spiffe://muster.test/a", "SPIFFE://other.test/b"},
                                             {"spiffe://muster.test"},
                                             {"spiffe://muster.test/"},
                                             {"spiffe://muster.test.evil/a"},
                                             {"spiffe://evil/muster.test/a"},
                                             {"SPIFFE://muster.test/a"}}) {
    EXPECT_THAT(SpiffeIdOf(uris, kDomain), StatusIs(absl::StatusCode::kInvalidArgument))
        << ::testing::PrintToString(uris);
  }
}

TEST(TrustDomainTest, HasTheLettersOfOne) {
  EXPECT_TRUE(IsTrustDomain("muster.example.org"));
  EXPECT_TRUE(IsTrustDomain(std::string(255, 'a')));
  for (const std::string& name : {std::string(), std::string(256, 'a'), std::string("Muster"),
                                  std::string("a/b"), std::string("spiffe://a")})
    EXPECT_FALSE(IsTrustDomain(name)) << name;
}

}  // namespace
}  // namespace muster::tls
