#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "services/rpc/server.h"
#include "storage/postgres/auditor.h"
#include "storage/postgres/lane_db.h"

namespace muster::musterd {

// One service in this process, as health, metrics and the debug service see it.
struct ServicePart {
  std::string name = {};       // `quota`
  rpc::NamedService rpc = {};  // `muster.quota.v1.QuotaService` and its handlers
  std::function<bool()> ready = {};
  std::function<storage::LaneStats()> stats = {};
  std::function<absl::StatusOr<storage::Comparison>()> compare = {};
  std::function<void()> stop_intake = {};  // of its lane
  std::function<void()> stop = {};         // ends its lane
  // Null: it does not audit itself.
  std::function<storage::Auditor::Stats()> audits = {};
};

}  // namespace muster::musterd
