// `musterctl top` against the programs that a user runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/integration/mini_muster.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class TopTest : public ::testing::Test {
 protected:
  TopTest() {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
  }

  // Nobody else leads meanwhile.
  MiniMuster muster_{{.musterd_flags = {"--lease_ttl=1m"}}};
};

TEST_F(TopTest, OnceShowsWhatIsThere) {
  const Finished top = muster_.Ctl({"top", "--once"});
  EXPECT_EQ(top.exit_code, 0) << top.output;
  EXPECT_THAT(top.output,
              AllOf(ContainsRegex("watches live: capacity .*, configuration "),
                    ContainsRegex(absl::StrCat("\nreconciles [^ ]+_", muster_.pid(),
                                               "_[0-9a-f]+, epoch 1, since [0-9]+[sm]\n")),
                    HasSubstr("pools 1 ok, 0 not; machines 214: 213 free, 1 held, 0 in repair; "
                              "Nodes in service 1\n"),
                    ContainsRegex("gd-8xa100-i128 +23  of 24 free  r000 P\\.{7}  r001 "),
                    ContainsRegex("gd-8xa100-i128 +default +1 of 24  \\[#-+\\]\n"),
                    HasSubstr("QUEUE  nobody waits\n"), Not(HasSubstr("\x1b"))));
}

TEST_F(TopTest, OnceSaysWhoMustActForAPoolThatIsOverItsQuota) {
  ASSERT_TRUE(muster_.Resize(40).ok());
  ASSERT_TRUE(muster_.Await([](const lifecycle::v1::NodePool* pool) {
    if (pool == nullptr) return false;
    for (const auto& condition : pool->status().conditions()) {
      if (condition.type() == "Quota" && condition.reason() == "Over") return true;
    }
    return false;
  })) << muster_.LogEnds();
  const Finished top = muster_.Ctl({"top", "--once"});
  EXPECT_EQ(top.exit_code, 0) << top.output;
  EXPECT_THAT(
      top.output,
      AllOf(HasSubstr("pools 0 ok, 1 not; "), ContainsRegex("refused to 1 pool\n"),
            ContainsRegex("acme/example/example-nodepool  . of 40 +quota admin   .*Quota: Over  "
                          "The quota of gd-8xa100-i128")));
}

TEST_F(TopTest, OnceFailsWhereNobodyAnswers) {
  muster_.Kill();
  const Finished top = muster_.Ctl({"top", "--once", "--timeout=1s"});
  EXPECT_EQ(top.exit_code, 1);
  EXPECT_THAT(top.output, HasSubstr("error: not all is known after 1s; capacity, quota, lifecycle, "
                                    "configuration: "));
  muster_.Start();
}

}  // namespace
}  // namespace muster::testing
