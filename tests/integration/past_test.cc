// One service's database is restored to a past of its own while the others go on, as
// deploy/after-a-restore.md has it.
#include "tests/testing/past.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

namespace lv1 = lifecycle::v1;
using ::testing::HasSubstr;

std::string MessageOf(const lv1::NodePool& pool, const std::string& type,
                      const std::string& reason) {
  for (const lv1::Condition& condition : pool.status().conditions()) {
    if (condition.type() == type && condition.reason() == reason) return condition.message();
  }
  return "";
}

class PastTest : public ::testing::Test {
 protected:
  PastTest() {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
  }
  void TearDown() override {
    if (HasFailure()) std::cerr << muster_.LogEnds();
  }
  const TestDatabase& database() { return muster_.database(); }
  std::string Migrate() {
    const Finished done = RunProgram({Binary("musterd"), "migrate", "--new_history",
                                      absl::StrCat("--db_conninfo=", database().conninfo()),
                                      absl::StrCat("--migrations_dir=", MigrationsDir())});
    return done.exit_code == 0 ? "" : done.output;
  }

  MiniMuster muster_;
};

TEST_F(PastTest, APoolThatWasDeletedAfterItSaysSoAndCanBeDeletedAgain) {
  ASSERT_TRUE(muster_.AwaitSettled(1));
  const Past past(database(), "lifecycle");
  ASSERT_EQ(muster_.Ctl({"delete", "nodepool", "example-nodepool", "--wait"}).exit_code, 0);
  muster_.Kill();
  past.Restore();
  muster_.Start();
  std::string told;
  EXPECT_TRUE(muster_.Await([&](const lv1::NodePool* pool) {
    if (pool != nullptr) told = MessageOf(*pool, "Quota", "InternalError");
    return !told.empty();
  }));
  EXPECT_THAT(told, HasSubstr("database was restored to a time before that"));
  EXPECT_THAT(muster_.Ctl({"explain", "nodepool", "example-nodepool"}).output,
              HasSubstr("delete the NodePool"));
  ASSERT_EQ(muster_.Ctl({"delete", "nodepool", "example-nodepool", "--wait"}).exit_code, 0);
  EXPECT_EQ(muster_.CheckBooks(0), "");
}

// The statements of the runbook, for a pool.
std::string Runbook(const std::string& uid) {
  const std::string all = ReadFile(absl::StrCat(MigrationsDir(), "/../deploy/after-a-restore.md"));
  const size_t begin = all.find("```sql\n") + 7;
  return absl::StrReplaceAll(all.substr(begin, all.find("```", begin) - begin),
                             {{":'uid'", absl::StrCat("'", uid, "'")}});
}

TEST_F(PastTest, AGenerationOutOfReachIsBroughtBackByTheRunbook) {
  ASSERT_TRUE(muster_.AwaitSettled(1));
  const std::string uid = muster_.GetPool()->uid();
  muster_.Kill();
  database().Execute("UPDATE quota.holding SET generation = 9223372036854775807");
  muster_.Start();
  ASSERT_TRUE(muster_.Resize(2).ok());
  EXPECT_TRUE(muster_.Await([](const lv1::NodePool* pool) {
    return pool != nullptr && !MessageOf(*pool, "Quota", "InternalError").empty();
  }));
  muster_.Kill();
  database().Execute(Runbook(uid));
  ASSERT_EQ(Migrate(), "");
  muster_.Start();
  EXPECT_TRUE(muster_.AwaitSettled(2));
  EXPECT_EQ(muster_.AuditBooks(), "");
  EXPECT_EQ(database().QueryValue("SELECT sum(nodes) FROM quota.holding"), "2");
}

}  // namespace
}  // namespace muster::testing
