#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/time/time.h"

// The flags of `musterd serve`, for those who make options of them (options.h); flags.cc says what
// each is. Their defaults are those of the options that they fill.
ABSL_DECLARE_FLAG(std::vector<std::string>, services);
ABSL_DECLARE_FLAG(std::string, listen);
ABSL_DECLARE_FLAG(std::string, metrics_listen);
ABSL_DECLARE_FLAG(std::string, operator_listen);
ABSL_DECLARE_FLAG(std::string, health_listen);
ABSL_DECLARE_FLAG(bool, allow_plaintext);
ABSL_DECLARE_FLAG(std::string, policy_file);
ABSL_DECLARE_FLAG(std::string, token_keys_file);
ABSL_DECLARE_FLAG(std::string, token_issuer);
ABSL_DECLARE_FLAG(std::string, token_audience);
ABSL_DECLARE_FLAG(std::vector<std::string>, token_algorithms);
ABSL_DECLARE_FLAG(int64_t, journal_keep);
ABSL_DECLARE_FLAG(absl::Duration, journal_keep_time);
ABSL_DECLARE_FLAG(std::string, journal_packing);
ABSL_DECLARE_FLAG(int64_t, max_calls_per_caller);
ABSL_DECLARE_FLAG(int64_t, max_running_calls_per_caller);
ABSL_DECLARE_FLAG(int64_t, max_watches_per_caller);
ABSL_DECLARE_FLAG(int64_t, max_watches);
ABSL_DECLARE_FLAG(int64_t, max_request_bytes_per_caller);
ABSL_DECLARE_FLAG(double, max_calls_per_second_per_caller);
ABSL_DECLARE_FLAG(double, max_changes_per_minute_per_organization);
ABSL_DECLARE_FLAG(int64_t, max_pools_per_organization);
ABSL_DECLARE_FLAG(int64_t, max_clusters_per_organization);
ABSL_DECLARE_FLAG(int, max_request_bytes);
ABSL_DECLARE_FLAG(int64_t, memory_limit);
ABSL_DECLARE_FLAG(std::string, page_listen);
ABSL_DECLARE_FLAG(std::vector<std::string>, page_hosts);
ABSL_DECLARE_FLAG(std::vector<std::string>, page_cells);
ABSL_DECLARE_FLAG(std::string, port_file);
ABSL_DECLARE_FLAG(std::string, db_conninfo);
ABSL_DECLARE_FLAG(std::string, db_conninfo_file);
ABSL_DECLARE_FLAG(std::string, migrations_dir);
ABSL_DECLARE_FLAG(std::string, quota_address);
ABSL_DECLARE_FLAG(std::string, capacity_address);
ABSL_DECLARE_FLAG(std::string, configuration_address);
ABSL_DECLARE_FLAG(absl::Duration, resync_interval);
ABSL_DECLARE_FLAG(absl::Duration, boot_deadline);
ABSL_DECLARE_FLAG(absl::Duration, drain_deadline);
ABSL_DECLARE_FLAG(absl::Duration, cordon_settle);
ABSL_DECLARE_FLAG(absl::Duration, cordon_patience);
ABSL_DECLARE_FLAG(absl::Duration, preemption_notice);
ABSL_DECLARE_FLAG(absl::Duration, preemption_end);
ABSL_DECLARE_FLAG(absl::Duration, triage_grace);
ABSL_DECLARE_FLAG(int, give_up_percent);
ABSL_DECLARE_FLAG(absl::Duration, give_up_interval);
ABSL_DECLARE_FLAG(int, boot_failures_to_disable);
ABSL_DECLARE_FLAG(absl::Duration, lease_ttl);
ABSL_DECLARE_FLAG(absl::Duration, released_keep);
ABSL_DECLARE_FLAG(absl::Duration, request_keep);
ABSL_DECLARE_FLAG(absl::Duration, gang_keep);
ABSL_DECLARE_FLAG(absl::Duration, audit_interval);
ABSL_DECLARE_FLAG(absl::Duration, orphan_interval);
ABSL_DECLARE_FLAG(absl::Duration, orphan_grace);
ABSL_DECLARE_FLAG(int, orphan_releases);
ABSL_DECLARE_FLAG(int, orphan_mass_percent);
ABSL_DECLARE_FLAG(absl::Duration, event_keep);
ABSL_DECLARE_FLAG(int64_t, event_most);
ABSL_DECLARE_FLAG(int, metrics_organizations);
ABSL_DECLARE_FLAG(absl::Duration, drain_delay);

namespace muster::musterd {

// Of --token_algorithms.
std::vector<std::string> DefaultTokenAlgorithms();

}  // namespace muster::musterd
