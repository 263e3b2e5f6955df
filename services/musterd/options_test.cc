#include "services/musterd/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace muster::musterd {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::IsOk;

ServeOptions Good() {
  ServeOptions options;
  options.services = {"capacity", "quota", "lifecycle", "configuration"};
  options.listen = "127.0.0.1:0";
  options.metrics_listen = "127.0.0.1:0";
  options.operator_listen = "127.0.0.1:0";
  options.conninfo = "dbname=muster";
  return options;
}

TEST(Options, AllInOneProcessNeedsNoAddresses) { EXPECT_THAT(Validate(Good()), IsOk()); }

TEST(Options, LifecycleAloneNeedsTheAddressesOfWhatItAsks) {
  ServeOptions options = Good();
  options.services = {"lifecycle"};
  const absl::Status status = Validate(options);
  EXPECT_THAT(status, HasFieldViolation("--quota_address"));
  EXPECT_THAT(status, HasFieldViolation("--capacity_address"));
  EXPECT_THAT(status, HasFieldViolation("--configuration_address"));
  options.quota_address = options.capacity_address = options.configuration_address = "127.0.0.1:1";
  EXPECT_THAT(Validate(options), IsOk());
}

// gRPC would take a port that was forgotten for 443.
TEST(Options, WhatLifecycleAsksHasAPort) {
  ServeOptions options = Good();
  options.services = {"lifecycle"};
  options.quota_address = "quota.muster.svc";
  options.capacity_address = "dns:///capacity.muster.svc:7600";
  options.configuration_address = "host:0";
  const absl::Status status = Validate(options);
  EXPECT_THAT(status, HasFieldViolation("--quota_address"));
  EXPECT_THAT(status, ::testing::Not(HasFieldViolation("--capacity_address")));
  EXPECT_THAT(status, HasFieldViolation("--configuration_address"));
}

TEST(Options, WhoHasANameNeedsAPolicy) {
  ServeOptions options = Good();
  options.tls = tls::Files();
  EXPECT_THAT(Validate(options), HasFieldViolation("--policy_file"));
  options.policy_file = "policy.yaml";
  EXPECT_THAT(Validate(options), IsOk());
}

TEST(Options, RequestsAndMemoryHaveBounds) {
  ServeOptions options = Good();
  options.memory_limit = (int64_t{64} << 20) - 1;
  options.max_request_bytes = (1 << 20) - 1;
  EXPECT_THAT(Validate(options), HasFieldViolation("--memory_limit"));
  EXPECT_THAT(Validate(options), HasFieldViolation("--max_request_bytes"));
  options.memory_limit = int64_t{64} << 20;
  options.max_request_bytes = 64 << 20;
  EXPECT_THAT(Validate(options), IsOk());
}

TEST(Options, TheJournalIsPackedAsIsAllowed) {
  ServeOptions options = Good();
  EXPECT_EQ(options.journal_packing, "zstd");
  for (const char* allowed : {"none", "zstd"}) {
    options.journal_packing = allowed;
    EXPECT_THAT(Validate(options), IsOk()) << allowed;
  }
  for (const char* refused : {"", "lz4", "ZSTD", "none,zstd"}) {
    options.journal_packing = refused;
    EXPECT_THAT(Validate(options), HasFieldViolation("--journal_packing")) << refused;
  }
}

TEST(Options, OneCallerMayHaveNoMoreThanThereMayBe) {
  ServeOptions options = Good();
  options.caller_limits.all_watches = 1'000;
  options.caller_limits.watches = 1'001;
  options.caller_limits.calls = 10;
  options.caller_limits.running_calls = 11;
  options.caller_limits.request_bytes = 1 << 20;
  options.max_request_bytes = (1 << 20) + 1;
  const absl::Status status = Validate(options);
  EXPECT_THAT(status, HasFieldViolation("--max_watches_per_caller"));
  EXPECT_THAT(status, HasFieldViolation("--max_running_calls_per_caller"));
  EXPECT_THAT(status, HasFieldViolation("--max_request_bytes"));
  EXPECT_THAT(status.message(),
              ::testing::HasSubstr("is 1001, but --max_watches is 1000: at most that is allowed"));
  EXPECT_THAT(status.message(), ::testing::HasSubstr("is 11, but --max_calls_per_caller is 10"));
  options.caller_limits.watches = 1'000;
  options.caller_limits.running_calls = 10;
  options.max_request_bytes = 1 << 20;
  EXPECT_THAT(Validate(options), IsOk());
}

TEST(Options, TokensNeedTheirIssuerAndTls) {
  ServeOptions options = Good();
  options.tokens = tokens::Options{.keys_file = "keys.json", .algorithms = {"RS256", "HS256"}};
  const absl::Status status = Validate(options);
  EXPECT_THAT(status, HasFieldViolation("--token_issuer"));
  EXPECT_THAT(status, HasFieldViolation("--token_audience"));
  EXPECT_THAT(status, HasFieldViolation("--token_algorithms"));
  EXPECT_THAT(status, HasFieldViolation("--tls_cert_file"));
  options.tokens = tokens::Options{
      .keys_file = "keys.json", .issuer = "i", .audience = "a", .algorithms = {"RS256"}};
  options.tls = tls::Files();
  options.policy_file = "policy.yaml";
  EXPECT_THAT(Validate(options), IsOk());
  options.tokens->algorithms = {};
  EXPECT_THAT(Validate(options), HasFieldViolation("--token_algorithms"));
}

TEST(Options, PlainTextIsTakenOnThisMachineOnly) {
  ServeOptions options = Good();
  options.listen = "0.0.0.0:7600";
  options.operator_listen = "[::]:7603";
  const absl::Status status = Validate(options);
  EXPECT_THAT(status, HasFieldViolation("--listen"));
  EXPECT_THAT(status, HasFieldViolation("--operator_listen"));
  EXPECT_THAT(
      status.message(),
      ::testing::HasSubstr("--tls_cert_file, --tls_key_file, --tls_ca_file and --trust_domain"));
  options.allow_plaintext = true;
  EXPECT_THAT(Validate(options), IsOk());
  options.allow_plaintext = false;
  options.tls = tls::Files();
  options.policy_file = "policy.yaml";
  EXPECT_THAT(Validate(options), IsOk());
  options = Good();
  options.listen = "unix:/run/muster.sock";
  EXPECT_THAT(Validate(options), IsOk());
}

// gRPC takes the port modulo 65536, and would listen elsewhere.
TEST(Options, PortsArePorts) {
  for (const char* address : {"0.0.0.0:76000", "127.0.0.1:65536", "127.0.0.1:", "127.0.0.1:http"}) {
    ServeOptions options = Good();
    options.listen = options.metrics_listen = options.operator_listen = options.page_listen =
        options.health_listen = address;
    const absl::Status status = Validate(options);
    for (const char* flag : {"--listen", "--metrics_listen", "--operator_listen", "--page_listen",
                             "--health_listen"}) {
      EXPECT_THAT(status, HasFieldViolation(flag)) << address;
    }
  }
}

TEST(Options, ThePagesFlagsAreAboutAPage) {
  ServeOptions options = Good();
  options.page_hosts = {"muster.example.org"};
  options.page_cells = {{.cell = "west", .url = "http://west.example.org/"}};
  EXPECT_THAT(Validate(options), HasFieldViolation("--page_hosts"));
  EXPECT_THAT(Validate(options), HasFieldViolation("--page_cells"));
  options.page_listen = "127.0.0.1:7605";
  EXPECT_THAT(Validate(options), IsOk());
  // No request's Host is compared with a port or a scheme.
  for (const char* host : {"muster.example.org:8443", "https://muster.example.org", ""}) {
    options.page_hosts = {"muster.example.org", host};
    EXPECT_THAT(Validate(options), HasFieldViolation("--page_hosts")) << host;
  }
}

TEST(Options, EveryFaultIsNamedByItsFlag) {
  ServeOptions options = Good();
  options.services = {"quota", "brewery"};
  options.listen = "7600";
  options.operator_listen = "loopback";
  options.page_listen = "7605";
  options.health_listen = "7606";
  options.conninfo = "";
  options.lifecycle.loop.resync_interval = absl::ZeroDuration();
  options.quota.released_keep = absl::Minutes(59);
  options.lifecycle.request_keep.keep = absl::Minutes(14);
  options.capacity.gang_keep = -absl::Seconds(1);
  options.drain_delay = absl::Hours(1);
  options.lifecycle.loop.policy.preemption_notice = absl::ZeroDuration();
  options.lifecycle.loop.policy.preemption_end = absl::Milliseconds(900);
  options.lifecycle.orphans.interval = absl::ZeroDuration();
  options.lifecycle.orphans.policy.grace = absl::ZeroDuration();
  options.lifecycle.orphans.event_keep = absl::Seconds(59);
  options.lifecycle.orphans.event_most = 999;
  options.lifecycle.orphans.policy.most_a_round = -1;
  options.lifecycle.orphans.policy.mass_percent = 101;
  options.quota.metrics_organizations = 1001;
  const absl::Status status = Validate(options);
  for (const char* flag : {"--services",
                           "--listen",
                           "--operator_listen",
                           "--page_listen",
                           "--health_listen",
                           "--db_conninfo",
                           "--resync_interval",
                           "--released_keep",
                           "--request_keep",
                           "--gang_keep",
                           "--drain_delay",
                           "--preemption_notice",
                           "--preemption_end",
                           "--orphan_interval",
                           "--orphan_grace",
                           "--orphan_releases",
                           "--orphan_mass_percent",
                           "--event_keep",
                           "--event_most",
                           "--metrics_organizations"}) {
    EXPECT_THAT(status, HasFieldViolation(flag));
  }
  options.services.clear();
  EXPECT_THAT(Validate(options), HasFieldViolation("--services"));
}

}  // namespace
}  // namespace muster::musterd
