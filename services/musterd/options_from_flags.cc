// What the flags say, and within which bounds.
#include <fstream>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/kept_request.h"
#include "services/common/released_pool.h"
#include "services/common/status_macros.h"
#include "services/musterd/flags.h"
#include "services/musterd/options.h"
#include "services/quota/core/limits.h"
#include "services/tls/flags.h"
#include "storage/postgres/conninfo_text.h"

namespace muster::musterd {
namespace {

std::optional<tokens::Options> TokensFromFlags() {
  tokens::Options options{.keys_file = absl::GetFlag(FLAGS_token_keys_file),
                          .issuer = absl::GetFlag(FLAGS_token_issuer),
                          .audience = absl::GetFlag(FLAGS_token_audience),
                          .algorithms = absl::GetFlag(FLAGS_token_algorithms)};
  const tokens::Options none{.algorithms = DefaultTokenAlgorithms()};
  if (options == none) return std::nullopt;
  return options;
}

constexpr absl::Duration kNoTime = absl::ZeroDuration();
constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Duration kDay = absl::Hours(24);
constexpr absl::Duration kYear = absl::Hours(8'760);

// Calls visit(flag's name, flag, least, most, fields...) for each option that has bounds; an option
// of several services has a field in each.
#define MUSTER_VISIT(flag, ...) visit("--" #flag, FLAGS_##flag, __VA_ARGS__)

template <class Options, class Visit>
void ForEachDeadline(Options& options, Visit& visit) {
  auto& loop = options.lifecycle.loop;
  auto& policy = loop.policy;
  MUSTER_VISIT(resync_interval, kSecond, kDay, loop.resync_interval);
  MUSTER_VISIT(boot_deadline, kSecond, kDay, policy.boot_deadline);
  MUSTER_VISIT(drain_deadline, kSecond, kDay, policy.drain_deadline);
  MUSTER_VISIT(cordon_settle, kNoTime, absl::Hours(1), policy.cordon_settle);
  MUSTER_VISIT(cordon_patience, kNoTime, absl::Hours(1), policy.cordon_patience);
  MUSTER_VISIT(preemption_notice, kSecond, kDay - kSecond, policy.preemption_notice,
               options.capacity.preemption_notice);
  MUSTER_VISIT(preemption_end, policy.preemption_notice + kSecond, kDay, policy.preemption_end);
  MUSTER_VISIT(triage_grace, kNoTime, kDay, policy.triage_grace);
  MUSTER_VISIT(give_up_percent, 1, 100, policy.give_up_percent);
  MUSTER_VISIT(give_up_interval, kSecond, kDay, policy.give_up_interval);
  MUSTER_VISIT(boot_failures_to_disable, 1, 64, options.configuration.boot_failures_to_disable);
  MUSTER_VISIT(lease_ttl, kSecond, absl::Minutes(5), loop.lease_ttl);
  MUSTER_VISIT(drain_delay, kNoTime, absl::Minutes(5), options.drain_delay);
}

// What is kept, and the rounds that look through it.
template <class Options, class Visit>
void ForEachKept(Options& options, Visit& visit) {
  auto& quota = options.quota;
  auto& capacity = options.capacity;
  auto& configuration = options.configuration;
  auto& orphans = options.lifecycle.orphans;
  MUSTER_VISIT(released_keep, kMinReleasedKeep, kYear, quota.released_keep, capacity.released_keep,
               configuration.released_keep);
  MUSTER_VISIT(request_keep, kMinRequestKeep, kYear, quota.request_keep.keep,
               capacity.request_keep.keep, configuration.request_keep.keep,
               options.lifecycle.request_keep.keep);
  MUSTER_VISIT(gang_keep, kNoTime, kYear, capacity.gang_keep);
  MUSTER_VISIT(audit_interval, kSecond, kDay, quota.audit_interval, capacity.audit_interval);
  MUSTER_VISIT(orphan_interval, kSecond, kDay, orphans.interval);
  MUSTER_VISIT(orphan_grace, kSecond, kDay, orphans.policy.grace);
  MUSTER_VISIT(event_keep, absl::Minutes(1), kYear, orphans.event_keep);
  MUSTER_VISIT(event_most, 1'000, 100'000'000, orphans.event_most);
  MUSTER_VISIT(orphan_releases, 0, 1000, orphans.policy.most_a_round);
  MUSTER_VISIT(orphan_mass_percent, 0, 100, orphans.policy.mass_percent);
  MUSTER_VISIT(journal_keep, 1'000, 1'000'000'000, options.journal_keep);
  MUSTER_VISIT(journal_keep_time, kNoTime, 100 * kYear, options.journal_keep_time);
}

template <class Options, class Visit>
void ForEachLimit(Options& options, Visit& visit) {
  auto& caller = options.caller_limits;
  auto& organizations = options.lifecycle.organizations;
  MUSTER_VISIT(max_calls_per_caller, 1, 1'000'000, caller.calls);
  MUSTER_VISIT(max_running_calls_per_caller, 1, 1'000'000, caller.running_calls);
  MUSTER_VISIT(max_watches_per_caller, 1, 1'000'000, caller.watches);
  MUSTER_VISIT(max_watches, 1, 1'000'000, caller.all_watches);
  MUSTER_VISIT(max_request_bytes_per_caller, 1 << 20, 1 << 30, caller.request_bytes);
  MUSTER_VISIT(max_calls_per_second_per_caller, 0, 1'000'000, caller.calls_per_second);
  MUSTER_VISIT(max_changes_per_minute_per_organization, 0, 1'000'000'000,
               caller.changes_per_minute);
  MUSTER_VISIT(max_pools_per_organization, 1, 1'000'000, organizations.pools);
  MUSTER_VISIT(max_clusters_per_organization, 1, 1'000'000, organizations.clusters);
  MUSTER_VISIT(max_request_bytes, 1 << 20, 64 << 20, options.max_request_bytes);
  MUSTER_VISIT(metrics_organizations, 0, quota::kMaxMetricsOrganizations,
               options.quota.metrics_organizations);
}
#undef MUSTER_VISIT

template <class Options, class Visit>
void ForEachBounded(Options& options, Visit visit) {
  ForEachDeadline(options, visit);
  ForEachKept(options, visit);
  ForEachLimit(options, visit);
}

std::string RangeOf(absl::Duration least, absl::Duration most) {
  return absl::StrCat(absl::FormatDuration(least), " to ", absl::FormatDuration(most));
}
std::string RangeOf(int least, int most) { return absl::StrCat(least, " to ", most); }

std::string FaultOf(absl::Duration value, absl::Duration least, absl::Duration most) {
  return absl::StrCat("is ", absl::FormatDuration(value), "; allowed are ", RangeOf(least, most),
                      ".");
}

template <class Number>
std::string FaultOf(Number, int least, int most) {
  return absl::StrCat("must be between ", least, " and ", most, ".");
}

void CheckBounds(const ServeOptions& options, std::vector<error::FieldViolation>& faults) {
  ForEachBounded(
      options, [&](const char* name, const auto&, auto least, auto most, const auto&... fields) {
        const std::initializer_list<std::common_type_t<decltype(fields)...>> values = {fields...};
        for (const auto& value : values) {
          if (value >= least && value <= most) continue;
          faults.push_back({name, FaultOf(value, least, most)});
          return;
        }
      });
}

}  // namespace

std::vector<Range> RangesOfFlags() {
  ServeOptions options;
  options.lifecycle.loop.policy.preemption_notice = kSecond;
  std::vector<Range> ranges;
  ForEachBounded(options,
                 [&](const char* name, const auto&, auto least, auto most, const auto&...) {
                   ranges.push_back({name, RangeOf(least, most)});
                 });
  return ranges;
}

absl::Status Validate(const ServeOptions& options) {
  std::vector<error::FieldViolation> faults = CheckTogether(options);
  CheckBounds(options, faults);
  return faults.empty() ? absl::OkStatus() : error::InvalidFields(std::move(faults));
}

absl::StatusOr<std::string> ConninfoFromFlags() {
  const std::string file = absl::GetFlag(FLAGS_db_conninfo_file);
  const std::string conninfo = absl::GetFlag(FLAGS_db_conninfo);
  if (file.empty()) return conninfo;
  if (!conninfo.empty())
    return error::InvalidField("--db_conninfo", "must not be given beside --db_conninfo_file.");
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line))
    return error::InvalidField("--db_conninfo_file", absl::StrCat(file, " cannot be read."));
  return line;
}

absl::Status CheckConninfoOfFlags(const std::string& conninfo) {
  const absl::Status sound = storage::CheckConninfo(conninfo);
  const bool in_file = !absl::GetFlag(FLAGS_db_conninfo_file).empty();
  return sound.ok() ? sound
                    : error::InvalidField(in_file ? "--db_conninfo_file" : "--db_conninfo",
                                          sound.message());
}

std::string MigrationsDirFromFlags() { return absl::GetFlag(FLAGS_migrations_dir); }

absl::StatusOr<ServeOptions> ServeOptionsFromFlags() {
  ServeOptions options;
  for (const std::string& service : absl::GetFlag(FLAGS_services)) options.services.insert(service);
  options.listen = absl::GetFlag(FLAGS_listen);
  options.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  options.operator_listen = absl::GetFlag(FLAGS_operator_listen);
  options.health_listen = absl::GetFlag(FLAGS_health_listen);
  ASSIGN_OR_RETURN(options.tls, tls::FilesFromFlags(tls::Use::kServer));
  options.allow_plaintext = absl::GetFlag(FLAGS_allow_plaintext);
  options.policy_file = absl::GetFlag(FLAGS_policy_file);
  options.tokens = TokensFromFlags();
  options.page_listen = absl::GetFlag(FLAGS_page_listen);
  for (const std::string& host : absl::GetFlag(FLAGS_page_hosts))
    options.page_hosts.insert(absl::AsciiStrToLower(host));
  const auto cells = page::ParseCellLinks(absl::GetFlag(FLAGS_page_cells));
  if (!cells.ok()) return error::InvalidField("--page_cells", cells.status().message());
  options.page_cells = *cells;
  options.port_file = absl::GetFlag(FLAGS_port_file);
  options.journal_packing = absl::GetFlag(FLAGS_journal_packing);
  options.memory_limit = absl::GetFlag(FLAGS_memory_limit);
  ASSIGN_OR_RETURN(options.conninfo, ConninfoFromFlags());
  options.conninfo_file = absl::GetFlag(FLAGS_db_conninfo_file);
  options.migrations_dir = MigrationsDirFromFlags();
  options.quota_address = absl::GetFlag(FLAGS_quota_address);
  options.capacity_address = absl::GetFlag(FLAGS_capacity_address);
  options.configuration_address = absl::GetFlag(FLAGS_configuration_address);
  ForEachBounded(options, [](const char*, const auto& flag, auto, auto, auto&... fields) {
    ((fields = absl::GetFlag(flag)), ...);
  });
  RETURN_IF_ERROR(Validate(options));
  return options;
}

}  // namespace muster::musterd
