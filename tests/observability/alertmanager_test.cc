// What fires in Debian's Prometheus with our rules reaches people through Debian's Alertmanager
// with our routes, both sixty times as fast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/observability/alertmanager_process.h"
#include "tests/observability/fault_drill.h"
#include "tests/observability/prometheus_process.h"
#include "tests/testing/patience.h"
#include "tests/testing/reserved_port.h"

namespace muster::testing {
namespace {

using ::testing::Contains;
using ::testing::Not;

// A server of this process, until the end of the test.
class HttpServer {
 public:
  explicit HttpServer(int port = 0) {
    port_ = port == 0 ? server.bind_to_any_port("127.0.0.1") : port;
    if (port != 0 && !server.bind_to_port("127.0.0.1", port)) throw std::runtime_error("no port");
  }
  void Listen() {
    thread_ = std::thread([this] { server.listen_after_bind(); });
  }
  ~HttpServer() {
    server.stop();
    if (thread_.joinable()) thread_.join();
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  httplib::Server server;

 private:
  int port_ = 0;
  std::thread thread_;
};

// Who is told: `page: firing MusterDown`.
class Receiver {
 public:
  Receiver() {
    for (const std::string name : {"page", "ticket"}) {
      http_.server.Post(absl::StrCat("/", name), [this, name](const httplib::Request& request,
                                                              httplib::Response&) {
        const auto told = nlohmann::json::parse(request.body);
        const std::lock_guard lock(mutex_);
        told_.push_back(absl::StrCat(name, ": ", told["status"].get<std::string>(), " ",
                                     told["groupLabels"]["alertname"].get<std::string>()));
      });
    }
    http_.Listen();
  }
  std::string address() const { return http_.address(); }
  std::vector<std::string> told() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  bool WasTold(const std::string& what) const {
    const std::vector<std::string> all = told();
    return std::find(all.begin(), all.end(), what) != all.end();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> told_;
  HttpServer http_;
};

TEST(Alertmanager, APageArrivesAndWhatFollowsFromItDoesNot) {
  const ReservedPort musterd;
  const Receiver receiver;
  const AlertmanagerProcess alertmanager(receiver.address(), kDrillTimes);
  const PrometheusProcess prometheus({absl::StrCat("127.0.0.1:", musterd.number())}, {},
                                     kDrillTimes, alertmanager.address());
  Until([&] { return receiver.WasTold("page: firing MusterDown"); }, "a page");
  Until([&] { return prometheus.api().Firing().contains("MusterReplicaDown"); }, "a ticket");
  const std::vector<std::string> both = {"MusterDown active", "MusterReplicaDown suppressed"};
  Until([&] { return alertmanager.Alerts() == both; },
        "the page, and the ticket kept from anybody");
  {
    // Something that answers a scrape.
    HttpServer target(musterd.number());
    target.server.Get("/metrics", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("muster_build_info 1\n", "text/plain");
    });
    target.Listen();
    Until([&] { return receiver.WasTold("page: resolved MusterDown"); }, "the end of it");
  }
  EXPECT_THAT(receiver.told(), Not(Contains("ticket: firing MusterReplicaDown")));
}

}  // namespace
}  // namespace muster::testing
