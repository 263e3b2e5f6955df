#include "services/rpc/metrics.h"

#include <CivetServer.h>
#include <prometheus/exposer.h>
#include <prometheus/text_serializer.h>

#include <exception>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/build_info.h"
#include "services/common/error.h"
#include "services/common/http_host.h"
#include "services/common/stop_listener.h"
#include "services/rpc/limits.h"
#include "services/rpc/metric_family.h"
#include "services/rpc/process_collector.h"
#include "services/rpc/telemetry_collector.h"

namespace muster::rpc {

namespace {

// What the program was made from.
class BuildCollector final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    prometheus::MetricFamily family =
        Gauges("muster_build_info", "1; its labels are what the program was built from, and how.");
    AddSample(family,
              {{"version", build_info::kVersion},
               {"commit", build_info::kCommit},
               {"build_type", build_info::kBuildType}},
              1);
    return {std::move(family)};
  }
};

// 0: it is answered. What says no name at all is no browser.
int RefuseOtherNames(mg_connection* connection) {
  constexpr int kMisdirected = 421;
  const char* const host = mg_get_header(connection, "Host");
  if (host == nullptr || IsOurHost(host)) return 0;
  mg_send_http_error(connection, kMisdirected, "%s",
                     "On loopback metrics are told under `localhost` and addresses alone.");
  return kMisdirected;
}

}  // namespace

Metrics::Metrics()
    : registry_(std::make_shared<prometheus::Registry>()),
      server_(std::make_shared<ServerMetrics>()),
      all_({registry_, server_, std::make_shared<ProcessCollector>(),
            std::make_shared<BuildCollector>(), std::make_shared<TelemetryCollector>()}) {}

Metrics::~Metrics() = default;

void Metrics::Add(std::shared_ptr<prometheus::Collectable> collectable) {
  all_.push_back(std::move(collectable));
}

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : all_) {
    for (auto& family : collectable->Collect()) families.push_back(std::move(family));
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

MetricsEndpoint::MetricsEndpoint(std::string address, std::unique_ptr<prometheus::Exposer> exposer)
    : address_(std::move(address)), exposer_(std::move(exposer)) {}

MetricsEndpoint::~MetricsEndpoint() {
  // As the page's listener.
  StopListener(address_, port(), [this] { exposer_.reset(); });
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Create(
    const Metrics& metrics, const std::string& address) {
  CivetCallbacks callbacks;
  if (IsLoopback(address)) callbacks.begin_request = &RefuseOtherNames;
  // The HTTP library throws when it cannot bind.
  try {
    // A few threads serve it: whoever says half a request must not keep them.
    auto exposer = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{
            "listening_ports", address, "num_threads", "8", "request_timeout_ms",
            absl::StrCat(absl::ToInt64Milliseconds(kMetricsTimeout)), "enable_keep_alive", "no"},
        &callbacks);
    for (const auto& collectable : metrics.all_) exposer->RegisterCollectable(collectable);
    return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(address, std::move(exposer)));
  } catch (const std::exception& e) {
    return error::Unavailable(absl::StrCat("Cannot serve metrics on ", address, ": ", e.what()));
  }
}

int MetricsEndpoint::port() const {
  const std::vector<int> ports = exposer_->GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace muster::rpc
