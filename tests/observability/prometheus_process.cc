#include "tests/observability/prometheus_process.h"

#include <fstream>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/observability/faster_rules.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

std::string Job(const std::string& name, const std::vector<std::string>& targets) {
  return absl::StrCat("- {job_name: ", name, ", honor_labels: true, static_configs: [{targets: ['",
                      absl::StrJoin(targets, "','"), "']}]}\n");
}

}  // namespace

const char* const kObservability = MUSTER_SOURCE_DIR "/deploy/observability/";

PrometheusProcess::PrometheusProcess(const std::vector<std::string>& servers,
                                     const std::vector<std::string>& adapters, int times,
                                     const std::string& alertmanager) {
  for (const std::string file : {"/recording.yaml", "/alerts.yaml"}) {
    const std::string rules = ReadFile(absl::StrCat(kObservability, "rules", file));
    std::ofstream(folder_.path() + file) << (times == 1 ? rules : FasterRules(rules, times));
  }
  std::ofstream(folder_.Path("config.yml"))
      << "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: ['" << folder_.path()
      << "/recording.yaml', '" << folder_.path() << "/alerts.yaml']\n"
      << (alertmanager.empty() ? ""
                               : absl::StrCat("alerting: {alertmanagers: [{static_configs: "
                                              "[{targets: ['",
                                              alertmanager, "']}]}]}\n"))
      << "scrape_configs:\n"
      << Job("muster", servers) << (adapters.empty() ? "" : Job("muster-kubernetes", adapters));
  child_ = std::make_unique<Child>(
      std::vector<std::string>{"/usr/bin/prometheus",
                               absl::StrCat("--config.file=", folder_.path(), "/config.yml"),
                               absl::StrCat("--storage.tsdb.path=", folder_.path(), "/data"),
                               // An Alertmanager that it finds late hears of what fires before.
                               "--rules.alert.resend-delay=1s", "--web.listen-address=127.0.0.1:0"},
      folder_.Path("log"));
  Until([&] { return !address().empty() && api().ready(); },
        "Prometheus (deploy/install-packages has it)");
}

PrometheusProcess::~PrometheusProcess() { child_->Terminate(); }

std::string PrometheusProcess::address() const {
  std::smatch found;
  const std::string log = folder_.Text("log");
  return std::regex_search(log, found, std::regex(R"re(msg="Listening on" address=([0-9.:]+))re"))
             ? found[1].str()
             : "";
}

}  // namespace muster::testing
