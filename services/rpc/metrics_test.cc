#include "services/rpc/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/metric_family.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/steady_clock.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  return fd;
}

// What a scraper gets.
std::string Scrape(int port, const std::string& header = "") {
  const int fd = Connect(port);
  const std::string request = "GET /metrics HTTP/1.0\r\n" + header + "\r\n";
  EXPECT_EQ(send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t size = 0; (size = recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(size));
  }
  close(fd);
  return answer;
}

double ValueOf(const std::string& text, const std::string& name) {
  for (const auto line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() == 2 && words[0] == name) return std::stod(words[1]);
  }
  ADD_FAILURE() << "no " << name;
  return -1;
}

// A gauge made at scrape time.
class Snapshot final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    return {Gauge("muster_test_answer", "The answer.", 42)};
  }
};

std::vector<std::pair<std::string, double>> CodesOf(const prometheus::MetricFamily& handled) {
  std::vector<std::pair<std::string, double>> codes;
  for (const auto& metric : handled.metric)
    codes.emplace_back(metric.label.back().value, metric.counter.value);
  return codes;
}

TEST(MetricsTest, AreServedOverHttp) {
  Metrics metrics;
  metrics.server().Add("/some.Service/Method", MethodMetrics::Type::kUnary)->Started();
  prometheus::BuildCounter()
      .Name("muster_test_total")
      .Help("x")
      .Register(metrics.registry())
      .Add({})
      .Increment(3);
  metrics.Add(std::make_shared<Snapshot>());
  const auto endpoint = MetricsEndpoint::Create(metrics, "127.0.0.1:0");
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  const std::string page = Scrape((*endpoint)->port());
  EXPECT_THAT(page, HasSubstr("200 OK"));
  EXPECT_THAT(page, HasSubstr("muster_test_total 3"));
  EXPECT_THAT(page, HasSubstr("muster_test_answer 42"));
  EXPECT_THAT(page, HasSubstr("process_open_fds"));
  EXPECT_THAT(page, HasSubstr("\nmuster_build_info{version="));
  EXPECT_THAT(
      page,
      HasSubstr(
          R"(grpc_server_started_total{grpc_type="unary",grpc_service="some.Service",grpc_method="Method"} 1)"));
}

// A name of somebody else's may lead a browser here, which then takes us for that site and reads
// the answer to it.
TEST(MetricsTest, OnLoopbackTheyAreToldUnderNoOtherName) {
  Metrics metrics;
  const auto here = MetricsEndpoint::Create(metrics, "127.0.0.1:0");
  ASSERT_TRUE(here.ok()) << here.status();
  for (const char* host : {"localhost:7601", "127.0.0.1:7601", "[::1]:7601"}) {
    EXPECT_THAT(Scrape((*here)->port(), absl::StrCat("Host: ", host, "\r\n")),
                HasSubstr("muster_build_info"));
  }
  const std::string refused = Scrape((*here)->port(), "Host: evil.example:7601\r\n");
  EXPECT_THAT(refused, HasSubstr(" 421 "));
  EXPECT_THAT(refused, Not(HasSubstr("muster_build_info")));
  // Who scrapes from elsewhere may know it by whatever name.
  const auto everywhere = MetricsEndpoint::Create(metrics, "0.0.0.0:0");
  ASSERT_TRUE(everywhere.ok()) << everywhere.status();
  EXPECT_THAT(Scrape((*everywhere)->port(), "Host: muster.example:7601\r\n"),
              HasSubstr("muster_build_info"));
}

// Each of the threads that serve waits for the end of a request.
TEST(MetricsTest, HalfRequestsKeepNobodyOut) {
  Metrics metrics;
  const auto endpoint = MetricsEndpoint::Create(metrics, "127.0.0.1:0");
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  std::vector<int> halves;
  for (int i = 0; i < 20; ++i) {
    halves.push_back(Connect((*endpoint)->port()));
    ASSERT_EQ(send(halves.back(), "GET /met", 8, 0), 8);
  }
  EXPECT_THAT(Scrape((*endpoint)->port()), HasSubstr("200 OK"));
  for (const int half : halves) close(half);
}

TEST(MetricsTest, AnAddressThatCannotBeBoundIsAnError) {
  Metrics metrics;
  const auto first = MetricsEndpoint::Create(metrics, "127.0.0.1:0");
  ASSERT_TRUE(first.ok());
  const auto second =
      MetricsEndpoint::Create(metrics, absl::StrCat("127.0.0.1:", (*first)->port()));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
}

TEST(MetricsTest, DescribeTheProcess) {
  Metrics metrics;
  const std::string text = metrics.Text();
  EXPECT_GT(ValueOf(text, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(ValueOf(text, "process_virtual_memory_bytes"),
            ValueOf(text, "process_resident_memory_bytes"));
  EXPECT_GE(ValueOf(text, "process_cpu_seconds_total"), 0);
  EXPECT_GT(ValueOf(text, "process_max_fds"), ValueOf(text, "process_open_fds"));
  EXPECT_GT(ValueOf(text, "process_start_time_seconds"), 1.7e9);
  const double before = ValueOf(metrics.Text(), "process_open_fds");
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(ValueOf(metrics.Text(), "process_open_fds"), before + 1);
  close(fd);
}

TEST(ServerMetricsTest, CountsByCodeAndBucket) {
  ServerMetrics metrics;
  MethodMetrics* method = metrics.Add("/p.S/M", MethodMetrics::Type::kServerStream);
  EXPECT_EQ(metrics.Add("/p.S/M", MethodMetrics::Type::kServerStream), method);
  method->Handled(grpc::StatusCode::OK, absl::Milliseconds(5));
  method->Handled(grpc::StatusCode::OK, absl::Milliseconds(6));
  method->Handled(grpc::StatusCode::UNAUTHENTICATED, absl::Seconds(11));
  method->Handled(grpc::StatusCode::DO_NOT_USE, absl::ZeroDuration());
  const auto families = metrics.Collect();
  ASSERT_EQ(families.size(), 7u);
  const auto& histogram = families[4].metric[0].histogram;
  ASSERT_EQ(histogram.bucket.size(), 16u);
  EXPECT_EQ(histogram.bucket[0].cumulative_count, 1u);
  EXPECT_EQ(histogram.bucket[3].cumulative_count, 1u);
  EXPECT_EQ(histogram.bucket[4].cumulative_count, 2u);  // 5 ms belong to le="0.005"
  EXPECT_EQ(histogram.bucket[5].cumulative_count, 3u);
  EXPECT_EQ(histogram.bucket[14].cumulative_count, 3u);
  EXPECT_EQ(histogram.bucket[15].cumulative_count, 4u);
  EXPECT_EQ(histogram.sample_count, 4u);
  EXPECT_NEAR(histogram.sample_sum, 11.011, 1e-9);
  EXPECT_THAT(CodesOf(families[1]),
              ElementsAre(Pair("OK", 2), Pair("Unknown", 1),  // what is no code is Unknown
                          Pair("Unavailable", 0), Pair("Unauthenticated", 1)));
}

// Dashboards count with these, and the error budget: a rate sees nothing of a series that begins
// with failures. The rest would be more than a thousand series of nothing.
TEST(ServerMetricsTest, OfAMethodThatNobodyCalledThereIsWhatDashboardsNeed) {
  ServerMetrics metrics;
  metrics.Add("/p.S/M", MethodMetrics::Type::kUnary);
  const auto families = metrics.Collect();
  EXPECT_EQ(families[0].metric.size(), 1u);
  EXPECT_THAT(
      CodesOf(families[1]),
      UnorderedElementsAre(Pair("OK", 0), Pair("Internal", 0), Pair("Unavailable", 0),
                           Pair("Unknown", 0), Pair("DataLoss", 0), Pair("DeadlineExceeded", 0)));
  EXPECT_EQ(families[4].metric.size(), 0u);
}

// Streams are not in the budget.
TEST(ServerMetricsTest, OfAWatchThatNobodyCalledThereAreTwo) {
  ServerMetrics metrics;
  metrics.Add("/p.S/W", MethodMetrics::Type::kServerStream);
  EXPECT_THAT(CodesOf(metrics.Collect()[1]), ElementsAre(Pair("OK", 0), Pair("Unavailable", 0)));
}

TEST(HistogramTest, CallsHaveTheBucketsThatDashboardsAskFor) {
  for (double bound : {.005, .01, .025, .05, .1, .25, .5, 1., 2.5, 5., 10.})
    EXPECT_THAT(kCallBuckets, Contains(bound));
}

// Who does not read sees what was long ago, and nobody else would tell.
TEST(ServerMetricsTest, AWatchWhoseReaderTakesNothingIsLate) {
  ServerMetrics metrics;
  metrics.Add("/p.S/M", MethodMetrics::Type::kUnary);
  MethodMetrics* const watch = metrics.Add("/p.S/W", MethodMetrics::Type::kServerStream);
  const auto seen = [&] {
    const auto families = metrics.Collect();
    EXPECT_EQ(families[5].metric.size(), 1u) << "of watches only";
    EXPECT_EQ(families[5].metric[0].label.size(), 2u);
    return std::pair(families[5].metric[0].gauge.value, families[6].metric[0].gauge.value);
  };
  EXPECT_THAT(seen(), Pair(0, 0));
  const absl::Duration now = TheSteadyClock()->Now();
  std::optional<OpenWrites::Stream> stalled(std::in_place, &watch->writes());
  OpenWrites::Stream quick(&watch->writes());
  stalled->Began(now - kLateReader);
  quick.Began(now + absl::Hours(1));
  EXPECT_THAT(seen(), Pair(1, ::testing::Ge(absl::ToDoubleSeconds(kLateReader))));
  stalled->Ended();
  EXPECT_THAT(seen(), Pair(0, 0)) << "the other takes what it is sent";
  stalled->Began(now - absl::Hours(1));
  stalled.reset();
  quick.Ended();
  EXPECT_THAT(seen(), Pair(0, 0)) << "the stream has ended";
}

TEST(MetricFamilyTest, AHistogramCountsWhatItIsTold) {
  static constexpr double kBounds[] = {1, 10};
  Histogram histogram(kBounds);
  EXPECT_TRUE(histogram.empty());
  histogram.Observe(absl::Seconds(1));
  histogram.Observe(absl::Seconds(2));
  histogram.Observe(-absl::Seconds(5));
  histogram.Observe(absl::Hours(1));
  EXPECT_FALSE(histogram.empty());
  prometheus::MetricFamily family = Histograms("some_seconds", "Some.");
  histogram.AddTo(family, {{"of", "it"}});
  const auto& metric = family.metric.front();
  EXPECT_EQ(metric.label.front().value, "it");
  ASSERT_EQ(metric.histogram.bucket.size(), 3u);
  EXPECT_EQ(metric.histogram.bucket[0].cumulative_count, 2u);
  EXPECT_EQ(metric.histogram.bucket[1].cumulative_count, 3u);
  EXPECT_EQ(metric.histogram.sample_count, 4u);
  EXPECT_DOUBLE_EQ(metric.histogram.sample_sum, 3603);
}

}  // namespace
}  // namespace muster::rpc
