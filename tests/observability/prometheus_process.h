#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/child.h"
#include "tests/observability/prometheus.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {

// deploy/observability/.
extern const char* const kObservability;

// Debian's Prometheus with our rules, on a port of its own; scrapes every second.
class PrometheusProcess {
 public:
  // `servers`, `adapters`: metrics addresses of musterd and muster-kubernetes. `alertmanager`: is
  // told what fires; empty: nobody is. `times`: see FasterRules. Returns when it is ready.
  PrometheusProcess(const std::vector<std::string>& servers,
                    const std::vector<std::string>& adapters, int times = 1,
                    const std::string& alertmanager = "");
  ~PrometheusProcess();
  PrometheusProcess(const PrometheusProcess&) = delete;
  PrometheusProcess& operator=(const PrometheusProcess&) = delete;

  // Empty: it has not said yet.
  std::string address() const;
  Prometheus api() const { return Prometheus(address()); }

 private:
  const TempFolder folder_;
  std::unique_ptr<Child> child_;
};

}  // namespace muster::testing
