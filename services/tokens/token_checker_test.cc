#include "services/tokens/token_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/common/error.h"
#include "services/common/replace_file.h"
#include "services/common/testing/fake_clock.h"
#include "tests/testing/issuer.h"
#include "tests/testing/temp_folder.h"

namespace muster::tokens {
namespace {

using ::testing::HasSubstr;

class TokenCheckerTest : public ::testing::Test {
 protected:
  TokenCheckerTest() {
    issuer_.AddRsaKey("rsa");
    issuer_.AddEcKey("ec", "P-256");
    WriteKeys();
    auto made = TokenChecker::Create({.keys_file = file_,
                                      .issuer = testing::Issuer::kName,
                                      .audience = testing::Issuer::kAudience,
                                      .algorithms = {"RS256", "ES256"}},
                                     &clock_);
    if (!made.ok()) throw std::runtime_error(made.status().ToString());
    checker_ = *std::move(made);
  }

  // Whoever watches the file finds all of it.
  void WriteKeys() { ASSERT_TRUE(ReplaceFile(file_, issuer_.KeySet())); }
  absl::Time InAnHour() const { return clock_.Now() + absl::Hours(1); }
  // The caller's name, or why it has none.
  std::string Told(const std::string& header) {
    const auto principal = checker_->PrincipalOf(header);
    if (principal.ok()) return *principal;
    EXPECT_EQ(principal.status().code(), absl::StatusCode::kUnauthenticated);
    EXPECT_EQ(error::ReasonOf(principal.status()), "TOKEN_REFUSED");
    return std::string(principal.status().message());
  }
  std::string ToldOf(const std::string& claims) {
    return Told(absl::StrCat("Bearer ", issuer_.Sign("rsa", "RS256", claims)));
  }

  testing::TempFolder folder_;
  const std::string file_ = folder_.Path("keys.json");
  testing::Issuer issuer_;
  FakeClock clock_{absl::FromUnixSeconds(1'750'000'000)};
  std::unique_ptr<TokenChecker> checker_;
};

TEST_F(TokenCheckerTest, NamesTheSubject) {
  EXPECT_EQ(Told("Bearer " + issuer_.TokenOf("ann@example.org", InAnHour())),
            "token/ann@example.org");
  EXPECT_EQ(Told("bearer  " + issuer_.TokenOf("system:serviceaccount:a:b", InAnHour())),
            "token/system:serviceaccount:a:b");
  EXPECT_EQ(
      Told("Bearer " + issuer_.Sign("ec", "ES256", testing::Issuer::ClaimsOf("x", InAnHour()))),
      "token/x");
  EXPECT_EQ(
      ToldOf(
          R"({"iss":"https://issuer.test","aud":["other","muster"],"sub":"a","exp":1750000001})"),
      "token/a");
  EXPECT_EQ(checker_->stats().refused, 0);
}

TEST_F(TokenCheckerTest, WhomItKnowsItNamesWithoutASignaturesCheck) {
  const std::string header = "Bearer " + issuer_.TokenOf("ann", InAnHour());
  const auto known = [&] { return checker_->KnownPrincipalOf(header); };
  EXPECT_FALSE(known().ok()) << "it was not shown before";
  EXPECT_EQ(checker_->stats().verified, 0);
  EXPECT_EQ(Told(header), "token/ann");
  ASSERT_TRUE(known().ok()) << known().status();
  EXPECT_EQ(*known(), "token/ann");
  EXPECT_EQ(checker_->stats().verified, 1);
  EXPECT_EQ(checker_->stats().refused, 0) << "nothing is counted";
  issuer_.RemoveKey("rsa");
  WriteKeys();
  ASSERT_TRUE(checker_->Reload().ok());
  EXPECT_FALSE(known().ok()) << "its key is gone";
}

TEST_F(TokenCheckerTest, HoldsFromThenUntilThen) {
  const std::string token =
      "Bearer " +
      issuer_.Sign(
          "rsa", "RS256",
          R"({"iss":"https://issuer.test","aud":"muster","sub":"a","nbf":1750000100,"exp":1750000200})");
  EXPECT_THAT(Told(token), HasSubstr("does not hold yet (`nbf`)"));
  clock_.Advance(absl::Seconds(71));
  EXPECT_EQ(Told(token), "token/a") << "30 s of leeway";
  clock_.Advance(absl::Seconds(158));
  EXPECT_EQ(Told(token), "token/a");
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Told(token), HasSubstr("has expired (`exp`)"));
  EXPECT_EQ(checker_->stats().refused, 2);
}

TEST_F(TokenCheckerTest, RefusesWhatIsNoTokenOfTheIssuer) {
  const std::string good = issuer_.TokenOf("a", InAnHour());
  EXPECT_THAT(Told("Basic abc"), HasSubstr("must be `Bearer TOKEN`"));
  EXPECT_THAT(Told("Bearer "), HasSubstr("no JSON Web Token"));
  EXPECT_THAT(Told("Bearer a.b"), HasSubstr("no JSON Web Token"));
  EXPECT_THAT(Told("Bearer a.b.c.d"), HasSubstr("no JSON Web Token"));
  EXPECT_THAT(Told("Bearer " + std::string(9000, 'a')), HasSubstr("8192 bytes at most"));
  EXPECT_THAT(Told("Bearer " + good.substr(0, good.size() - 8) + "AAAAAAAA"),
              HasSubstr("its signature is wrong"));
  // With claims that were not signed.
  const std::string forged =
      absl::WebSafeBase64Escape(testing::Issuer::ClaimsOf("root", InAnHour()));
  const size_t first = good.find('.'), last = good.rfind('.');
  EXPECT_THAT(Told("Bearer " + good.substr(0, first + 1) + forged + good.substr(last)),
              HasSubstr("its signature is wrong"));
  testing::Issuer stranger;
  stranger.AddRsaKey("rsa");
  EXPECT_THAT(Told("Bearer " + stranger.TokenOf("a", InAnHour())),
              HasSubstr("its signature is wrong"));
}

TEST_F(TokenCheckerTest, ASignatureIsCheckedOnceAndWrittenInOneWay) {
  const std::string good = "Bearer " + issuer_.TokenOf("a", InAnHour());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Told(good), "token/a");
  EXPECT_EQ(checker_->stats().verified, 1);
  EXPECT_THAT(Told(good + "="), HasSubstr("no JSON Web Token"));
  EXPECT_THAT(Told(good + "!and more"), HasSubstr("no JSON Web Token"));
}

TEST_F(TokenCheckerTest, RefusesHeadersThatAskForMore) {
  const std::string claims = testing::Issuer::ClaimsOf("a", InAnHour());
  const auto told = [&](const std::string& header) {
    return Told("Bearer " + issuer_.SignWith("rsa", "RS256", header, claims));
  };
  EXPECT_EQ(told(R"({"alg":"RS256","kid":"rsa","typ":"jwt"})"), "token/a");
  EXPECT_EQ(told(R"({"alg":"RS256","kid":"rsa"})"), "token/a");
  EXPECT_THAT(told(R"({"alg":"RS256","kid":"rsa","typ":"at+jwt"})"), HasSubstr("(`typ`)"));
  EXPECT_THAT(told(R"({"alg":"RS256","kid":"rsa","crit":["exp"]})"), HasSubstr("(`crit`)"));
}

TEST_F(TokenCheckerTest, TakesNoOtherAlgorithmNorAKeyForAnother) {
  const std::string claims = testing::Issuer::ClaimsOf("a", InAnHour());
  const std::string content = absl::StrCat(absl::WebSafeBase64Escape(R"({"alg":"none"})"), ".",
                                           absl::WebSafeBase64Escape(claims), ".");
  EXPECT_THAT(Told("Bearer " + content), HasSubstr("not one of --token_algorithms"));
  EXPECT_THAT(Told("Bearer " + issuer_.Sign("rsa", "RS512", claims)),
              HasSubstr("not one of --token_algorithms"));
  EXPECT_THAT(
      Told("Bearer " + issuer_.SignWith("rsa", "RS256", R"({"alg":"HS256","kid":"rsa"})", claims)),
      HasSubstr("not one of --token_algorithms"));
  EXPECT_THAT(
      Told("Bearer " + issuer_.SignWith("rsa", "RS256", R"({"alg":"ES256","kid":"rsa"})", claims)),
      HasSubstr("its key is not for its algorithm"));
  EXPECT_THAT(
      Told("Bearer " + issuer_.SignWith("rsa", "RS256", R"({"alg":"RS256","kid":"old"})", claims)),
      HasSubstr("its key (`kid`) is not one of"));
}

TEST_F(TokenCheckerTest, RefusesClaimsThatAreNotForUs) {
  EXPECT_THAT(ToldOf("7"), HasSubstr("no JSON Web Token"));
  EXPECT_THAT(ToldOf(R"({"iss":"https://other","aud":"muster","sub":"a","exp":1750000001})"),
              HasSubstr("its issuer (`iss`)"));
  EXPECT_THAT(ToldOf(R"({"aud":"muster","sub":"a","exp":1750000001})"), HasSubstr("(`iss`)"));
  EXPECT_THAT(ToldOf(R"({"iss":"https://issuer.test","aud":"other","sub":"a","exp":1750000001})"),
              HasSubstr("(`aud`)"));
  EXPECT_THAT(ToldOf(R"({"iss":"https://issuer.test","sub":"a","exp":1750000001})"),
              HasSubstr("(`aud`)"));
  EXPECT_THAT(ToldOf(R"({"iss":"https://issuer.test","aud":7,"sub":"a","exp":1750000001})"),
              HasSubstr("(`aud`)"));
  EXPECT_THAT(ToldOf(R"({"iss":"https://issuer.test","aud":"muster","sub":"a"})"),
              HasSubstr("(`exp`)"));
  EXPECT_THAT(ToldOf(R"({"iss":"https://issuer.test","aud":"muster","sub":"a","exp":"soon"})"),
              HasSubstr("(`exp`)"));
  EXPECT_THAT(ToldOf(R"({"iss":"https://issuer.test","aud":"muster","sub":"a","exp":1e300})"),
              HasSubstr("(`exp`)"));
  EXPECT_THAT(
      ToldOf(
          R"({"iss":"https://issuer.test","aud":"muster","sub":"a","nbf":"x","exp":1750000001})"),
      HasSubstr("`nbf` is no time"));
  for (const std::string& subject :
       std::vector<std::string>{"", "a b", "*", "a/*", std::string(254, 'a')}) {
    EXPECT_THAT(ToldOf(testing::Issuer::ClaimsOf(subject, InAnHour())), HasSubstr("(`sub`)"))
        << subject;
  }
}

TEST_F(TokenCheckerTest, KeysThatGoTakeTheirTokensAlong) {
  const std::string token = "Bearer " + issuer_.TokenOf("a", InAnHour());
  EXPECT_EQ(Told(token), "token/a");
  issuer_.AddRsaKey("rsa");
  WriteKeys();
  ASSERT_TRUE(checker_->Reload().ok());
  EXPECT_THAT(Told(token), HasSubstr("its signature is wrong"));
  EXPECT_EQ(Told("Bearer " + issuer_.TokenOf("a", InAnHour())), "token/a");
  // What cannot be used is not: the last stay.
  ASSERT_TRUE(ReplaceFile(file_, "{}"));
  const absl::Status refused = checker_->Reload();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error::DetailOf(refused)->fields[0].field, "--token_keys_file");
  EXPECT_EQ(Told("Bearer " + issuer_.TokenOf("b", InAnHour())), "token/b");
  EXPECT_EQ(checker_->stats().keys.taken, 2);
  EXPECT_EQ(checker_->stats().keys.refused, 1);
}

TEST_F(TokenCheckerTest, WithoutKeysThereIsNone) {
  const auto none = TokenChecker::Create({.keys_file = folder_.Path("none")}, &clock_);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error::DetailOf(none.status())->fields[0].description, HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace muster::tokens
