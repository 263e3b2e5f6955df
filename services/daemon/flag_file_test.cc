#include "services/daemon/flag_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "services/daemon/flags.h"
#include "tests/testing/temp_folder.h"

ABSL_DECLARE_FLAG(std::string, log_level);
ABSL_DECLARE_FLAG(std::string, log_file);
ABSL_DECLARE_FLAG(double, trace_sample);

namespace muster::daemon {
namespace {

using ::testing::HasSubstr;

class FlagFileTest : public ::testing::Test, protected muster::testing::TempFolder {
 protected:
  // What `check-config` says of a file with that text, where the flags must be good for
  // OptionsFromFlags.
  int Check(const std::string& text) {
    std::ofstream(Path("it.flags")) << text;
    said_.str("");
    return CheckConfig(
        {Path("it.flags")}, [] { return OptionsFromFlags().status(); }, said_);
  }
  std::string Place(int line) const { return Path("it.flags") + ":" + std::to_string(line) + ": "; }

  std::ostringstream said_;
  const absl::FlagSaver flags_;
};

TEST_F(FlagFileTest, SetsWhatItReads) {
  EXPECT_EQ(Check("# A comment.\n\n  --log_level=warning\n--trace_sample=0.5\n--log_file=/a=b"), 0);
  EXPECT_EQ(said_.str(), "good\n");
  EXPECT_EQ(absl::GetFlag(FLAGS_log_level), "warning");
  EXPECT_EQ(absl::GetFlag(FLAGS_log_file), "/a=b");
  EXPECT_EQ(absl::GetFlag(FLAGS_trace_sample), 0.5);
}

TEST_F(FlagFileTest, TellsEveryFaultWithItsLine) {
  EXPECT_EQ(Check("log_level=info\n--log_levle=info\n--trace_sample=half\n--log_file\n/var/log/x\n"
                  "--trace_file=/x \n--log_level=info\n--log_level=debug\n--flagfile=/other\n"),
            1);
  EXPECT_EQ(said_.str(),
            Place(1) + "log_level must be --flag=value, or begin with #.\n" + Place(2) +
                "--log_levle is no flag; is --log_level meant?\n" + Place(3) +
                "--trace_sample is \"half\"; allowed is a number.\n" + Place(4) +
                "--log_file must have a value, as --flag=value.\n" + Place(5) +
                "/var/log/x must be --flag=value, or begin with #.\n" + Place(6) +
                "--trace_file ends with white space, which would be part of its value.\n" +
                Place(8) + "--log_level was given before, at " + Path("it.flags") + ":7.\n" +
                Place(9) + "--flagfile is no flag that can stand in a file; --help shows all.\n");
}

TEST_F(FlagFileTest, TellsWhereTheFlagIsWhoseValueIsRefused) {
  EXPECT_EQ(Check("\n--log_level=loud\n--trace_sample=2\n"), 1);
  EXPECT_EQ(said_.str(), Place(2) +
                             "--log_level is \"loud\"; allowed are debug, info, warning, error.\n" +
                             Place(3) + "--trace_sample must be between 0 and 1.\n");
}

TEST_F(FlagFileTest, AFileThatIsNotThereIsAFault) {
  EXPECT_EQ(CheckConfig(
                {Path("nowhere")}, [] { return absl::OkStatus(); }, said_),
            1);
  EXPECT_EQ(said_.str(), Path("nowhere") + " cannot be read.\n");
}

TEST_F(FlagFileTest, VersionNamesReleaseCommitAndBuild) {
  EXPECT_THAT(VersionText(),
              ::testing::MatchesRegex(
                  "daemon_test [0-9]+\\.[0-9]+\\.[0-9]+, commit [^ ,]+, [A-Za-z]+ build\n"));
}

}  // namespace
}  // namespace muster::daemon
