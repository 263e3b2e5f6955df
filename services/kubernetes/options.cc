#include "services/kubernetes/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/address.h"
#include "services/common/error.h"
#include "services/common/random_bits.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/daemon/daemon.h"
#include "services/daemon/findings.h"
#include "services/daemon/flags.h"
#include "services/kubernetes/api/kubeconfig.h"
#include "services/tls/flags.h"

ABSL_DECLARE_FLAG(std::string, tls_cert_file);
ABSL_DECLARE_FLAG(std::string, tls_key_file);
ABSL_DECLARE_FLAG(std::string, tls_ca_file);
ABSL_DECLARE_FLAG(std::string, trust_domain);

ABSL_FLAG(std::string, organization, "", "Muster's id of the organization. Required.");
ABSL_FLAG(std::string, cluster, "",
          "Muster's id of the cluster that this adapter serves. Required.");
ABSL_FLAG(std::string, zone, "",
          "Zone of the cluster, e.g. US-EAST-04A; cannot be changed later. Required.");
ABSL_FLAG(
    std::string, kubernetes_version, "",
    "Kubernetes minor version that Nodes of the cluster boot, e.g. 1.33. Empty: as Muster has "
    "it, or the newest release.");
ABSL_FLAG(std::string, server, "127.0.0.1:7600",
          "Muster's API, a gRPC target: host:port; dns:///host:port if the name stands for several "
          "replicas: only so is one passed over that says NOT_SERVING.");
ABSL_FLAG(std::string, token_file, "",
          "File with a bearer token, which Muster knows the adapter by instead of a certificate; "
          "read again at every call. With it goes --tls_ca_file, read at the start only, and no "
          "other flag of TLS. For a proxy that ends TLS, or where a service account's token is at "
          "hand. Empty: none.");
ABSL_FLAG(std::string, kubeconfig, "",
          "File that says where the API server is and who we are to it. Empty: the service account "
          "of the Pod that this runs in.");
ABSL_FLAG(std::string, kube_context, "",
          "Context of --kubeconfig, which must be given with it. Empty: its current-context.");
ABSL_FLAG(std::string, condition_edition, "current",
          "Names of conditions and events: current, first (those of the API's first edition), or "
          "both (conditions of both, events of the current).");
ABSL_FLAG(bool, ready_condition, false,
          "Whether NodePools show, beside the conditions of the edition, Ready (at its target and "
          "in service), Reconciling or Stalled where it is not, and status.observedGeneration, as "
          "kstatus reads them; for `kubectl wait --for=condition=Ready`, Flux, Argo CD and Helm.");
ABSL_FLAG(
    std::vector<std::string>, control_plane_namespaces,
    std::vector<std::string>({"kube-system", "hpc-verification", "node-problem-detector",
                              "muster-system"}),
    "Namespaces that are labelled as the control plane's; all others are the organization's.");
ABSL_FLAG(
    bool, adopt_cluster, false,
    "Where nobody has told Muster yet which Kubernetes the cluster is: it is this one, even if "
    "the cluster has NodePools. One that is another Kubernetes is refused all the same.");
ABSL_FLAG(int, removals_unasked, 5,
          "NodePools or Nodes that may go in ten minutes because one side does not know them, 0 to "
          "100000; or --removals_unasked_percent of them, if that is more. More are held until "
          "`musterctl allow removals`.");
ABSL_FLAG(int, removals_unasked_percent, 10, "See --removals_unasked; 0 to 100.");
ABSL_FLAG(int, events_per_minute, 3000,
          "Most writes of events a minute, 1 to 60000; a sixth of them at once after a rest. What "
          "comes faster waits, warnings for less long than others.");
ABSL_FLAG(
    absl::Duration, refusal_retry, absl::Seconds(15),
    "When a NodePool is tried again that is beyond a limit of its organization, or whose "
    "cluster Muster does not have; one whose spec is refused after twenty times that. 100ms to "
    "1h.");
ABSL_FLAG(int, node_pool_workers, 4, "NodePools that are worked on at a time, 1 to 32.");
ABSL_FLAG(int, node_workers, 6, "Nodes that are worked on at a time, 1 to 32.");
ABSL_FLAG(std::string, lease_namespace, "muster-system", "Namespace of the Lease.");
ABSL_FLAG(std::string, lease_name, "muster-kubernetes",
          "The Lease by which replicas agree who works.");
ABSL_FLAG(
    std::string, lease_identity, "",
    "Of this replica, different from all others'. Empty: host name, process and a random part.");
ABSL_FLAG(absl::Duration, lease_duration, absl::Seconds(15),
          "How long others wait after the last renewal, 1s to 1h; above --lease_renew_deadline.");
ABSL_FLAG(absl::Duration, lease_renew_deadline, absl::Seconds(10),
          "How long it works without a renewal; above --lease_retry_period.");
ABSL_FLAG(absl::Duration, lease_retry_period, absl::Seconds(2),
          "Between renewals, and between attempts to take the Lease; at least 100ms.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:7604",
          "host:port that /metrics is served on over HTTP; on loopback under `localhost` and "
          "addresses alone. Port 0 picks a free one.");
ABSL_FLAG(
    std::string, health_listen, "127.0.0.1:7605",
    "host:port of grpc.health.v1, and of nothing else, in plain text, for whoever reaches it: "
    "service \"\" and \"live\" (alive), service \"ready\" (waits for the Lease, or leads, has seen "
    "both sides, and Muster has the cluster); port 0 picks a free one.");
ABSL_FLAG(std::string, port_file, "",
          "File that the ports are written to: `metrics <port>` and `health <port>`, a line each. "
          "Empty: none.");

namespace muster::kubernetes {
namespace {

using Faults = daemon::Findings;

constexpr std::array kEditions = {std::pair("current", Edition::kCurrent),
                                  std::pair("first", Edition::kFirst),
                                  std::pair("both", Edition::kBoth)};

void Need(bool holds, absl::string_view flag, absl::string_view allowed, Faults& faults) {
  if (!holds) faults.Add({std::string(flag), std::string(allowed)});
}

std::string MakeIdentity() {
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  return absl::StrCat(host.data(), "_", getpid(), "_", absl::Hex(RandomBits(), absl::kZeroPad16));
}

void ReadCluster(AdapterOptions& options, Faults& faults) {
  options.organization = absl::GetFlag(FLAGS_organization);
  options.cluster = absl::GetFlag(FLAGS_cluster);
  options.zone = absl::GetFlag(FLAGS_zone);
  options.kubernetes_version = absl::GetFlag(FLAGS_kubernetes_version);
  options.muster_server = absl::GetFlag(FLAGS_server);
  constexpr char kLabel[] = "is required: 1 to 63 of lower-case letters, digits and `-`.";
  Need(IsDnsLabel(options.organization), "--organization", kLabel, faults);
  Need(IsDnsLabel(options.cluster), "--cluster", kLabel, faults);
  Need(IsZoneId(options.zone), "--zone", "is required: a zone's id, e.g. US-EAST-04A.", faults);
  Need(IsTarget(options.muster_server), "--server", kTargetForms, faults);
  const std::string edition = absl::GetFlag(FLAGS_condition_edition);
  bool known = false;
  for (const auto& [word, value] : kEditions) {
    if (edition != word) continue;
    options.edition = value;
    known = true;
  }
  options.ready_condition = absl::GetFlag(FLAGS_ready_condition);
  Need(options.kubernetes_version.empty() || IsMinorVersion(options.kubernetes_version),
       "--kubernetes_version", "must be a minor version, e.g. 1.33, or empty.", faults);
  Need(known, "--condition_edition", "must be current, first or both.", faults);
  for (const std::string& name : absl::GetFlag(FLAGS_control_plane_namespaces)) {
    Need(IsDnsLabel(name), "--control_plane_namespaces", "holds what is no namespace's name.",
         faults);
    options.control_plane_namespaces.insert(name);
  }
}

void ReadBounds(AdapterOptions& options, Faults& faults) {
  options.events_a_minute = absl::GetFlag(FLAGS_events_per_minute);
  options.pool_workers = absl::GetFlag(FLAGS_node_pool_workers);
  options.node_workers = absl::GetFlag(FLAGS_node_workers);
  const auto within = [&](const char* flag, int value, int most) {
    Need(value >= 1 && value <= most, flag, absl::StrCat("must be 1 to ", most, "."), faults);
  };
  within("--events_per_minute", options.events_a_minute, 60'000);
  within("--node_pool_workers", options.pool_workers, 32);
  within("--node_workers", options.node_workers, 32);
  options.refusal_retry = absl::GetFlag(FLAGS_refusal_retry);
  Need(options.refusal_retry >= absl::Milliseconds(100) && options.refusal_retry <= absl::Hours(1),
       "--refusal_retry", "must be 100ms to 1h.", faults);
  options.adopt = absl::GetFlag(FLAGS_adopt_cluster);
  options.removals_unasked.count = absl::GetFlag(FLAGS_removals_unasked);
  options.removals_unasked.percent = absl::GetFlag(FLAGS_removals_unasked_percent);
  const BrakeLimits& limits = options.removals_unasked;
  Need(limits.count >= 0 && limits.count <= 100'000, "--removals_unasked", "must be 0 to 100000.",
       faults);
  Need(limits.percent >= 0 && limits.percent <= 100, "--removals_unasked_percent",
       "must be 0 to 100.", faults);
}

void ReadLease(Leader::Options& lease, Faults& faults) {
  lease.name_space = absl::GetFlag(FLAGS_lease_namespace);
  lease.lease = absl::GetFlag(FLAGS_lease_name);
  lease.identity = absl::GetFlag(FLAGS_lease_identity);
  if (lease.identity.empty()) lease.identity = MakeIdentity();
  lease.lease_duration = absl::GetFlag(FLAGS_lease_duration);
  lease.renew_deadline = absl::GetFlag(FLAGS_lease_renew_deadline);
  lease.retry_period = absl::GetFlag(FLAGS_lease_retry_period);
  Need(std::all_of(lease.identity.begin(), lease.identity.end(),
                   [](unsigned char c) { return absl::ascii_isgraph(c); }),
       "--lease_identity", "must be printable characters without spaces.", faults);
  Need(IsDnsLabel(lease.name_space), "--lease_namespace", "must be a namespace's name.", faults);
  Need(IsDnsSubdomain(lease.lease), "--lease_name", "must be a DNS subdomain.", faults);
  Need(lease.lease_duration >= absl::Seconds(1) && lease.lease_duration <= absl::Hours(1),
       "--lease_duration", "must be 1s to 1h.", faults);
  Need(lease.renew_deadline < lease.lease_duration, "--lease_renew_deadline",
       "must be below --lease_duration.", faults);
  Need(lease.retry_period >= absl::Milliseconds(100) && lease.retry_period < lease.renew_deadline,
       "--lease_retry_period", "must be at least 100ms and below --lease_renew_deadline.", faults);
}

// A certificate, a token, or neither.
void ReadCredentialFlags(Options& options, Faults& faults) {
  const std::string token = absl::GetFlag(FLAGS_token_file);
  if (token.empty()) {
    auto tls = tls::FilesFromFlags(tls::Use::kClient);
    faults.Add("--tls_cert_file", tls.status());
    if (tls.ok()) options.tls = *std::move(tls);
    return;
  }
  for (const auto& [flag, value] :
       {std::pair("--tls_cert_file", absl::GetFlag(FLAGS_tls_cert_file)),
        std::pair("--tls_key_file", absl::GetFlag(FLAGS_tls_key_file)),
        std::pair("--trust_domain", absl::GetFlag(FLAGS_trust_domain))})
    Need(value.empty(), flag, "must not be given beside --token_file: say one of them.", faults);
  options.token = {.authority = absl::GetFlag(FLAGS_tls_ca_file), .token = token};
  Need(!options.token->authority.empty(), "--tls_ca_file", "is required with --token_file.",
       faults);
}

absl::Status Read(Options& options) {
  Faults faults;
  ReadCluster(options.adapter, faults);
  ReadBounds(options.adapter, faults);
  ReadLease(options.adapter.lease, faults);
  // An audit log tells the replicas apart.
  absl::StrAppend(&options.adapter.user_agent, "/", options.adapter.lease.identity);
  options.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  options.health_listen = absl::GetFlag(FLAGS_health_listen);
  options.port_file = absl::GetFlag(FLAGS_port_file);
  Need(IsHostPort(options.metrics_listen), "--metrics_listen", kHostPortForm, faults);
  Need(IsListenAddress(options.health_listen), "--health_listen", kListenForms, faults);
  const std::string kubeconfig = absl::GetFlag(FLAGS_kubeconfig);
  // Else the Pod's own cluster would be served in place of the one that the context names.
  Need(!kubeconfig.empty() || absl::GetFlag(FLAGS_kube_context).empty(), "--kube_context",
       "needs --kubeconfig.", faults);
  auto endpoint = kubeconfig.empty()
                      ? InCluster()
                      : LoadKubeconfig(kubeconfig, absl::GetFlag(FLAGS_kube_context));
  faults.Add("--kubeconfig", endpoint.status());
  if (endpoint.ok()) options.adapter.endpoint = *std::move(endpoint);
  ReadCredentialFlags(options, faults);
  return faults.status();
}

}  // namespace

absl::StatusOr<Options> OptionsFromFlags() {
  // Not on the stack: there g++ 12 warns of members that were never set.
  const auto options = std::make_unique<Options>();
  RETURN_IF_ERROR(Read(*options));
  return *options;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TokenCredentials(
    const client::CredentialFiles& files) {
  auto credentials = client::ReadCredentials(files);
  auto detail = error::DetailOf(credentials.status());
  if (!detail || detail->fields.empty()) return credentials;
  for (error::FieldViolation& fault : detail->fields)
    fault.field = fault.field == "tokenFile" ? "--token_file" : "--tls_ca_file";
  return error::InvalidFields(std::move(detail->fields));
}

absl::Status CheckFlags() {
  Faults faults;
  const auto of_daemon = daemon::OptionsFromFlags();
  faults.Add("--log_level", of_daemon.status());
  if (of_daemon.ok()) faults.Add("--log_file", daemon::CheckFiles(*of_daemon));
  faults.Add("--organization", OptionsFromFlags().status());
  faults.Add("--port_file",
             daemon::CheckReplaceable("--port_file", absl::GetFlag(FLAGS_port_file)));
  // What is wrong with the flags themselves was said.
  Faults said;
  const auto options = std::make_unique<Options>();
  ReadCredentialFlags(*options, said);
  if (!said.status().ok()) return faults.status();
  faults.Add("--tls_cert_file", tls::CertificateFiles::CreateIfAny(options->tls).status());
  if (options->token) faults.Add("--token_file", TokenCredentials(*options->token).status());
  return faults.status();
}

}  // namespace muster::kubernetes
