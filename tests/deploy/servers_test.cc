// deploy/kubernetes/servers: the files fit each other, and keep what is asked of servers.
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "services/rpc/limits.h"
#include "tests/deploy/files.h"

namespace muster::deploy {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

const Value& Object(absl::string_view file) {
  static auto& objects = *new std::map<std::string, Value>;
  const auto [at, is_new] = objects.try_emplace(std::string(file));
  if (is_new) at->second = Load(absl::StrCat("kubernetes/servers/", file, ".yaml")).at(0);
  return at->second;
}

const Value& Pod(absl::string_view file) { return At(Object(file), "spec.template.spec"); }

// The flags of musterd.flags.
std::map<std::string, std::string> Flags() {
  std::map<std::string, std::string> flags;
  for (const absl::string_view line :
       absl::StrSplit(TextOf("kubernetes/servers/musterd.flags"), '\n')) {
    if (!absl::StartsWith(line, "--")) continue;
    const std::pair<std::string, std::string> flag =
        absl::StrSplit(line.substr(2), absl::MaxSplits('=', 1));
    flags.insert(flag);
  }
  EXPECT_FALSE(flags.empty());
  return flags;
}

std::string PortOf(const std::string& address) { return address.substr(address.rfind(':') + 1); }

// Where a container has its volumes.
std::set<std::string> Mounts(const Value& pod) {
  std::set<std::string> mounts;
  for (const Value& mount : At(pod, "containers.0.volumeMounts").list)
    mounts.insert(At(mount, "mountPath").text);
  return mounts;
}

TEST(Servers, ProbesAskTheListenerWithoutTls) {
  const int64_t port = std::stoll(PortOf(Flags()["health_listen"]));
  const Value& container = At(Pod("deployment"), "containers.0");
  for (const char* probe : {"startupProbe", "livenessProbe", "readinessProbe"})
    EXPECT_EQ(At(container, absl::StrCat(probe, ".grpc.port")).integer, port) << probe;
  // "live" is what a database that is away does not touch (integration_life_test).
  EXPECT_EQ(At(container, "startupProbe.grpc.service").text, "live");
  EXPECT_EQ(At(container, "livenessProbe.grpc.service").text, "live");
  EXPECT_EQ(At(container, "readinessProbe.grpc.service").text, "");
}

TEST(Servers, PortsAreThoseOfTheFlags) {
  std::map<std::string, std::string> flags = Flags();
  std::map<std::string, int64_t> ports;
  for (const Value& port : At(Pod("deployment"), "containers.0.ports").list)
    ports[At(port, "name").text] = At(port, "containerPort").integer;
  EXPECT_EQ(ports, (std::map<std::string, int64_t>{
                       {"grpc", std::stoll(PortOf(flags["listen"]))},
                       {"metrics", std::stoll(PortOf(flags["metrics_listen"]))},
                       {"health", std::stoll(PortOf(flags["health_listen"]))}}));
  for (const Value& port : At(Object("service"), "spec.ports").list)
    EXPECT_EQ(At(port, "port").integer, ports[At(port, "targetPort").text]);
  // /metrics is for nobody but a Prometheus; operators' calls come by loopback.
  EXPECT_TRUE(absl::StartsWith(flags["operator_listen"], "127.0.0.1:"));
  for (const Value& rule : At(Object("network_policy"), "spec.ingress").list) {
    for (const Value& port : At(rule, "ports").list) {
      EXPECT_THAT((std::set<int64_t>{ports["grpc"], ports["metrics"]}),
                  Contains(At(port, "port").integer));
      EXPECT_EQ(At(port, "port").integer == ports["metrics"], rule.Find("from") != nullptr);
    }
  }
}

TEST(Servers, FilesThatFlagsNameAreMounted) {
  std::set<std::string> folders;
  for (const auto& [flag, value] : Flags()) {
    if (!absl::EndsWith(flag, "_file")) continue;
    folders.insert(value.substr(0, value.rfind('/')));
  }
  const std::set<std::string> mounts = Mounts(Pod("deployment"));
  EXPECT_THAT(mounts, IsSupersetOf(folders));
  const std::string flags(
      absl::StripPrefix(Strings(At(Pod("deployment"), "containers.0.args")).at(1), "--flagfile="));
  EXPECT_THAT(mounts, Contains(flags.substr(0, flags.rfind('/'))));
  EXPECT_THAT(mounts, Contains("/tmp")) << "the root is read-only";
  // What cert-manager writes is what musterd reads.
  EXPECT_EQ(At(Object("certificate"), "spec.secretName").text, "musterd-tls");
  bool tls = false;
  for (const Value& volume : At(Pod("deployment"), "volumes").list)
    tls = tls || At(volume, "secret.secretName").text == "musterd-tls";
  EXPECT_TRUE(tls);
  // An overlay for each service renames the certificate, but not what it is written to.
  EXPECT_THAT(TextOf("kubernetes/servers/README.md"), HasSubstr("a `secretName` of its own"));
}

// The operators' server ends before the other; each waits twice for the calls that are under way.
TEST(Servers, AreKilledOnlyAfterTheirCallsHaveEnded) {
  const absl::Duration needed = rpc::kDrainDelay + 4 * rpc::kShutdownGrace;
  EXPECT_FALSE(Flags().contains("drain_delay")) << "it is the default";
  EXPECT_GE(absl::Seconds(At(Pod("deployment"), "terminationGracePeriodSeconds").integer), needed);
  std::string timeout;
  for (const absl::string_view line : absl::StrSplit(TextOf("packages/musterd.service"), '\n')) {
    if (absl::StartsWith(line, "TimeoutStopSec="))
      timeout = std::string(absl::StripPrefix(line, "TimeoutStopSec="));
  }
  absl::Duration until_killed;
  ASSERT_TRUE(absl::ParseDuration(timeout, &until_killed)) << timeout;
  EXPECT_GE(until_killed, needed);
}

// Clients take a server under the name that they called it by only.
TEST(Servers, CertificateHasTheServicesName) {
  const std::string name = absl::StrCat(At(Object("service"), "metadata.name").text, ".",
                                        At(Object("namespace"), "metadata.name").text, ".svc");
  EXPECT_THAT(Strings(At(Object("certificate"), "spec.dnsNames")), Contains(name));
  // Operators come by `kubectl port-forward`.
  EXPECT_THAT(Strings(At(Object("certificate"), "spec.dnsNames")), Contains("localhost"));
  EXPECT_THAT(Strings(At(Object("certificate"), "spec.ipAddresses")), Contains("127.0.0.1"));
  EXPECT_EQ(At(Object("certificate"), "spec.uris").list.size(), 1u) << "one SPIFFE ID, no more";
  EXPECT_THAT(Strings(At(Object("certificate"), "spec.usages")),
              IsSupersetOf({"server auth", "client auth"}));
}

TEST(Servers, MayDoNothingButServe) {
  for (const char* file : {"deployment", "migrate_job"}) {
    const Value& pod = Pod(file);
    EXPECT_TRUE(At(pod, "securityContext.runAsNonRoot").boolean) << file;
    EXPECT_EQ(At(pod, "securityContext.seccompProfile.type").text, "RuntimeDefault") << file;
    EXPECT_EQ(At(pod, "automountServiceAccountToken").type, Value::Type::kBool) << file;
    EXPECT_FALSE(At(pod, "automountServiceAccountToken").boolean) << file;
    ASSERT_EQ(At(pod, "containers").list.size(), 1u);
    const Value& security = At(pod, "containers.0.securityContext");
    EXPECT_TRUE(At(security, "readOnlyRootFilesystem").boolean) << file;
    EXPECT_EQ(At(security, "allowPrivilegeEscalation").type, Value::Type::kBool) << file;
    EXPECT_FALSE(At(security, "allowPrivilegeEscalation").boolean) << file;
    EXPECT_EQ(Strings(At(security, "capabilities.drop")), std::vector<std::string>{"ALL"}) << file;
    EXPECT_FALSE(At(pod, "containers.0.resources.limits.memory").text.empty()) << file;
  }
  // The database's owner is not known to servers.
  for (const Value& volume : At(Pod("deployment"), "volumes").list)
    EXPECT_NE(At(volume, "secret.secretName").text,
              At(Pod("migrate_job"), "volumes.0.secret.secretName").text);
}

// It is the Job of migrations, under another name, and with one flag more.
TEST(Servers, NewHistoryIsAJobOfMigrations) {
  const auto job = [](absl::string_view file) {
    const std::string text = TextOf(file);
    return text.substr(text.find("apiVersion"));
  };
  constexpr char kLast[] = "- --db_conninfo_file=/etc/muster/database/conninfo\n";
  EXPECT_EQ(job("kubernetes/new-history/new_history_job.yaml"),
            absl::StrReplaceAll(job("kubernetes/servers/migrate_job.yaml"),
                                {{"musterd-migrate", "musterd-new-history"},
                                 {"- name: migrate\n", "- name: new-history\n"},
                                 {kLast, absl::StrCat(kLast, "        - --new_history\n")}}));
}

// How often a selector of Pods has matchLabels, at any depth.
int MatchLabelsOfPods(const Value& value) {
  const Value* selector = value.Find("podSelector");
  int found = selector != nullptr && selector->Find("matchLabels") != nullptr ? 1 : 0;
  for (const auto& field : value.map) found += MatchLabelsOfPods(field.second);
  for (const Value& item : value.list) found += MatchLabelsOfPods(item);
  return found;
}

// An overlay's labels would be added to them (kustomize, includeSelectors), and kube-dns has none.
TEST(Servers, NetworkPolicyIsNotNarrowedByAnOverlay) {
  EXPECT_EQ(MatchLabelsOfPods(Object("network_policy")), 0);
}

TEST(Servers, AreTwoAndStayApart) {
  EXPECT_EQ(At(Object("deployment"), "spec.replicas").integer, 2);
  EXPECT_EQ(At(Object("deployment"), "spec.strategy.rollingUpdate.maxUnavailable").integer, 0);
  EXPECT_EQ(At(Object("pod_disruption_budget"), "spec.maxUnavailable").integer, 1);
  std::set<std::string> over;
  for (const Value& spread : At(Pod("deployment"), "topologySpreadConstraints").list)
    over.insert(At(spread, "topologyKey").text);
  EXPECT_EQ(over, (std::set<std::string>{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}));
}

}  // namespace
}  // namespace muster::deploy
