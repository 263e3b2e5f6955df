#include "services/musterd/options.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

ABSL_FLAG(std::vector<std::string>, services, {},
          "Services to run in this process, any of capacity,quota,lifecycle,configuration.");
ABSL_FLAG(std::string, listen, "127.0.0.1:7600",
          "host:port that gRPC is served on; port 0 picks a free one.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:7601",
          "host:port that /metrics is served on over HTTP; port 0 picks a free one.");
ABSL_FLAG(
    std::string, operator_listen, "127.0.0.1:7603",
    "host:port of the operators' listener: all that --listen serves and, only here, audits, "
    "comparisons and reflection, which are as dear as the state is large. Whoever reaches it "
    "may ask for them: keep it on loopback, or behind a network of the operators' own. Port 0 "
    "picks a free one.");
ABSL_FLAG(std::string, port_file, "",
          "File that the ports are written to once the server takes calls: `grpc <port>`, "
          "`metrics <port>` and `operator <port>`, a line each. Empty: none.");
ABSL_FLAG(std::string, db_conninfo, "",
          "libpq connection string of the database, without user for `serve` (each service "
          "connects as muster_<service>) and with an "
          "owner's for `migrate`. Several hosts are allowed: the one that takes writes is used. "
          "Passwords: passfile=.");
ABSL_FLAG(std::string, db_conninfo_file, "",
          "File whose first line is --db_conninfo, for connection strings with secrets.");
ABSL_FLAG(std::string, migrations_dir, "migrations",
          "Folder of the schemas' migrations. A server refuses a schema that is not exactly what "
          "it says.");
ABSL_FLAG(std::string, quota_address, "",
          "host:port of the quota service, when lifecycle runs without it in this process.");
ABSL_FLAG(std::string, capacity_address, "",
          "host:port of the capacity service, when lifecycle runs without it in this process.");
ABSL_FLAG(
    std::string, configuration_address, "",
    "host:port of the configuration service, when lifecycle runs without it in this process.");
ABSL_FLAG(absl::Duration, resync_interval, absl::Minutes(10),
          "How often lifecycle looks at a pool that nothing happened to, at least 1s.");
ABSL_FLAG(absl::Duration, boot_deadline, absl::Minutes(30),
          "How long a machine may take to boot before it is given back as broken, at least 1s.");
ABSL_FLAG(absl::Duration, drain_deadline, absl::Minutes(15),
          "How long a drain may take before the rest is deleted (PreferIdle, deletion, repair and "
          "reboots that evict), 1s to 24h.");
ABSL_FLAG(
    absl::Duration, cordon_settle, absl::Seconds(2),
    "How long a Node stays cordoned before its drain, so that work that came is seen, 0s to 1h.");
ABSL_FLAG(
    absl::Duration, preemption_notice, absl::Minutes(2),
    "How long the work of a spot Node that is preempted is warned before it is asked to leave. "
    "Users are promised the default; shorter for trials. 1s to 24h.");
ABSL_FLAG(absl::Duration, preemption_end, absl::Minutes(7),
          "How long after the warning a spot Node that is preempted goes at the latest; above "
          "--preemption_notice. Users are promised the default. Up to 24h.");
ABSL_FLAG(absl::Duration, triage_grace, absl::Minutes(5),
          "How long an unhealthy Node may take to recover before it is replaced, 0s to 24h.");
ABSL_FLAG(int, give_up_percent, 10,
          "Most Nodes of a pool, in percent and at least one, that are given up within "
          "--give_up_interval because time went by: boots that did not end, Nodes that did not "
          "recover. 1 to 100.");
ABSL_FLAG(absl::Duration, give_up_interval, absl::Minutes(10), "See --give_up_percent, 1s to 24h.");
ABSL_FLAG(int, boot_failures_to_disable, 3,
          "Boot failures in a row on different machines that disable a configuration, 1 to 64.");
ABSL_FLAG(absl::Duration, lease_ttl, absl::Seconds(5),
          "How long a lifecycle replica that is gone holds the right to reconcile, at least 1s.");
ABSL_FLAG(absl::Duration, released_keep, absl::Hours(24),
          "How long quota, capacity and configuration refuse the uid of a pool that was released: "
          "longer than any call can be under way, 1h to 8760h.");
ABSL_FLAG(absl::Duration, request_keep, absl::Hours(24),
          "How long the answer to a request with a request_id is kept, so that the same again is "
          "answered the same and done once: longer than anybody repeats a call, 15m to 8760h.");
ABSL_FLAG(
    absl::Duration, gang_keep, absl::Hours(24),
    "How long a claim that asks for all at once keeps what is free from those behind it, from "
    "its request on; 0: never. 0 to 8760h.");
ABSL_FLAG(absl::Duration, audit_interval, absl::Minutes(5),
          "How often quota and capacity audit their own books, 1s to 24h.");
ABSL_FLAG(
    absl::Duration, orphan_interval, absl::Minutes(5),
    "How often the leader of lifecycle holds the books of the services against each other, 1s "
    "to 24h.");
ABSL_FLAG(
    absl::Duration, orphan_grace, absl::Minutes(15),
    "How long a holding, claim or configuration has had no pool before it is given back, and a "
    "difference between the books stands before it counts, 1s to 24h. Longer than any call "
    "takes.");
ABSL_FLAG(int, orphan_releases, 10,
          "Pools that do not exist whose rest is given back in one interval, 0 to 1000; 0: none.");
ABSL_FLAG(int, orphan_mass_percent, 20,
          "When more than one, and more than this share of all pools that quota, capacity and "
          "configuration know, do not exist, nothing is given back, 0 to 100: lifecycle may have "
          "been restored to a past. Set to 100 once a person has looked.");
ABSL_FLAG(absl::Duration, event_keep, absl::Hours(24),
          "How long events of a NodePool that is gone are kept after they were last seen, 1m to "
          "8760h; they go within an --orphan_interval after that.");
ABSL_FLAG(int, metrics_organizations, 0,
          "Organizations that /metrics shows with what they hold: those that hold most, and all "
          "others as one. 0 to 1000; 0: none.");
ABSL_FLAG(
    absl::Duration, drain_delay, absl::Seconds(5),
    "How long calls are still taken after SIGTERM, so that balancers see NOT_SERVING, 0s to 5m.");

namespace muster::musterd {
namespace {

using Faults = std::vector<error::FieldViolation>;

void CheckServices(const ServeOptions& options, Faults& faults) {
  if (options.services.empty()) {
    faults.push_back({"--services",
                      absl::StrCat("is required: any of ", absl::StrJoin(kAllServices, ","), ".")});
  }
  for (const std::string& service : options.services) {
    if (std::find(std::begin(kAllServices), std::end(kAllServices), service) ==
        std::end(kAllServices)) {
      faults.push_back({"--services", absl::StrCat("has \"", service, "\"; allowed are ",
                                                   absl::StrJoin(kAllServices, ","), ".")});
    }
  }
}

void CheckAddresses(const ServeOptions& options, Faults& faults) {
  const auto required = [&](absl::string_view flag, const std::string& value) {
    if (value.find(':') == std::string::npos)
      faults.push_back({std::string(flag), "must be host:port."});
  };
  required("--listen", options.listen);
  required("--metrics_listen", options.metrics_listen);
  required("--operator_listen", options.operator_listen);
  if (options.services.count("lifecycle") == 0) return;
  const auto peer = [&](absl::string_view service, absl::string_view flag,
                        const std::string& value) {
    if (options.services.count(std::string(service)) == 0 && value.empty()) {
      faults.push_back({std::string(flag), absl::StrCat("is required: lifecycle asks ", service,
                                                        ", which is not in --services.")});
    }
  };
  peer("quota", "--quota_address", options.quota_address);
  peer("capacity", "--capacity_address", options.capacity_address);
  peer("configuration", "--configuration_address", options.configuration_address);
}

void CheckDuration(absl::string_view flag, absl::Duration value, absl::Duration least,
                   absl::Duration most, Faults& faults) {
  if (value >= least && value <= most) return;
  faults.push_back({std::string(flag), absl::StrCat("is ", absl::FormatDuration(value),
                                                    "; allowed are ", absl::FormatDuration(least),
                                                    " to ", absl::FormatDuration(most), ".")});
}

void CheckOrphans(const ServeOptions& options, Faults& faults) {
  CheckDuration("--orphan_interval", options.orphan_interval, absl::Seconds(1), absl::Hours(24),
                faults);
  CheckDuration("--orphan_grace", options.orphan_grace, absl::Seconds(1), absl::Hours(24), faults);
  CheckDuration("--event_keep", options.event_keep, absl::Minutes(1), absl::Hours(8760), faults);
  if (options.orphan_releases < 0 || options.orphan_releases > 1000)
    faults.push_back({"--orphan_releases", "must be between 0 and 1000."});
  if (options.orphan_mass_percent < 0 || options.orphan_mass_percent > 100)
    faults.push_back({"--orphan_mass_percent", "must be between 0 and 100."});
}

}  // namespace

absl::Status Validate(const ServeOptions& options) {
  Faults faults;
  CheckServices(options, faults);
  CheckAddresses(options, faults);
  if (options.conninfo.empty())
    faults.push_back({"--db_conninfo", "or --db_conninfo_file is required."});
  CheckDuration("--resync_interval", options.resync_interval, absl::Seconds(1), absl::Hours(24),
                faults);
  CheckDuration("--boot_deadline", options.boot_deadline, absl::Seconds(1), absl::Hours(24),
                faults);
  CheckDuration("--drain_deadline", options.drain_deadline, absl::Seconds(1), absl::Hours(24),
                faults);
  CheckDuration("--cordon_settle", options.cordon_settle, absl::ZeroDuration(), absl::Hours(1),
                faults);
  CheckDuration("--preemption_notice", options.preemption_notice, absl::Seconds(1), absl::Hours(24),
                faults);
  CheckDuration("--preemption_end", options.preemption_end,
                options.preemption_notice + absl::Seconds(1), absl::Hours(24), faults);
  CheckDuration("--triage_grace", options.triage_grace, absl::ZeroDuration(), absl::Hours(24),
                faults);
  if (options.give_up_percent < 1 || options.give_up_percent > 100) {
    faults.push_back({"--give_up_percent", "must be between 1 and 100."});
  }
  CheckDuration("--give_up_interval", options.give_up_interval, absl::Seconds(1), absl::Hours(24),
                faults);
  if (options.boot_failures_to_disable < 1 || options.boot_failures_to_disable > 64) {
    faults.push_back({"--boot_failures_to_disable", "must be between 1 and 64."});
  }
  CheckDuration("--lease_ttl", options.lease_ttl, absl::Seconds(1), absl::Minutes(5), faults);
  CheckDuration("--drain_delay", options.drain_delay, absl::ZeroDuration(), absl::Minutes(5),
                faults);
  CheckDuration("--released_keep", options.released_keep, kMinReleasedKeep, absl::Hours(8'760),
                faults);
  CheckDuration("--request_keep", options.request_keep, kMinRequestKeep, absl::Hours(8'760),
                faults);
  CheckDuration("--gang_keep", options.gang_keep, absl::ZeroDuration(), absl::Hours(8'760), faults);
  CheckDuration("--audit_interval", options.audit_interval, absl::Seconds(1), absl::Hours(24),
                faults);
  CheckOrphans(options, faults);
  if (options.metrics_organizations < 0 || options.metrics_organizations > 1000)
    faults.push_back({"--metrics_organizations", "must be between 0 and 1000."});
  return faults.empty() ? absl::OkStatus() : error::InvalidFields(std::move(faults));
}

absl::StatusOr<std::string> ConninfoFromFlags() {
  const std::string file = absl::GetFlag(FLAGS_db_conninfo_file);
  if (file.empty()) return absl::GetFlag(FLAGS_db_conninfo);
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line))
    return error::InvalidField("--db_conninfo_file", absl::StrCat(file, " cannot be read."));
  return line;
}

std::string MigrationsDirFromFlags() { return absl::GetFlag(FLAGS_migrations_dir); }

absl::StatusOr<ServeOptions> ServeOptionsFromFlags() {
  ServeOptions options;
  for (const std::string& service : absl::GetFlag(FLAGS_services)) options.services.insert(service);
  options.listen = absl::GetFlag(FLAGS_listen);
  options.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  options.operator_listen = absl::GetFlag(FLAGS_operator_listen);
  options.port_file = absl::GetFlag(FLAGS_port_file);
  ASSIGN_OR_RETURN(options.conninfo, ConninfoFromFlags());
  options.migrations_dir = MigrationsDirFromFlags();
  options.quota_address = absl::GetFlag(FLAGS_quota_address);
  options.capacity_address = absl::GetFlag(FLAGS_capacity_address);
  options.configuration_address = absl::GetFlag(FLAGS_configuration_address);
  options.resync_interval = absl::GetFlag(FLAGS_resync_interval);
  options.boot_deadline = absl::GetFlag(FLAGS_boot_deadline);
  options.drain_deadline = absl::GetFlag(FLAGS_drain_deadline);
  options.cordon_settle = absl::GetFlag(FLAGS_cordon_settle);
  options.preemption_notice = absl::GetFlag(FLAGS_preemption_notice);
  options.preemption_end = absl::GetFlag(FLAGS_preemption_end);
  options.triage_grace = absl::GetFlag(FLAGS_triage_grace);
  options.give_up_percent = absl::GetFlag(FLAGS_give_up_percent);
  options.give_up_interval = absl::GetFlag(FLAGS_give_up_interval);
  options.boot_failures_to_disable = absl::GetFlag(FLAGS_boot_failures_to_disable);
  options.lease_ttl = absl::GetFlag(FLAGS_lease_ttl);
  options.drain_delay = absl::GetFlag(FLAGS_drain_delay);
  options.released_keep = absl::GetFlag(FLAGS_released_keep);
  options.request_keep = absl::GetFlag(FLAGS_request_keep);
  options.gang_keep = absl::GetFlag(FLAGS_gang_keep);
  options.audit_interval = absl::GetFlag(FLAGS_audit_interval);
  options.orphan_interval = absl::GetFlag(FLAGS_orphan_interval);
  options.orphan_grace = absl::GetFlag(FLAGS_orphan_grace);
  options.event_keep = absl::GetFlag(FLAGS_event_keep);
  options.metrics_organizations = absl::GetFlag(FLAGS_metrics_organizations);
  options.orphan_releases = absl::GetFlag(FLAGS_orphan_releases);
  options.orphan_mass_percent = absl::GetFlag(FLAGS_orphan_mass_percent);
  RETURN_IF_ERROR(Validate(options));
  return options;
}

}  // namespace muster::musterd
