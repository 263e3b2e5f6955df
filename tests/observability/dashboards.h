#pragma once

#include <string>
#include <vector>

// The dashboards of deploy/observability, made from their source.
namespace muster::testing {

struct Query {
  std::string dashboard = {};   // its title
  std::string panel = {};       // likewise
  std::string expression = {};  // PromQL, with Grafana's variables
  std::string legend = {};      // with Grafana's `{{label}}`; may be empty
};

struct Dashboard {
  std::string uid = {};   // also the file's name
  std::string json = {};  // as Grafana imports it; a panel a line
};

// Throws, with what is wrong, when the source is not as its head says.
class Dashboards {
 public:
  explicit Dashboards(const std::string& source_file);

  const std::vector<Dashboard>& all() const { return all_; }
  const std::vector<Query>& queries() const { return queries_; }

 private:
  std::vector<Dashboard> all_;
  std::vector<Query> queries_;
};

// As Prometheus takes it: every zone, service and instance, rates over `interval` (`1m`).
std::string WithoutVariables(const std::string& expression, const std::string& interval);

}  // namespace muster::testing
