#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/capacity/capacity_service.h"
#include "services/common/error.h"
#include "services/configuration/configuration_service.h"
#include "services/lifecycle/options.h"
#include "services/page/cell_links.h"
#include "services/quota/quota_service.h"
#include "services/rpc/caller_limits.h"
#include "services/rpc/limits.h"
#include "services/tls/certificate_files.h"
#include "services/tokens/token_checker.h"

// The options of `musterd serve`. Flags are read here and nowhere else.
namespace muster::musterd {

struct ServeOptions {
  std::set<std::string> services = {};  // of kAllServices
  std::string listen = {};
  std::string metrics_listen = {};
  std::string operator_listen = {};
  std::string health_listen = {};      // empty: none
  std::optional<tls::Files> tls = {};  // nullopt: plain text
  bool allow_plaintext = false;        // beyond this machine, too
  std::string policy_file = {};        // empty: who is let in in plain text may do everything
  std::optional<tokens::Options> tokens = {};  // nullopt: none is taken
  rpc::CallerLimitOptions caller_limits = {};
  int max_request_bytes = rpc::kMaxReceiveBytes;
  int64_t memory_limit = 0;          // bytes; 0: the control group's
  int64_t journal_keep = 1'000'000;  // of each service; as storage::LaneOptions
  absl::Duration journal_keep_time = absl::ZeroDuration();  // 0: any
  std::string journal_packing = "zstd";                     // of storage::kJournalPackings
  std::string page_listen = {};                             // empty: no page
  std::set<std::string> page_hosts = {};                    // lower case
  std::vector<page::CellLink> page_cells = {};
  std::string port_file = {};      // empty: none
  std::string conninfo = {};       // without user: each service connects as muster_<service>
  std::string conninfo_file = {};  // its first line counts instead, as it is by then; empty: none
  std::string migrations_dir = {};
  // Where the services are that lifecycle asks and that do not run in this process.
  std::string quota_address = {};
  std::string capacity_address = {};
  std::string configuration_address = {};
  absl::Duration drain_delay = absl::Seconds(5);
  // The options of each service, except for its lane. Defaults are theirs.
  capacity::CapacityService::Options capacity = {};
  configuration::ConfigurationService::Options configuration = {};
  lifecycle::Options lifecycle = {};
  quota::QuotaService::Options quota = {};
};

inline constexpr absl::string_view kAllServices[] = {"capacity", "quota", "lifecycle",
                                                     "configuration"};

// Options that are missing or do not go together, each named by its flag: first the services, then
// addresses, TLS and tokens, then the page, the database and memory. Bounds are not checked. Pure
// (check_options.cc).
std::vector<error::FieldViolation> CheckTogether(const ServeOptions& options);

// What is allowed of each flag that has bounds, as `LEAST to MOST`; where another flag's value is a
// bound, the widest that can be.
struct Range {
  std::string flag = {};
  std::string allowed = {};
};
std::vector<Range> RangesOfFlags();

// Everything that is wrong, named by its flag. INVALID_ARGUMENT.
absl::Status Validate(const ServeOptions& options);

// From the command line's flags, validated.
absl::StatusOr<ServeOptions> ServeOptionsFromFlags();

// `--db_conninfo`, or the first line of `--db_conninfo_file` as it is now: a server that runs goes
// by the file (Conninfo).
absl::StatusOr<std::string> ConninfoFromFlags();
// As storage::CheckConninfo, with the flag's name as the field. To be called before the conninfo is
// used: libpq's errors quote a wrong one.
absl::Status CheckConninfoOfFlags(const std::string& conninfo);
std::string MigrationsDirFromFlags();

}  // namespace muster::musterd
