#include "tests/observability/prometheus.h"

#include <httplib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace muster::testing {

using Json = nlohmann::json;

int Answer::numbers() const {
  return static_cast<int>(std::count_if(
      all.begin(), all.end(), [](const Series& series) { return series.value != "NaN"; }));
}

std::string Prometheus::Get(const std::string& path, const std::string& query) const {
  const httplib::Params params =
      query.empty() ? httplib::Params() : httplib::Params{{"query", query}};
  httplib::Client client(absl::StrCat("http://", address_));
  client.set_read_timeout(60);  // a machine may stand still for a while
  const auto answer = client.Get(path, params, httplib::Headers());
  if (!answer) throw std::runtime_error(absl::StrCat("no Prometheus answers on ", address_));
  return answer->body;
}

bool Prometheus::ready() const {
  const auto answer = httplib::Client(absl::StrCat("http://", address_)).Get("/-/ready");
  return answer && answer->status == 200;
}

Answer Prometheus::Ask(const std::string& expression) const {
  const Json said = Json::parse(Get("/api/v1/query", expression));
  Answer answer;
  if (said.value("status", "") != "success") {
    answer.error = said.value("error", "it says nothing");
    return answer;
  }
  for (const Json& series : said["data"]["result"]) {
    answer.all.push_back({series["metric"].get<std::map<std::string, std::string>>(),
                          series["value"][1].get<std::string>()});
  }
  return answer;
}

std::vector<std::string> Prometheus::BrokenRules() const {
  std::vector<std::string> broken;
  const Json said = Json::parse(Get("/api/v1/rules"));
  for (const Json& group : said["data"]["groups"]) {
    for (const Json& rule : group["rules"]) {
      if (rule["health"] != "ok") {
        broken.push_back(absl::StrCat(rule["name"].get<std::string>(), ": ",
                                      rule["health"].get<std::string>(), " ",
                                      rule.value("lastError", "")));
      }
    }
  }
  if (said["data"]["groups"].empty()) broken.emplace_back("there are no rules");
  return broken;
}

std::vector<std::string> Prometheus::Values(const std::string& expression) const {
  const Answer answer = Ask(expression);
  if (!answer.error.empty()) return {answer.error};
  std::vector<std::string> values;
  for (const Series& series : answer.all)
    values.push_back(absl::StrCat(Json(series.labels).dump(), " ", series.value));
  return values;
}

std::vector<FiringAlert> Prometheus::Alerts() const {
  std::vector<FiringAlert> alerts;
  const Json said = Json::parse(Get("/api/v1/alerts"));
  for (const Json& alert : said["data"]["alerts"]) {
    if (alert["state"] != "firing") continue;
    alerts.push_back({alert["labels"].value("alertname", ""), alert["labels"].value("severity", ""),
                      alert["labels"].value("service", ""),
                      alert["annotations"].value("summary", ""),
                      alert["annotations"].value("description", "")});
  }
  std::sort(alerts.begin(), alerts.end(),
            [](const FiringAlert& a, const FiringAlert& b) { return a.name < b.name; });
  return alerts;
}

std::set<std::string> Prometheus::Firing() const {
  std::set<std::string> names;
  for (const FiringAlert& alert : Alerts()) names.insert(alert.name);
  return names;
}

std::optional<FiringTimes> Prometheus::TimesOf(const std::string& alert, absl::Time since) const {
  const Json said =
      Json::parse(Get("/api/v1/query", absl::StrCat("ALERTS{alertname=\"", alert,
                                                    "\",alertstate=\"firing\"}[10m]")));
  std::optional<FiringTimes> times;
  for (const Json& series : said["data"]["result"]) {
    for (const Json& sample : series["values"]) {
      const absl::Time at = absl::UnixEpoch() + absl::Seconds(sample[0].get<double>());
      if (at < since) continue;
      if (!times) times = FiringTimes{at, at};
      times->first = std::min(times->first, at);
      times->last = std::max(times->last, at);
    }
  }
  return times;
}

int Prometheus::TargetsUp(absl::string_view job) const {
  return Ask(absl::StrCat("up{job=\"", job, "\"} == 1")).series();
}

}  // namespace muster::testing
