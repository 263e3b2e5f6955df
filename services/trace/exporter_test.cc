#include "services/trace/exporter.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_split.h"
#include "tests/testing/patience.h"
#include "tests/testing/temp_folder.h"

namespace muster::trace {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Span Named(const std::string& name) {
  Span span{.name = name, .context = TraceContext::New()};
  span.context.flags = TraceContext::kSampled;
  return span;
}

std::vector<std::string> NamesIn(const std::string& request) {
  std::vector<std::string> names;
  const json parsed = json::parse(request);
  for (const json& span : parsed["resourceSpans"][0]["scopeSpans"][0]["spans"])
    names.push_back(span["name"]);
  return names;
}

class ExporterTest : public ::testing::Test, protected muster::testing::TempFolder {
 protected:
  std::vector<std::string> LinesOf(const std::string& name) const {
    return absl::StrSplit(Text(name), '\n', absl::SkipEmpty());
  }

  const int64_t sent_ = TheCounts().sent;
  const int64_t left_out_ = TheCounts().left_out;
};

// A collector that answers with `code`s, in their order, the last for ever.
class FakeCollector {
 public:
  explicit FakeCollector(std::vector<int> codes) : codes_(std::move(codes)) {
    server_.Post("/v1/traces",
                 [this](const httplib::Request& request, httplib::Response& response) {
                   MutexLock lock(mutex_);
                   response.status = codes_[std::min(requests_.size(), codes_.size() - 1)];
                   requests_.push_back(request.body);
                   types_.push_back(request.get_header_value("Content-Type"));
                 });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~FakeCollector() {
    server_.stop();
    thread_.join();
  }
  std::string endpoint() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/v1/traces";
  }
  std::vector<std::string> requests() {
    MutexLock lock(mutex_);
    return requests_;
  }
  std::vector<std::string> types() {
    MutexLock lock(mutex_);
    return types_;
  }

 private:
  httplib::Server server_;
  int port_ = 0;
  Mutex mutex_;
  std::vector<int> codes_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> requests_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> types_ MUSTER_GUARDED_BY(mutex_);
  std::thread thread_;
};

TEST_F(ExporterTest, AtItsEndEverythingIsInTheFile) {
  auto exporter = Exporter::Create({.service = {.name = "test"}, .file = Path("spans")});
  ASSERT_TRUE(exporter.ok()) << exporter.status();
  (*exporter)->Record(Named("one"));
  (*exporter)->Record(Named("two"));
  exporter->reset();
  std::vector<std::string> names;
  for (const std::string& line : LinesOf("spans")) {
    for (const std::string& name : NamesIn(line)) names.push_back(name);
  }
  EXPECT_THAT(names, ElementsAre("one", "two"));
  EXPECT_EQ(TheCounts().sent - sent_, 2);
}

TEST_F(ExporterTest, ARotatedFileIsLeftForTheNewOne) {
  auto exporter = Exporter::Create({.file = Path("spans")});
  ASSERT_TRUE(exporter.ok());
  std::filesystem::rename(Path("spans"), Path("spans.1"));
  ASSERT_TRUE((*exporter)->ReopenFile().ok());
  (*exporter)->Record(Named("after"));
  exporter->reset();
  EXPECT_TRUE(LinesOf("spans.1").empty());
  EXPECT_EQ(LinesOf("spans").size(), 1u);
}

TEST_F(ExporterTest, AFileThatCannotBeWrittenIsRefused) {
  EXPECT_EQ(Exporter::Create({.file = Path("nowhere/spans")}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ExporterTest, AFileThatHangsHoldsUpNoEnd) {
  std::signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(mkfifo(Path("spans").c_str(), 0600), 0);
  const int reader = open(Path("spans").c_str(), O_RDONLY | O_NONBLOCK);
  auto exporter = Exporter::Create({.file = Path("spans"),
                                    .interval = absl::Milliseconds(1),
                                    .farewell = absl::Milliseconds(1)});
  ASSERT_TRUE(exporter.ok());
  (*exporter)->Record(
      Named(std::string(2 * static_cast<size_t>(fcntl(reader, F_GETPIPE_SZ)), 'x')));
  muster::testing::Until(
      [&] {
        int written = 0;
        return ioctl(reader, FIONREAD, &written) == 0 && written > 0;
      },
      "a write that hangs");
  auto stopped = std::async(std::launch::async, [&] { (*exporter)->Stop(); });
  EXPECT_EQ(stopped.wait_for(muster::testing::kPatience), std::future_status::ready);
  close(reader);  // the thread ends its write, in vain
}

TEST_F(ExporterTest, GoesToACollector) {
  FakeCollector collector({200});
  auto exporter = Exporter::Create({.endpoint = collector.endpoint(),
                                    .timeout = absl::Minutes(1),
                                    .farewell = absl::Minutes(1)});
  ASSERT_TRUE(exporter.ok());
  (*exporter)->Record(Named("one"));
  exporter->reset();
  ASSERT_EQ(collector.requests().size(), 1u);
  EXPECT_THAT(NamesIn(collector.requests()[0]), ElementsAre("one"));
  EXPECT_THAT(collector.types(), ElementsAre("application/json"));
}

TEST_F(ExporterTest, WhatABusyCollectorRefusesIsSentAgain) {
  FakeCollector collector({503, 429, 200});
  auto exporter = Exporter::Create({.endpoint = collector.endpoint(),
                                    .timeout = absl::Minutes(1),
                                    .pause = absl::Milliseconds(1),
                                    .farewell = absl::Minutes(1)});
  ASSERT_TRUE(exporter.ok());
  (*exporter)->Record(Named("one"));
  exporter->reset();
  EXPECT_EQ(collector.requests().size(), 3u);
  EXPECT_EQ(TheCounts().sent - sent_, 1);
  EXPECT_EQ(TheCounts().left_out - left_out_, 0);
}

// An hour goes by whenever it is looked at.
class LeapingClock final : public SteadyClock {
 public:
  absl::Duration Now() const override { return absl::Hours(++looks_); }

 private:
  mutable std::atomic<int> looks_ = 0;
};

TEST_F(ExporterTest, PausesGoByTheSteadyClock) {
  FakeCollector collector({503, 200});
  const LeapingClock clock;
  auto exporter = Exporter::Create({.endpoint = collector.endpoint(),
                                    .timeout = absl::Minutes(1),
                                    .pause = absl::Hours(1),
                                    .farewell = absl::InfiniteDuration(),
                                    .clock = &clock});
  ASSERT_TRUE(exporter.ok());
  (*exporter)->Record(Named("one"));
  while (collector.requests().size() < 2) std::this_thread::yield();
  exporter->reset();
  EXPECT_EQ(TheCounts().sent - sent_, 1);
}

TEST_F(ExporterTest, WhatIsWrongForTheCollectorIsLeftOutAndCounted) {
  FakeCollector collector({400});
  auto exporter = Exporter::Create({.endpoint = collector.endpoint(),
                                    .timeout = absl::Minutes(1),
                                    .farewell = absl::Minutes(1)});
  ASSERT_TRUE(exporter.ok());
  (*exporter)->Record(Named("one"));
  exporter->reset();
  EXPECT_EQ(collector.requests().size(), 1u);
  EXPECT_EQ(TheCounts().left_out - left_out_, 1);
}

TEST_F(ExporterTest, WhoWeAreToTheCollectorIsNotLogged) {
  FakeCollector collector({400, 200});
  const std::string address = collector.endpoint().substr(std::string("http://").size());
  ::testing::internal::CaptureStderr();
  {
    auto exporter = Exporter::Create({.endpoint = "http://tenant:hush@" + address + "?key=hush",
                                      .interval = absl::Milliseconds(1),
                                      .timeout = absl::Minutes(1),
                                      .farewell = absl::Minutes(1)});
    if (exporter.ok()) {
      (*exporter)->Record(Named("one"));
      while (collector.requests().empty()) std::this_thread::yield();
      (*exporter)->Record(Named("two"));
    }
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(collector.requests().size(), 2u);
  EXPECT_THAT(said, HasSubstr("spans are not taken"));
  EXPECT_THAT(said, HasSubstr("spans are taken again"));
  EXPECT_THAT(said, HasSubstr("127.0.0.1:"));
  EXPECT_THAT(said, Not(AnyOf(HasSubstr("hush"), HasSubstr("tenant"))));
}

TEST_F(ExporterTest, ACollectorThatTakesNothingKeepsNothingFromTheFile) {
  FakeCollector collector({503});
  auto exporter = Exporter::Create({.file = Path("spans"),
                                    .endpoint = collector.endpoint(),
                                    .interval = absl::Milliseconds(1),
                                    .pause = absl::Hours(1)});
  ASSERT_TRUE(exporter.ok());
  (*exporter)->Record(Named("one"));
  while (collector.requests().empty()) std::this_thread::yield();
  // More than a batch: it wakes the thread, and ends no pause.
  for (int i = 0; i < 600; ++i) (*exporter)->Record(Named("many"));
  EXPECT_EQ(collector.requests().size(), 1u);
  exporter->reset();
  size_t names = 0;
  for (const std::string& line : LinesOf("spans")) names += NamesIn(line).size();
  EXPECT_EQ(names, 601u);
  EXPECT_EQ(TheCounts().sent - sent_, 601);
  EXPECT_EQ(TheCounts().left_out - left_out_, 0);
}

TEST_F(ExporterTest, ACollectorThatIsAwayHoldsNobodyUp) {
  std::string endpoint;
  {
    const FakeCollector gone({200});
    endpoint = gone.endpoint();
  }
  auto exporter =
      Exporter::Create({.endpoint = endpoint, .max_waiting = 10, .pause = absl::Hours(1)});
  ASSERT_TRUE(exporter.ok());
  for (int i = 0; i < 10'000; ++i) (*exporter)->Record(Named("many"));
  exporter->reset();
  EXPECT_EQ(TheCounts().left_out - left_out_, 10'000);
}

}  // namespace
}  // namespace muster::trace
