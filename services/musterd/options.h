#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/kept_request.h"
#include "services/common/released_pool.h"

// What `musterd serve` is told. Flags are read here and nowhere else.
namespace muster::musterd {

struct ServeOptions {
  std::set<std::string> services = {};  // of kAllServices
  std::string listen = {};
  std::string metrics_listen = {};
  std::string operator_listen = {};
  std::string port_file = {};  // empty: none
  std::string conninfo = {};   // without user: each service connects as muster_<service>
  std::string migrations_dir = {};
  // Where the services are that lifecycle asks and that do not run in this process.
  std::string quota_address = {};
  std::string capacity_address = {};
  std::string configuration_address = {};
  absl::Duration resync_interval = absl::Minutes(10);
  absl::Duration boot_deadline = absl::Minutes(30);
  absl::Duration drain_deadline = absl::Minutes(15);
  absl::Duration cordon_settle = absl::Seconds(2);
  absl::Duration preemption_notice = absl::Minutes(2);
  absl::Duration preemption_end = absl::Minutes(7);
  absl::Duration triage_grace = absl::Minutes(5);
  int give_up_percent = 10;
  absl::Duration give_up_interval = absl::Minutes(10);
  int boot_failures_to_disable = 3;
  absl::Duration lease_ttl = absl::Seconds(5);
  absl::Duration drain_delay = absl::Seconds(5);
  absl::Duration released_keep = kReleasedKeep;
  absl::Duration request_keep = kRequestKeep;
  absl::Duration gang_keep = absl::Hours(24);
  absl::Duration audit_interval = absl::Minutes(5);
  absl::Duration orphan_interval = absl::Minutes(5);
  absl::Duration orphan_grace = absl::Minutes(15);
  int orphan_releases = 10;
  int orphan_mass_percent = 20;
  absl::Duration event_keep = absl::Hours(24);
  int metrics_organizations = 0;
};

inline constexpr absl::string_view kAllServices[] = {"capacity", "quota", "lifecycle",
                                                     "configuration"};

// Everything that is wrong, named by its flag. INVALID_ARGUMENT.
absl::Status Validate(const ServeOptions& options);

// From the command line's flags, validated.
absl::StatusOr<ServeOptions> ServeOptionsFromFlags();

// `--db-conninfo`, or the first line of `--db-conninfo-file`.
absl::StatusOr<std::string> ConninfoFromFlags();
std::string MigrationsDirFromFlags();

}  // namespace muster::musterd
