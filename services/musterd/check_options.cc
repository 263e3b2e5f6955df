// What is missing in the options, and what does not go together.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "services/common/address.h"
#include "services/musterd/options.h"
#include "services/tls/flags.h"
#include "storage/postgres/journal_packing.h"

namespace muster::musterd {
namespace {

using Faults = std::vector<error::FieldViolation>;

constexpr int64_t kLeastMemory = int64_t{64} << 20;

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

void CheckTokens(const ServeOptions& options, Faults& faults) {
  if (!options.tokens) return;
  const auto required = [&](absl::string_view flag, bool given) {
    if (!given)
      faults.push_back({std::string(flag), "is required where a flag of tokens is given."});
  };
  required("--token_keys_file", !options.tokens->keys_file.empty());
  required("--token_issuer", !options.tokens->issuer.empty());
  required("--token_audience", !options.tokens->audience.empty());
  required("--token_algorithms", !options.tokens->algorithms.empty());
  required("--tls_cert_file", options.tls.has_value());
  for (const std::string& algorithm : options.tokens->algorithms) {
    if (std::find(std::begin(tokens::kAlgorithms), std::end(tokens::kAlgorithms), algorithm) ==
        std::end(tokens::kAlgorithms)) {
      faults.push_back(
          {"--token_algorithms", absl::StrCat("has \"", algorithm, "\"; allowed are ",
                                              absl::StrJoin(tokens::kAlgorithms, ","), ".")});
    }
  }
}

void CheckPeers(const ServeOptions& options, Faults& faults) {
  if (options.services.count("lifecycle") == 0) return;
  const auto peer = [&](absl::string_view service, absl::string_view flag,
                        const std::string& value) {
    if (options.services.count(std::string(service)) == 0 && value.empty()) {
      faults.push_back({std::string(flag), absl::StrCat("is required: lifecycle asks ", service,
                                                        ", which is not in --services.")});
    } else if (!value.empty() && !IsTarget(value)) {
      faults.push_back({std::string(flag), kTargetForms});
    }
  };
  peer("quota", "--quota_address", options.quota_address);
  peer("capacity", "--capacity_address", options.capacity_address);
  peer("configuration", "--configuration_address", options.configuration_address);
}

void CheckAddresses(const ServeOptions& options, Faults& faults) {
  const auto listens = [&](absl::string_view flag, const std::string& value) {
    if (!IsListenAddress(value)) faults.push_back({std::string(flag), kListenForms});
  };
  const auto listens_http = [&](absl::string_view flag, const std::string& value) {
    if (!IsHostPort(value)) faults.push_back({std::string(flag), kHostPortForm});
  };
  listens("--listen", options.listen);
  listens_http("--metrics_listen", options.metrics_listen);
  listens("--operator_listen", options.operator_listen);
  const auto guarded = [&](absl::string_view flag, const std::string& value) {
    if (options.tls || options.allow_plaintext || tls::IsLocal(value)) return;
    faults.push_back(
        {std::string(flag),
         absl::StrCat(value,
                      " is reached from other machines, in plain text and by callers without a "
                      "name: it needs "
                      "--tls_cert_file, --tls_key_file, --tls_ca_file and --trust_domain, or "
                      "--allow_plaintext.")});
  };
  if (options.tls && options.policy_file.empty()) {
    faults.push_back({"--policy_file",
                      "is required with the flags of TLS: it says what callers that have a name "
                      "may do."});
  }
  CheckTokens(options, faults);
  guarded("--listen", options.listen);
  guarded("--operator_listen", options.operator_listen);
  if (!options.page_listen.empty()) listens_http("--page_listen", options.page_listen);
  if (!options.health_listen.empty()) listens("--health_listen", options.health_listen);
  CheckPeers(options, faults);
}

void CheckPage(const ServeOptions& options, Faults& faults) {
  const auto needs_page = [&](absl::string_view flag, bool given) {
    if (given && options.page_listen.empty())
      faults.push_back({std::string(flag), "needs --page_listen: without it there is no page."});
  };
  needs_page("--page_hosts", !options.page_hosts.empty());
  needs_page("--page_cells", !options.page_cells.empty());
  for (const std::string& host : options.page_hosts) {
    if (!IsPlainHost(host))
      faults.push_back({"--page_hosts", absl::StrCat("has \"", host,
                                                     "\"; allowed are names of hosts, without "
                                                     "scheme and port.")});
  }
}

// What is a part of something is no more than that.
void CheckCallerLimits(const ServeOptions& options, Faults& faults) {
  const rpc::CallerLimitOptions& limits = options.caller_limits;
  const auto within = [&](absl::string_view part, int64_t most, absl::string_view whole,
                          int64_t all) {
    if (most <= all) return;
    faults.push_back({std::string(part), absl::StrCat("is ", most, ", but ", whole, " is ", all,
                                                      ": at most that is allowed. Lower ", part,
                                                      ", or raise ", whole, ".")});
  };
  within("--max_watches_per_caller", limits.watches, "--max_watches", limits.all_watches);
  within("--max_running_calls_per_caller", limits.running_calls, "--max_calls_per_caller",
         limits.calls);
  within("--max_request_bytes", options.max_request_bytes, "--max_request_bytes_per_caller",
         limits.request_bytes);
}

}  // namespace

std::vector<error::FieldViolation> CheckTogether(const ServeOptions& options) {
  Faults faults;
  CheckServices(options, faults);
  CheckAddresses(options, faults);
  CheckPage(options, faults);
  CheckCallerLimits(options, faults);
  if (options.conninfo.empty())
    faults.push_back({"--db_conninfo", "or --db_conninfo_file is required."});
  if (!storage::ParseJournalPacking(options.journal_packing)) {
    faults.push_back(
        {"--journal_packing", absl::StrCat("is \"", options.journal_packing, "\"; allowed are ",
                                           absl::StrJoin(storage::kJournalPackings, ","), ".")});
  }
  if (options.memory_limit != 0 && options.memory_limit < kLeastMemory)
    faults.push_back(
        {"--memory_limit", absl::StrCat("must be 0, or at least ", kLeastMemory, ".")});
  return faults;
}

}  // namespace muster::musterd
