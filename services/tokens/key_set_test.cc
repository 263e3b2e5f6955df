#include "services/tokens/key_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/common/error.h"
#include "tests/testing/issuer.h"

namespace muster::tokens {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The field that is wrong, and how.
std::string FaultOf(absl::string_view json) {
  const auto keys = KeySet::Parse(json);
  if (keys.ok()) return "none";
  const auto detail = error::DetailOf(keys.status());
  return absl::StrCat(detail->fields[0].field, ": ", detail->fields[0].description);
}

TEST(KeySetTest, HasTheKeysThatSignaturesCanBeCheckedWith) {
  testing::Issuer issuer;
  issuer.AddRsaKey("rsa");
  issuer.AddEcKey("p256", "P-256");
  issuer.AddEcKey("p384", "P-384");
  issuer.AddEcKey("p521", "P-521");
  const auto keys = KeySet::Parse(issuer.KeySet());
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ(keys->size(), 4);
  EXPECT_EQ(keys->Ids(), "p256 p384 p521 rsa");
  EXPECT_EQ(keys->Find("rsa")->type, KeyType::kRsa);
  EXPECT_EQ(keys->Find("p384")->type, KeyType::kP384);
  EXPECT_THAT(keys->Find("p521")->pem, StartsWith("-----BEGIN PUBLIC KEY-----"));
  EXPECT_EQ(keys->Find("none"), nullptr);
  EXPECT_EQ(keys->Find(""), nullptr) << "which of them?";
}

TEST(KeySetTest, OneKeyNeedsNoId) {
  testing::Issuer issuer;
  issuer.AddRsaKey("rsa");
  const auto keys = KeySet::Parse(issuer.KeySet());
  ASSERT_TRUE(keys.ok());
  EXPECT_NE(keys->Find(""), nullptr);
}

TEST(KeySetTest, PassesOverWhatIsForOthers) {
  testing::Issuer issuer;
  issuer.AddRsaKey("rsa");
  const std::string more = absl::StrReplaceAll(
      issuer.KeySet(), {{"[", R"([{"kty":"oct","k":"AA","kid":"a"},{"kty":"OKP","kid":"b"},)"
                              R"({"kty":"RSA","use":"enc","kid":"c"},)"}});
  const auto keys = KeySet::Parse(more);
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ(keys->Ids(), "rsa");
}

TEST(KeySetTest, WhatCannotBeUsedTakesNoOtherAlong) {
  testing::Issuer issuer;
  issuer.AddEcKey("a", "P-256");
  issuer.AddEcKey("b", "P-256");
  issuer.AddRsaKey("weak", 1024);
  const auto keys = KeySet::Parse(absl::StrReplaceAll(
      issuer.KeySet(),
      {{"\"b\"", "\"a\""}, {"[", R"([{"kty":"EC","crv":"secp256k1","kid":"k"},)"}}));
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ(keys->Ids(), "a (3 cannot be used)");
}

TEST(KeySetTest, SaysWhatIsWrong) {
  EXPECT_THAT(FaultOf(""), StartsWith("keys: must be a list"));
  EXPECT_THAT(FaultOf("{}"), StartsWith("keys: must be a list"));
  EXPECT_THAT(FaultOf(R"({"keys":7})"), StartsWith("keys: must be a list"));
  EXPECT_THAT(FaultOf(R"({"keys":[]})"), StartsWith("keys: has none"));
  EXPECT_EQ(FaultOf(R"({"keys":[7]})"), "keys[0]: must be an object.");
  EXPECT_EQ(FaultOf(R"({"keys":[{}]})"), "keys[0].kty: is required.");
  EXPECT_EQ(FaultOf(R"({"keys":[{"kty":"RSA","n":"!"}]})"), "keys[0].n: must be base64url.");
  EXPECT_EQ(FaultOf(R"({"keys":[{"kty":"RSA","n":"AQAB"}]})"), "keys[0].e: must be base64url.");
  EXPECT_EQ(FaultOf(R"({"keys":[{"kty":"EC","crv":"P-1"}]})"),
            "keys[0].crv: must be P-256, P-384 or P-521.");
  EXPECT_THAT(FaultOf(R"({"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]})"),
              HasSubstr("must each be 32 bytes"));
  const std::string zeros(43, 'A');
  EXPECT_EQ(FaultOf(absl::StrCat(R"({"keys":[{"kty":"EC","crv":"P-256","x":")", zeros, R"(","y":")",
                                 zeros, R"("}]})")),
            "keys[0]: is no point of P-256.");
  testing::Issuer weak;
  weak.AddRsaKey("weak", 1024);
  EXPECT_EQ(FaultOf(weak.KeySet()), "keys[0].n: must have 2048 bits or more.");
  EXPECT_EQ(FaultOf(std::string(2 << 20, ' ')), "file: must have 1 MiB at most.");
}

}  // namespace
}  // namespace muster::tokens
