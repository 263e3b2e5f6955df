#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/rpc/server.h"
#include "storage/postgres/auditor.h"
#include "storage/postgres/change_log.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/past_lists.h"

namespace muster::musterd {

// Reads the past of a service from its journal (storage::LaneChanges).
struct History {
  std::function<absl::StatusOr<storage::ChangeLog>(
      const std::string& name, const storage::LogStart& start, int64_t limit, absl::Time deadline)>
      list = {};
  std::function<absl::StatusOr<storage::ChangeLog>(const std::string& name,
                                                   const storage::Moment& then,
                                                   storage::Lives lives, absl::Time deadline)>
      get_past = {};
  std::function<absl::StatusOr<storage::PastPage>(
      const storage::PastScope& scope, const storage::Moment& then, const std::string& after,
      size_t limit, absl::Time deadline)>
      list_past = {};
  // Null: not understood.
  std::function<std::unique_ptr<google::protobuf::Message>(const std::string& kind,
                                                           const std::string& bytes)>
      parse = {};
};

// One service in this process, as health, metrics and the debug service see it.
struct ServicePart {
  std::string name = {};       // `quota`
  rpc::NamedService rpc = {};  // `muster.quota.v1.QuotaService` and its handlers
  std::function<bool()> ready = {};
  std::function<storage::LaneStats()> stats = {};
  std::function<absl::StatusOr<storage::Comparison>()> compare = {};
  History history = {};
  std::function<void()> stop_intake = {};  // of its lane
  std::function<void()> stop = {};         // ends its lane
  // Null: it does not audit itself.
  std::function<storage::Auditor::Stats()> audits = {};
};

}  // namespace muster::musterd
