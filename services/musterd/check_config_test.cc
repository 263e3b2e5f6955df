#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/musterd/check_config_command.h"
#include "services/musterd/migrate_command.h"
#include "services/musterd/options.h"
#include "tests/testing/temp_folder.h"

namespace muster::musterd {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class CheckConfigTest : public ::testing::Test, protected muster::testing::TempFolder {
 protected:
  int Check(const std::string& verb, const std::string& text) {
    std::ofstream(Path("it.flags")) << text;
    said_.str("");
    const absl::FlagSaver flags;
    return RunCheckConfig({verb, Path("it.flags")}, said_);
  }
  static std::string Good() {
    return absl::StrCat("--services=quota,capacity\n--db_conninfo=dbname=muster\n--migrations_dir=",
                        std::getenv("MUSTER_MIGRATIONS"), "\n");
  }

  std::ostringstream said_;
};

TEST_F(CheckConfigTest, GoodFilesAreGood) {
  EXPECT_EQ(Check("serve", Good()), 0) << said_.str();
  EXPECT_EQ(said_.str(), "good\n");
  EXPECT_EQ(Check("migrate", Good()), 0) << said_.str();
}

TEST_F(CheckConfigTest, BoundsAreToldWithFileLineAndWhatIsAllowed) {
  EXPECT_EQ(Check("serve", Good() + "--drain_delay=1h\n--log_level=loud\n"), 1);
  EXPECT_THAT(
      said_.str(),
      HasSubstr(absl::StrCat(Path("it.flags"), ":4: --drain_delay is 1h; allowed are 0 to 5m.\n")));
  EXPECT_THAT(said_.str(), HasSubstr("it.flags:5: --log_level is \"loud\""));
}

TEST_F(CheckConfigTest, FilesThatCannotBeWrittenAreTold) {
  std::ofstream(Path("level")) << "loud\n";
  for (const std::string flag : {"log_file", "trace_file", "port_file"}) {
    EXPECT_EQ(Check("serve", absl::StrCat(Good(), "--", flag, "=", Path("no-folder/it"), "\n")), 1);
    EXPECT_THAT(said_.str(), HasSubstr(absl::StrCat("it.flags:4: --", flag, " ")));
    EXPECT_THAT(said_.str(), HasSubstr("cannot be written: No such file"));
    EXPECT_EQ(Check("serve", absl::StrCat(Good(), "--", flag, "=", Path("new"), "\n")), 0)
        << said_.str();
  }
  EXPECT_EQ(Check("serve", absl::StrCat(Good(), "--log_level_file=", Path("level"), "\n")), 1);
  EXPECT_THAT(said_.str(), HasSubstr("must say debug, info, warning or error"));
}

TEST_F(CheckConfigTest, WhatTheFlagsNameIsLookedAt) {
  std::ofstream(Path("policy.yaml")) << "bindings: [{role: king}]\n";
  EXPECT_EQ(Check("serve", absl::StrCat("--services=quota\n--db_conninfo=host\n--migrations_dir=",
                                        path(), "\n--policy_file=", Path("policy.yaml"), "\n")),
            1);
  for (const char* said : {"it.flags:2: --db_conninfo is no connection string",
                           "it.flags:3: --migrations_dir", "bindings[0].role"})
    EXPECT_THAT(said_.str(), HasSubstr(said));
  EXPECT_EQ(Check("serve",
                  absl::StrCat(Good(), "--tls_cert_file=", Path("none"),
                               "\n--tls_key_file=", Path("none"), "\n--tls_ca_file=", Path("none"),
                               "\n--trust_domain=muster.test\n--policy_file=", Path("none"), "\n")),
            1);
  EXPECT_THAT(said_.str(), HasSubstr("--policy_file"));
  EXPECT_THAT(said_.str(), HasSubstr("--tls_cert_file"));
}

TEST_F(CheckConfigTest, TheDatabaseIsNamedOnce) {
  std::ofstream(Path("conninfo")) << "dbname=muster\n";
  for (const char* command : {"serve", "migrate"}) {
    EXPECT_EQ(Check(command, absl::StrCat(Good(), "--db_conninfo_file=", Path("conninfo"), "\n")),
              1);
    EXPECT_THAT(said_.str(), HasSubstr("--db_conninfo must not be given beside"));
  }
}

// libpq quotes the word that it does not understand, which may be the password's second.
TEST_F(CheckConfigTest, NoPartOfAPasswordIsTold) {
  for (const char* conninfo :
       {"host=db password=correct horse-battery", "host=db password=correct horse-battery=staple",
        "host=db sslpassword = correct horse-battery",
        " postgresql://muster:horse-battery@db/muster",
        "host=db  postgresql://muster:horse-battery@db/muster"}) {
    std::ofstream(Path("conninfo")) << conninfo << "\n";
    const std::string file = absl::StrCat("--db_conninfo_file=", Path("conninfo"), "\n");
    const std::string migrations =
        absl::StrCat("--migrations_dir=", std::getenv("MUSTER_MIGRATIONS"), "\n");
    EXPECT_EQ(Check("serve", absl::StrCat("--services=quota\n", migrations, file)), 1);
    EXPECT_THAT(said_.str(), HasSubstr("it.flags:3: --db_conninfo_file "));
    EXPECT_THAT(said_.str(), Not(HasSubstr("horse-battery")));
    EXPECT_EQ(Check("migrate", absl::StrCat(migrations, file)), 1);
    EXPECT_THAT(said_.str(), Not(HasSubstr("horse-battery")));
    // Nor where the database would be asked.
    const absl::FlagSaver flags;
    std::string ignored;
    ASSERT_TRUE(
        absl::FindCommandLineFlag("db_conninfo_file")->ParseFrom(Path("conninfo"), &ignored));
    const absl::Status migrated = RunMigrate(said_);
    EXPECT_EQ(migrated.code(), absl::StatusCode::kInvalidArgument) << conninfo;
    EXPECT_THAT(error::ForOperators(migrated), Not(HasSubstr("horse-battery")));
  }
  // What cannot be a secret is said as libpq says it.
  EXPECT_EQ(Check("migrate", "--db_conninfo=dbname=muster hots=db\n"), 1);
  EXPECT_THAT(said_.str(), HasSubstr("--db_conninfo is no connection string: invalid connection "
                                     "option \"hots\""));
}

// The service's role is appended: it would become the password, and the process's own user the
// role.
TEST_F(CheckConfigTest, AConninfoDoesNotSwallowTheRole) {
  const std::string rest =
      absl::StrCat("\n--migrations_dir=", std::getenv("MUSTER_MIGRATIONS"), "\n--services=quota\n");
  for (const char* conninfo :
       {"dbname=muster password=", "dbname=muster passfile =", "dbname=muster\\"}) {
    for (const char* verb : {"serve", "migrate"}) {
      EXPECT_EQ(Check(verb, absl::StrCat("--db_conninfo=", conninfo, rest)), 1) << conninfo;
      EXPECT_THAT(said_.str(), HasSubstr("it.flags:1: --db_conninfo ends with an empty value"));
    }
  }
  EXPECT_EQ(Check("serve", absl::StrCat("--db_conninfo=dbname=muster password=''", rest)), 0)
      << said_.str();
}

// Ours would take their place: a role that they set would not be the one that owns the schemas.
TEST_F(CheckConfigTest, OptionsOfSessionsAreNotForTheConninfo) {
  const std::string rest =
      absl::StrCat("\n--migrations_dir=", std::getenv("MUSTER_MIGRATIONS"), "\n--services=quota\n");
  for (const char* verb : {"serve", "migrate"}) {
    EXPECT_EQ(
        Check(verb, absl::StrCat("--db_conninfo=dbname=muster options='-c role=muster'", rest)), 1);
    EXPECT_THAT(said_.str(), HasSubstr("it.flags:1: --db_conninfo must not have `options`"));
  }
}

TEST_F(CheckConfigTest, MigrateWantsADatabaseAndNoServices) {
  EXPECT_EQ(
      Check("migrate", absl::StrCat("--migrations_dir=", std::getenv("MUSTER_MIGRATIONS"), "\n")),
      1);
  EXPECT_EQ(said_.str(), "--db_conninfo or --db_conninfo_file is required.\n");
}

TEST_F(CheckConfigTest, WhatMigrateRefusesIsNoGoodFileOfIts) {
  EXPECT_EQ(Check("migrate", Good() + "--dry_run\n--status\n"), 1);
  EXPECT_THAT(said_.str(), HasSubstr(":4: --dry_run cannot be given together with --status.\n"));
  EXPECT_EQ(Check("migrate", Good() + "--new_history\n--status\n"), 1);
  EXPECT_THAT(said_.str(), HasSubstr(":4: --new_history cannot be given together with"));
  EXPECT_EQ(Check("migrate", Good() + "--schemas=quota\n"), 1);
  EXPECT_THAT(said_.str(), HasSubstr(":4: --schemas is for --new_history only.\n"));
  EXPECT_EQ(Check("migrate", Good() + "--schemas=quota\n--new_history\n"), 0) << said_.str();
}

// --help shows the default of every flag by itself; in what its number is counted, and what is
// allowed, the flag's text must say.
TEST(Help, EveryNumberSaysWhatIsAllowed) {
  int numbers = 0;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (!absl::StrContains(flag->Filename(), "services/")) continue;
    EXPECT_NE(flag->Help(), "") << name;
    if (!flag->IsOfType<int>() && !flag->IsOfType<int64_t>() && !flag->IsOfType<double>()) continue;
    ++numbers;
    EXPECT_TRUE(std::regex_search(flag->Help(), std::regex("[0-9]+ to [0-9]+|[Aa]t least [0-9]+")))
        << name << ": " << flag->Help();
  }
  EXPECT_GT(numbers, 5);
}

// What is called by a name without it is taken for alone, also while it says NOT_SERVING.
TEST(Help, SaysHowReplicasAreCalled) {
  for (const char* name : {"quota_address", "capacity_address", "configuration_address"})
    EXPECT_THAT(absl::FindCommandLineFlag(name)->Help(), HasSubstr("dns:///host:port")) << name;
}

TEST(Help, SaysTheBoundsThatAreChecked) {
  const std::vector<Range> ranges = RangesOfFlags();
  EXPECT_GT(ranges.size(), 30u);
  for (const Range& range : ranges) {
    const absl::CommandLineFlag* const flag = absl::FindCommandLineFlag(range.flag.substr(2));
    ASSERT_NE(flag, nullptr) << range.flag;
    EXPECT_THAT(flag->Help(),
                ContainsRegex(absl::StrCat("(^|[ ;])", range.allowed, "([^0-9a-z]|$)")))
        << range.flag;
  }
}

}  // namespace
}  // namespace muster::musterd
