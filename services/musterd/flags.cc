#include "services/musterd/flags.h"

#include "absl/flags/flag.h"
#include "services/musterd/options.h"

namespace {

// The defaults of the flags are those of the options that they fill.
muster::musterd::ServeOptions Defaults() { return {}; }

}  // namespace

ABSL_FLAG(std::vector<std::string>, services, {},
          "Services to run in this process, any of capacity,quota,lifecycle,configuration.");
ABSL_FLAG(std::string, listen, "127.0.0.1:7600",
          "host:port that gRPC is served on; port 0 picks a free one.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:7601",
          "host:port that /metrics is served on over HTTP; on loopback under `localhost` and "
          "addresses alone. Port 0 picks a free one.");
ABSL_FLAG(
    std::string, operator_listen, "127.0.0.1:7603",
    "host:port of the operators' listener: all that --listen serves and, only here, audits, "
    "comparisons and reflection, which are as dear as the state is large. Whoever reaches it "
    "may ask for them: keep it on loopback, or behind a network of the operators' own. Port 0 "
    "picks a free one.");
ABSL_FLAG(
    std::string, health_listen, "",
    "host:port of grpc.health.v1, and of nothing else, in plain text, for probes that cannot speak "
    "TLS (a kubelet's): service \"live\" (restart it when that is not SERVING), service \"\" "
    "(ready: its database is there; send it calls). The other listeners answer the same. Port 0 "
    "picks a free one. Empty: none.");
ABSL_FLAG(bool, allow_plaintext, false,
          "Takes calls in plain text, from callers without a name, also where others than this "
          "machine reach --listen or "
          "--operator_listen. Without it that needs the flags of TLS.");
ABSL_FLAG(
    std::string, policy_file, "",
    "File that says who may do what (YAML; deploy/security.md). One that is put in its place "
    "counts within seconds, whole, once it can be used; `musterd check-policy FILE` tells "
    "before. Required with the flags of TLS. Empty: who calls in plain text may do everything.");
ABSL_FLAG(
    std::string, token_keys_file, "",
    "File with the public keys of the issuer of bearer tokens, a JWK Set (RFC 7517): callers "
    "by TLS may show a token instead of a certificate, and are `token/SUBJECT` to the policy. "
    "One that is put in its place counts within seconds, once it can be used. With it go "
    "--token_issuer and --token_audience, and the flags of TLS. Empty: no token is taken.");
ABSL_FLAG(std::string, token_issuer, "",
          "Who issues the tokens: their claim `iss`, e.g. https://kubernetes.default.svc.");
ABSL_FLAG(std::string, token_audience, "",
          "Whom the tokens are for: it must be among their claim `aud`, e.g. muster.");
ABSL_FLAG(std::vector<std::string>, token_algorithms, muster::musterd::DefaultTokenAlgorithms(),
          "Algorithms that a token may be signed by: of RS256,RS384,RS512,ES256,ES384,ES512.");
ABSL_FLAG(int64_t, journal_keep, Defaults().journal_keep,
          "Changes that each service's journal keeps at most, 1000 to 1000000000: watches resume, "
          "and `musterctl history` reaches back, so far. About half a KB each.");
ABSL_FLAG(absl::Duration, journal_keep_time, Defaults().journal_keep_time,
          "How long it keeps them at most, 0 to 876000h (100 years); 0: as long as --journal_keep "
          "lets it.");
ABSL_FLAG(
    std::string, journal_packing, Defaults().journal_packing,
    "How changes are written to the journals: zstd, which takes a fifth of the bytes of a Node's "
    "change, or none. Whatever is there is read. none while a replica runs a release without this "
    "flag, which cannot read what is packed, and before the way back to one: deploy/install.md.");
ABSL_FLAG(int64_t, max_calls_per_caller, Defaults().caller_limits.calls,
          "Most calls that one caller may have under way at a time, 1 to 1000000; one more is "
          "answered RESOURCE_EXHAUSTED, up to half a second late to whoever is told so more than "
          "1000 times a second. A caller is who a policy file knows: a SPIFFE ID, or all who call "
          "in plain text from this machine.");
ABSL_FLAG(
    int64_t, max_running_calls_per_caller, Defaults().caller_limits.running_calls,
    "Of these calls, most that are at work at a time while others call, too, 1 to 1000000 and "
    "at most --max_calls_per_caller; the rest waits its turn, so that it holds nobody else up. One "
    "that has been at work for half a second counts no more. More: the caller gets more done; "
    "less: its neighbours wait less.");
ABSL_FLAG(int64_t, max_watches_per_caller, Defaults().caller_limits.watches,
          "Most watches that one caller may have open, 1 to 1000000 and at most --max_watches, "
          "likewise.");
ABSL_FLAG(int64_t, max_watches, Defaults().caller_limits.all_watches,
          "Most watches that all callers together may have open at this process, 1 to 1000000, "
          "likewise; the last tenth is for callers with fewer than 100.");
ABSL_FLAG(
    int64_t, max_request_bytes_per_caller, Defaults().caller_limits.request_bytes,
    "Most bytes that the requests of these calls and watches of one caller may have together, "
    "1048576 to 1073741824 and at least --max_request_bytes, likewise. In memory a request "
    "takes some times its bytes: keep it well below --memory_limit.");
ABSL_FLAG(
    double, max_calls_per_second_per_caller, Defaults().caller_limits.calls_per_second,
    "Most calls that one caller may make a second, on average, likewise; 0 to 1000000; 0: any "
    "number.");
ABSL_FLAG(
    double, max_changes_per_minute_per_organization, Defaults().caller_limits.changes_per_minute,
    "Most changes (resources, events, kept answers) that the callers of one organization may make "
    "a minute, on average, by what they ask of one process; 0 to 1000000000; 0: any number. One "
    "that takes more than 4096 bytes in the journal counts once for each 4096 begun. What is "
    "reported of Nodes, and what follows from what was asked, does not count.");
ABSL_FLAG(
    int64_t, max_pools_per_organization, Defaults().lifecycle.organizations.pools,
    "Most NodePools that one organization may have, 1 to 1000000, those that are being deleted "
    "among them; one more is answered RESOURCE_EXHAUSTED.");
ABSL_FLAG(int64_t, max_clusters_per_organization, Defaults().lifecycle.organizations.clusters,
          "Most clusters that one organization may have, 1 to 1000000, likewise.");
ABSL_FLAG(int, max_request_bytes, Defaults().max_request_bytes,
          "Largest request that is taken, 1048576 to 67108864 and at most "
          "--max_request_bytes_per_caller; a larger one is answered "
          "RESOURCE_EXHAUSTED before it is read. Muster's own clients make batches of 524288 at "
          "most.");
ABSL_FLAG(int64_t, memory_limit, Defaults().memory_limit,
          "Memory that the process may take, in bytes: above nine tenths of it every new call, but "
          "for operators' small ones, is answered UNAVAILABLE. At least 67108864; 0: that of its "
          "control group, if there "
          "is one.");
ABSL_FLAG(std::string, page_listen, "",
          "host:port that a page for people is served on over HTTP: the fleet, its pools, quotas "
          "and queue as they change, read only, of all organizations. Whoever reaches it reads all "
          "of that: keep it on loopback (e.g. 127.0.0.1:7605), or behind a proxy that knows your "
          "operators. Port 0 picks a free one. Empty: no page.");
ABSL_FLAG(
    std::vector<std::string>, page_hosts, {},
    "Names, without a port, that the page of --page_listen is reached by beside addresses and "
    "`localhost`, e.g. the proxy's: "
    "requests under any other are refused, so that no other site's script reads the page in "
    "an operator's browser.");
ABSL_FLAG(std::vector<std::string>, page_cells, {},
          "Pages of other cells that the page of --page_listen leads to, NAME=URL each, e.g. "
          "west=http://muster.west.example.org:7605/.");
ABSL_FLAG(std::string, port_file, "",
          "File that the ports are written to once the server takes calls: `grpc <port>`, "
          "`metrics <port>`, `operator <port>` and, where there is one, `page <port>` and "
          "`health <port>`, a line each. "
          "Empty: none.");
ABSL_FLAG(std::string, db_conninfo, "",
          "libpq connection string of the database, without user for `serve` (each service "
          "connects as muster_<service>) and with an "
          "owner's for `migrate`. Several hosts are allowed: the one that takes writes is used. "
          "Passwords: passfile=. Of application_name, connect_timeout, keepalives_idle, "
          "keepalives_interval, target_session_attrs and tcp_user_timeout musterd's own values "
          "count; `options` is refused.");
ABSL_FLAG(std::string, db_conninfo_file, "",
          "File whose first line is the connection string, for one with secrets (values with "
          "spaces in single quotes); instead of --db_conninfo. `serve` makes new connections by "
          "what is put in its place within seconds, once it can be used; open ones stay.");
ABSL_FLAG(std::string, migrations_dir, "migrations",
          "Folder of the schemas' migrations. A server refuses a schema that lacks one of them "
          "which is not optional, and one of a later release that does not say that this one can "
          "run on it.");
ABSL_FLAG(std::string, quota_address, "",
          "host:port of the quota service, when lifecycle runs without it in this process. "
          "dns:///host:port if the name stands for several replicas: only so is one passed over "
          "that says NOT_SERVING.");
ABSL_FLAG(std::string, capacity_address, "",
          "host:port of the capacity service, when lifecycle runs without it in this process; "
          "dns:///host:port as with --quota_address.");
ABSL_FLAG(std::string, configuration_address, "",
          "host:port of the configuration service, when lifecycle runs without it in this process; "
          "dns:///host:port as with --quota_address.");
ABSL_FLAG(absl::Duration, resync_interval, Defaults().lifecycle.loop.resync_interval,
          "How often lifecycle looks at a pool that nothing happened to, 1s to 24h.");
ABSL_FLAG(absl::Duration, boot_deadline, Defaults().lifecycle.loop.policy.boot_deadline,
          "How long a machine may take to boot before it is given back as broken, 1s to 24h.");
ABSL_FLAG(absl::Duration, drain_deadline, Defaults().lifecycle.loop.policy.drain_deadline,
          "How long a drain may take before the rest is deleted (PreferIdle, deletion, repair and "
          "reboots that evict), 1s to 24h.");
ABSL_FLAG(absl::Duration, cordon_settle, Defaults().lifecycle.loop.policy.cordon_settle,
          "How long a Node stays cordoned before its drain or reboot, so that work that came is "
          "seen, 0 to 1h.");
ABSL_FLAG(
    absl::Duration, cordon_patience, Defaults().lifecycle.loop.policy.cordon_patience,
    "How long a drain that evicts nothing, or the reboot of an idle Node, waits for the agent to "
    "say that the Node is cordoned, 0 to 1h.");
ABSL_FLAG(
    absl::Duration, preemption_notice, Defaults().lifecycle.loop.policy.preemption_notice,
    "How long the work of a spot Node that is preempted is warned before it is asked to leave. "
    "Lifecycle and capacity, which takes a reclaim back until then, both go by it: tell them the "
    "same where they run apart. Users are promised the default; shorter for trials. 1s to "
    "23h59m59s.");
ABSL_FLAG(absl::Duration, preemption_end, Defaults().lifecycle.loop.policy.preemption_end,
          "How long after the warning a spot Node that is preempted goes at the latest; above "
          "--preemption_notice. Users are promised the default. 2s to 24h.");
ABSL_FLAG(
    absl::Duration, triage_grace, Defaults().lifecycle.loop.policy.triage_grace,
    "How long an unhealthy Node may take to recover before it is replaced (one that has work, "
    "by default, once it is idle: disableUnhealthyNodeEviction), 0 to 24h.");
ABSL_FLAG(int, give_up_percent, static_cast<int>(Defaults().lifecycle.loop.policy.give_up_percent),
          "Most Nodes of a pool, in percent and at least one, that are given up within "
          "--give_up_interval because time went by: boots that did not end, Nodes that did not "
          "recover. 1 to 100.");
ABSL_FLAG(absl::Duration, give_up_interval, Defaults().lifecycle.loop.policy.give_up_interval,
          "See --give_up_percent, 1s to 24h.");
ABSL_FLAG(int, boot_failures_to_disable, Defaults().configuration.boot_failures_to_disable,
          "Boot failures in a row on different machines that disable a configuration, 1 to 64.");
ABSL_FLAG(absl::Duration, lease_ttl, Defaults().lifecycle.loop.lease_ttl,
          "How long a lifecycle replica that is gone holds the right to reconcile, 1s to 5m.");
ABSL_FLAG(absl::Duration, released_keep, Defaults().quota.released_keep,
          "How long quota, capacity and configuration refuse the uid of a pool that was released: "
          "longer than any call can be under way, 1h to 8760h.");
ABSL_FLAG(absl::Duration, request_keep, Defaults().quota.request_keep.keep,
          "How long the answer to a request with a request_id is kept, so that the same again is "
          "answered the same and done once: longer than anybody repeats a call, 15m to 8760h.");
ABSL_FLAG(
    absl::Duration, gang_keep, Defaults().capacity.gang_keep,
    "How long a claim that asks for all at once keeps what is free from default claims behind it, "
    "from its request on; 0: never. It has spot machines reclaimed after that, too, once they and "
    "what is free complete it. 0 to 8760h.");
ABSL_FLAG(absl::Duration, audit_interval, Defaults().quota.audit_interval,
          "How often quota and capacity audit their own books, 1s to 24h.");
ABSL_FLAG(
    absl::Duration, orphan_interval, Defaults().lifecycle.orphans.interval,
    "How often the leader of lifecycle holds the books of the services against each other, 1s "
    "to 24h.");
ABSL_FLAG(
    absl::Duration, orphan_grace, Defaults().lifecycle.orphans.policy.grace,
    "How long a holding, claim or configuration has had no pool before it is given back, and a "
    "difference between the books stands before it counts, 1s to 24h. Longer than any call "
    "takes.");
ABSL_FLAG(int, orphan_releases, Defaults().lifecycle.orphans.policy.most_a_round,
          "Pools that do not exist whose rest is given back in one interval, 0 to 1000; 0: none.");
ABSL_FLAG(int, orphan_mass_percent, Defaults().lifecycle.orphans.policy.mass_percent,
          "When more than one, and more than this share of all pools that quota, capacity and "
          "configuration know, do not exist, nothing is given back, 0 to 100: lifecycle may have "
          "been restored to a past. Below 100 nothing is given back either that was asked for "
          "before such a restore. Set to 100 once a person has looked.");
ABSL_FLAG(absl::Duration, event_keep, Defaults().lifecycle.orphans.event_keep,
          "How long events of a NodePool that is gone are kept after they were last seen, 1m to "
          "8760h; they go within an --orphan_interval after that.");
ABSL_FLAG(int64_t, event_most, Defaults().lifecycle.orphans.event_most,
          "Events of all NodePools that are gone that are kept at most, however young, 1000 to "
          "100000000: about 1 KB of memory each; the oldest go first.");
ABSL_FLAG(int, metrics_organizations, Defaults().quota.metrics_organizations,
          "Organizations that /metrics shows with what they hold: those that hold most, and all "
          "others as one. 0 to 1000; 0: none.");
ABSL_FLAG(
    absl::Duration, drain_delay, Defaults().drain_delay,
    "How long calls are still taken after SIGTERM, so that balancers see NOT_SERVING, 0 to 5m. "
    "What kills the process must wait for 40s longer (systemd: TimeoutStopSec, 90s in the package; "
    "Kubernetes: terminationGracePeriodSeconds, 60 in deploy/kubernetes/servers), or calls that "
    "are under way break.");

namespace muster::musterd {

std::vector<std::string> DefaultTokenAlgorithms() { return {"RS256", "ES256"}; }

}  // namespace muster::musterd
