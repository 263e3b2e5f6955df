#include "services/common/log_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "services/common/append_file.h"
#include "services/common/log.h"
#include "services/common/log_writer.h"
#include "tests/testing/patience.h"
#include "tests/testing/temp_folder.h"

namespace muster::log {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LogOutputTest : public ::testing::Test, protected muster::testing::TempFolder {
 protected:
  ~LogOutputTest() override {
    CloseOutput();
    internal::g_writer = nullptr;  // other tests log to stderr
  }
};

TEST_F(LogOutputTest, WritesAllLinesOfAllThreads) {
  ASSERT_TRUE(OpenOutput(Path("log")).ok());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) Info("line", {{"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  CloseOutput();
  const std::string text = Text("log");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2000);
  EXPECT_EQ(TheOutputStats().lines, 2000);
  EXPECT_EQ(TheOutputStats().left_out, 0);
  struct stat about {};
  ASSERT_EQ(stat(Path("log").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07, 0u) << "others may read it";
}

TEST_F(LogOutputTest, AfterTheEndLinesAreWrittenAtOnce) {
  ASSERT_TRUE(OpenOutput(Path("log")).ok());
  CloseOutput();
  Info("late");
  EXPECT_THAT(Text("log"), HasSubstr("late"));
}

TEST_F(LogOutputTest, ARotatedFileIsLeftForTheNewOne) {
  ASSERT_TRUE(OpenOutput(Path("log")).ok());
  Info("before");
  std::filesystem::rename(Path("log"), Path("log.1"));
  ASSERT_TRUE(ReopenOutput().ok());
  Info("after");
  CloseOutput();
  EXPECT_THAT(Text("log.1") + Text("log"), HasSubstr("before"));
  EXPECT_THAT(Text("log.1"), Not(HasSubstr("after")));
  EXPECT_THAT(Text("log"), HasSubstr("after"));
}

TEST_F(LogOutputTest, AFileThatCannotBeOpenedAnewIsToldAndTheOldOneGoesOn) {
  std::filesystem::create_directory(Path("dir"));
  ASSERT_TRUE(OpenOutput(Path("dir/log")).ok());
  std::filesystem::rename(Path("dir"), Path("moved"));
  EXPECT_EQ(ReopenOutput().code(), absl::StatusCode::kUnavailable);
  Info("goes on");
  CloseOutput();
  EXPECT_THAT(Text("moved/log"), HasSubstr("goes on"));
}

TEST_F(LogOutputTest, AFileThatCannotBeOpenedIsRefused) {
  const absl::Status status = OpenOutput(Path("nowhere/log"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--log_file"));
}

// A pipe that nobody reads holds nobody up: what does not fit is counted, and told of. The disk is
// full in the midst of a line: the next ones are whole, and what is there is not counted.
TEST(AppendFile, ALineThatWasWrittenInPartIsEndedBeforeTheNext) {
  const muster::testing::TempFolder folder;
  AppendFile file(folder.Path("log"));
  ASSERT_TRUE(file.Open().ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit few = {.rlim_cur = 10, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
  const absl::string_view rest = file.Write("first\nsecond\n");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(rest, "nd\n");
  EXPECT_EQ(file.Write("third\n"), "");
  std::ifstream in(folder.Path("log"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "first\nseco\nthird\n");

  // What is torn stays in the old file.
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
  EXPECT_NE(file.Write("torn"), "");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::filesystem::rename(folder.Path("log"), folder.Path("log.1"));
  ASSERT_TRUE(file.Open().ok());
  EXPECT_EQ(file.Write("fourth\n"), "");
  std::ifstream again(folder.Path("log"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(again), {}), "fourth\n");
}

// Who hangs up a program is not to hang with its log: the next signal may be to end it.
TEST(AppendFile, AWriteThatHangsKeepsNobodyFromOpeningAnew) {
  std::signal(SIGPIPE, SIG_IGN);
  const muster::testing::TempFolder folder;
  ASSERT_EQ(mkfifo(folder.Path("log").c_str(), 0600), 0);
  AppendFile file(folder.Path("log"));
  EXPECT_EQ(file.Open().code(), absl::StatusCode::kUnavailable) << "nobody reads it";
  const int reader = open(folder.Path("log").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(file.Open().ok());
  const auto size = 2 * static_cast<size_t>(fcntl(reader, F_GETPIPE_SZ));
  auto writes = std::async(std::launch::async, [&] { file.Write(std::string(size, 'x')); });
  muster::testing::Until(
      [&] {
        int written = 0;
        return ioctl(reader, FIONREAD, &written) == 0 && written > 0;
      },
      "a write that hangs");
  std::filesystem::rename(folder.Path("log"), folder.Path("log.1"));
  auto opened = std::async(std::launch::async, [&] { return file.Open(); });
  EXPECT_EQ(opened.wait_for(muster::testing::kPatience), std::future_status::ready);
  close(reader);  // the write ends, in vain
  writes.get();
  EXPECT_TRUE(opened.get().ok());
  EXPECT_EQ(file.Write("after\n"), "");
  EXPECT_EQ(folder.Text("log"), "after\n");
}

TEST_F(LogOutputTest, WhatComesFasterThanItIsReadIsLeftOutAndCounted) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(OpenOutput(Path("pipe")).ok());
  const std::string text(kMaxTextBytes, 'x');
  // The pipe takes a few lines, the thread holds as much as may wait, and so may wait again.
  const size_t lines = 3 * kMaxWaitingBytes / kMaxTextBytes;
  for (size_t i = 0; i < lines; ++i) Info("long", {{"text", text}});
  const int64_t left_out = TheOutputStats().left_out;
  EXPECT_GT(left_out, 0);
  EXPECT_LT(left_out, static_cast<int64_t>(lines));
  // Read all of it, so that it can end.
  fcntl(reader, F_SETFL, 0);
  std::string read_text;
  std::thread reading([&] {
    std::string buffer(1 << 16, '\0');
    ssize_t size = 0;
    while ((size = read(reader, buffer.data(), buffer.size())) > 0)
      read_text.append(buffer, 0, static_cast<size_t>(size));
  });
  Info("the end");
  CloseOutput();
  // The writer goes, and with it the pipe's other end.
  std::filesystem::remove(Path("pipe"));
  ASSERT_EQ(ReopenOutput().code(), absl::StatusCode::kOk);
  reading.join();
  close(reader);
  EXPECT_THAT(read_text, HasSubstr("log lines were left out"));
  EXPECT_THAT(read_text, HasSubstr("the end"));
}

// As when the reader of a container's stderr hangs: SIGTERM is to end it all the same.
TEST_F(LogOutputTest, APipeThatNobodyReadsKeepsNoProgramFromItsEnd) {
  std::signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(OpenOutput(Path("pipe")).ok());
  const std::string text(kMaxTextBytes, 'x');
  const auto room = static_cast<size_t>(fcntl(reader, F_GETPIPE_SZ));
  for (size_t i = 0; i < 2 * room / text.size() + 2; ++i) Info("long", {{"text", text}});
  CloseOutput(absl::Milliseconds(1));
  const int64_t left_out = TheOutputStats().left_out;
  Info("late");
  EXPECT_EQ(TheOutputStats().left_out, left_out + 1);
  close(reader);  // the thread ends its write, in vain
}

}  // namespace
}  // namespace muster::log
