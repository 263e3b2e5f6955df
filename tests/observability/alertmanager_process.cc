#include "tests/observability/alertmanager_process.h"

#include <httplib.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/observability/faster_rules.h"
#include "tests/observability/prometheus_process.h"
#include "tests/testing/patience.h"

namespace muster::testing {

AlertmanagerProcess::AlertmanagerProcess(const std::string& receiver, int times) {
  std::ofstream(folder_.Path("config.yml")) << absl::StrReplaceAll(
      FasterRules(ReadFile(absl::StrCat(kObservability, "alertmanager.yml")), times),
      {{"127.0.0.1:7607", receiver}});
  child_ = std::make_unique<Child>(
      std::vector<std::string>{"/usr/bin/prometheus-alertmanager",
                               absl::StrCat("--config.file=", folder_.path(), "/config.yml"),
                               absl::StrCat("--storage.path=", folder_.path(), "/data"),
                               "--web.listen-address=127.0.0.1:0", "--cluster.listen-address="},
      folder_.Path("log"));
  Until([&] { return !address().empty(); }, "Alertmanager (deploy/install-packages has it)");
}

AlertmanagerProcess::~AlertmanagerProcess() { child_->Terminate(); }

std::string AlertmanagerProcess::address() const {
  std::smatch found;
  const std::string log = folder_.Text("log");
  return std::regex_search(log, found, std::regex(R"re(msg="Listening on" address=([0-9.:]+))re"))
             ? found[1].str()
             : "";
}

std::vector<std::string> AlertmanagerProcess::Alerts() const {
  httplib::Client client(absl::StrCat("http://", address()));
  client.set_read_timeout(60);  // a machine may stand still for a while
  const auto answer = client.Get("/api/v2/alerts");
  if (!answer) throw std::runtime_error("no Alertmanager answers");
  std::vector<std::string> alerts;
  for (const nlohmann::json& alert : nlohmann::json::parse(answer->body)) {
    alerts.push_back(absl::StrCat(alert["labels"]["alertname"].get<std::string>(), " ",
                                  alert["status"]["state"].get<std::string>()));
  }
  std::sort(alerts.begin(), alerts.end());
  return alerts;
}

}  // namespace muster::testing
