#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/child.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {

// Debian's Alertmanager with our routes, on a port of its own.
class AlertmanagerProcess {
 public:
  // Returns when it listens. `receiver`: replaces the shipped placeholder 127.0.0.1:7607. `times`:
  // see FasterRules.
  AlertmanagerProcess(const std::string& receiver, int times);
  ~AlertmanagerProcess();
  AlertmanagerProcess(const AlertmanagerProcess&) = delete;
  AlertmanagerProcess& operator=(const AlertmanagerProcess&) = delete;

  // Empty: it has not said yet.
  std::string address() const;
  // `name state` of every alert that it has, sorted: active, suppressed or unprocessed.
  std::vector<std::string> Alerts() const;

 private:
  const TempFolder folder_;
  std::unique_ptr<Child> child_;
};

}  // namespace muster::testing
