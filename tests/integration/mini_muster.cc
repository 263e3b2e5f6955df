#include "tests/integration/mini_muster.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kStartPatience = absl::Seconds(60);
constexpr absl::Duration kHealthTimeout = absl::Seconds(20);

std::string SourceFile(const std::string& path) {
  return absl::StrCat(MigrationsDir(), "/../", path);
}

// Whether --timeout limits each call of the command, and not, as where it waits, the whole of it.
// Tests then raise it: a busy machine may stand still for longer than people wait.
bool IsOneCall(const std::vector<std::string>& words) {
  for (const char* waits : {"debug", "delete", "rollout", "wait"}) {
    if (words.front() == waits) return false;
  }
  return std::none_of(words.begin(), words.end(), [](const std::string& word) {
    return absl::StartsWith(word, "--timeout") || absl::StartsWith(word, "--wait");
  });
}

}  // namespace

MiniMuster::MiniMuster(Options options)
    : options_(std::move(options)), ports_(options_.processes.size()) {
  if (options_.own_cluster) own_cluster_ = PostgresCluster::StartOwn();
  database_ = own_cluster_
                  ? std::make_unique<TestDatabase>(std::vector<std::string>{}, *own_cluster_)
                  : std::make_unique<TestDatabase>();
  musterds_.resize(options_.processes.size());
  if (options_.tls) {
    authority_ = std::make_unique<Authority>();
    RenewCertificate();
    std::vector<std::string> clients = {"fleetsim", "muster-kubernetes", "ci"};
    clients.insert(clients.end(), options_.callers.begin(), options_.callers.end());
    for (const std::string& client : clients) RenewCaller(client);
    WritePolicy(options_.bindings);
  }
  Start();
}

MiniMuster::~MiniMuster() {
  ExpectNoneEnded();
  if (options_.audit_books && AllRun() && !::testing::Test::HasFatalFailure()) {
    if (const std::string wrong = AuditBooks(); !wrong.empty())
      ADD_FAILURE() << "the books are not closed:\n" << wrong << LogEnds();
  }
  fleetsim_.reset();
  musterds_.clear();
  database_.reset();
  own_cluster_.reset();
}

void MiniMuster::ExpectNoneEnded() const {
  const auto expect_none = [this](Child* program, const std::string& name) {
    const auto code = program == nullptr ? std::nullopt : program->EndOfItsOwn();
    if (code.has_value()) {
      ADD_FAILURE() << name << " ended by itself, with exit code " << *code << "\n" << LogEnds();
    }
  };
  for (size_t process = 0; process < musterds_.size(); ++process)
    expect_none(musterds_[process].get(), absl::StrCat("musterd ", process));
  expect_none(fleetsim_.get(), "fleetsim");
}

void MiniMuster::Start() {
  ExpectNoneEnded();
  for (size_t process = 0; process < musterds_.size(); ++process) {
    if (musterds_[process] == nullptr || !musterds_[process]->running()) StartMusterd(process);
  }
  if (fleetsim_ != nullptr && fleetsim_->running()) return;
  std::vector<std::string> command = {Binary("fleetsim"),
                                      absl::StrCat("--target=", address(LifecycleProcess()))};
  command.insert(command.end(), options_.fleetsim_flags.begin(), options_.fleetsim_flags.end());
  for (const std::string& flag : TlsFlags("fleetsim")) command.push_back(flag);
  fleetsim_ = std::make_unique<Child>(command, File("fleetsim.log"));
}

void MiniMuster::StartMusterd(size_t process) {
  const std::string port_file = File(absl::StrCat("ports", process));
  std::filesystem::remove(port_file);
  std::vector<std::string> command = options_.musterd_prefix;
  const std::vector<std::string> musterd = {
      Binary("musterd"),
      "serve",
      absl::StrCat("--services=", options_.processes[process]),
      absl::StrCat("--listen=127.0.0.1:", ports_[process].grpc.number()),
      absl::StrCat("--metrics_listen=127.0.0.1:", ports_[process].metrics.number()),
      absl::StrCat("--operator_listen=127.0.0.1:", ports_[process].operators.number()),
      absl::StrCat("--port_file=", port_file),
      absl::StrCat("--db_conninfo=", database_->conninfo_without_user()),
      absl::StrCat("--migrations_dir=", MigrationsDir()),
      "--drain_delay=0s",
      "--lease_ttl=1s",
      "--cordon_settle=200ms"};
  command.insert(command.end(), musterd.begin(), musterd.end());
  command.insert(command.end(), options_.musterd_flags.begin(), options_.musterd_flags.end());
  for (const std::string& flag : TlsFlags("musterd")) command.push_back(flag);
  if (options_.tls) command.push_back(absl::StrCat("--policy_file=", File("policy.yaml")));
  for (size_t peer = 0; peer < process; ++peer) {
    for (absl::string_view service : absl::StrSplit(options_.processes[peer], ',')) {
      if (service != "lifecycle")
        command.push_back(absl::StrCat("--", service, "_address=", address(peer)));
    }
  }
  musterds_[process] =
      std::make_unique<Child>(command, File(absl::StrCat("musterd", process, ".log")));
  for (const absl::Time give_up = absl::Now() + kStartPatience;
       !std::filesystem::exists(port_file);) {
    if (!musterds_[process]->running() || absl::Now() > give_up)
      throw std::runtime_error("musterd did not start:\n" + LogEnds());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::ifstream in(port_file);
  std::string listener;
  for (int port = 0; in >> listener >> port;) {
    if (listener == "page") ports_[process].page = port;
  }
}

int MiniMuster::open_files(size_t process) const {
  const std::filesystem::directory_iterator files(absl::StrCat("/proc/", pid(process), "/fd"));
  return static_cast<int>(std::distance(begin(files), end(files)));
}

size_t MiniMuster::LifecycleProcess() const {
  for (size_t process = 0; process < options_.processes.size(); ++process) {
    if (absl::StrContains(options_.processes[process], "lifecycle")) return process;
  }
  throw std::runtime_error("no process serves lifecycle");
}

bool MiniMuster::AllRun() const {
  return std::all_of(musterds_.begin(), musterds_.end(),
                     [](const auto& musterd) { return musterd != nullptr && musterd->running(); });
}

std::string MiniMuster::address(size_t process) const {
  return absl::StrCat("127.0.0.1:", ports_[process].grpc.number());
}

std::string MiniMuster::metrics_address(size_t process) const {
  return absl::StrCat("127.0.0.1:", ports_[process].metrics.number());
}

std::string MiniMuster::page_address(size_t process) const {
  return absl::StrCat("127.0.0.1:", ports_[process].page);
}

std::shared_ptr<grpc::Channel> MiniMuster::channel(size_t process) const {
  return ChannelTo(ports_[process].grpc.number());
}

std::shared_ptr<grpc::Channel> MiniMuster::operator_channel(size_t process) const {
  return ChannelTo(ports_[process].operators.number());
}

std::shared_ptr<grpc::Channel> MiniMuster::ChannelAs(const std::string& name,
                                                     bool to_operators) const {
  const Ports& ports = ports_[0];
  return ChannelTo((to_operators ? ports.operators : ports.grpc).number(), name);
}

std::shared_ptr<grpc::Channel> MiniMuster::ChannelTo(int port, const std::string& name) const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  return grpc::CreateCustomChannel(
      absl::StrCat("127.0.0.1:", port),
      authority_ == nullptr ? grpc::InsecureChannelCredentials() : CredentialsOf(name), arguments);
}

void MiniMuster::RenewCertificate(absl::Time begins, absl::Time ends) {
  authority_->Issue("musterd", "subjectAltName=IP:127.0.0.1,URI:spiffe://muster.test/musterd",
                    begins, ends);
}

void MiniMuster::RenewCaller(const std::string& name) {
  authority_->Issue(name, absl::StrCat("subjectAltName=URI:spiffe://muster.test/", name,
                                       "\nextendedKeyUsage=clientAuth"));
}

void MiniMuster::WritePolicy(const std::vector<std::string>& bindings,
                             absl::string_view adapters_cluster) const {
  std::vector<std::string> lines = {"bindings:"};
  const auto bind = [&](absl::string_view role, absl::string_view caller, absl::string_view scope) {
    lines.push_back(absl::StrCat("- {role: ", role, ", principals: [\"spiffe://muster.test/",
                                 caller, "\"], ", scope, "}"));
  };
  constexpr char kAll[] = "everywhere: true";
  bind("service", "musterd", kAll);
  bind("agent", "fleetsim", kAll);
  bind("operator", "fleetsim", kAll);
  for (const char* role : {"operator", "service", "agent"}) bind(role, "ci", kAll);
  bind("adapter", "muster-kubernetes",
       absl::StrCat("clusters: [organizations/acme/clusters/", adapters_cluster, "]"));
  lines.insert(lines.end(), bindings.begin(), bindings.end());
  const std::string path = File("policy.yaml");
  std::ofstream(absl::StrCat(path, ".new")) << absl::StrJoin(lines, "\n") << "\n";
  std::filesystem::rename(absl::StrCat(path, ".new"), path);
}

std::vector<std::string> MiniMuster::TlsFlags(const std::string& name) const {
  if (authority_ == nullptr) return {};
  return {"--trust_domain=muster.test",
          absl::StrCat("--tls_cert_file=", authority_->certificate(name)),
          absl::StrCat("--tls_key_file=", authority_->key(name)),
          absl::StrCat("--tls_ca_file=", authority_->authority())};
}

std::shared_ptr<grpc::ChannelCredentials> MiniMuster::CredentialsOf(const std::string& name) const {
  return grpc::SslCredentials({.pem_root_certs = authority_->Text("ca.crt"),
                               .pem_private_key = authority_->Text(name + ".key"),
                               .pem_cert_chain = authority_->Text(name + ".crt")});
}

Finished MiniMuster::Ctl(std::vector<std::string> words) const {
  return CtlTo(LifecycleProcess(), std::move(words));
}

Finished MiniMuster::CtlTo(size_t process, std::vector<std::string> words) const {
  if (IsOneCall(words)) words.push_back("--timeout=60s");
  if (words.front() == "debug") {
    words.push_back(
        absl::StrCat("--operator-server=127.0.0.1:", ports_[process].operators.number()));
  }
  if (authority_ != nullptr) {
    words.insert(words.begin(), {"--certificate-authority=" + authority_->authority(),
                                 "--client-certificate=" + authority_->certificate("ci"),
                                 "--client-key=" + authority_->key("ci")});
  }
  words.insert(words.begin(), {Binary("musterctl"), absl::StrCat("--server=", address(process))});
  return RunProgram(words);
}

void MiniMuster::ApplyCatalogue() {
  // Each kind goes to the process that serves it, as a proxy in front of them would send it.
  const std::map<std::string, std::string> service_of = {
      {"Zone", "capacity"}, {"InstanceType", "capacity"}, {"MachineSet", "capacity"},
      {"Quota", "quota"},   {"Release", "configuration"}, {"Cluster", "lifecycle"}};
  const std::string catalogue = ReadFile(SourceFile("deploy/local/catalogue.yaml"));
  for (size_t process = 0; process < options_.processes.size(); ++process) {
    const std::string file = File(absl::StrCat("catalogue", process, ".yaml"));
    std::ofstream out(file);
    for (absl::string_view document : absl::StrSplit(catalogue, "\n---\n")) {
      for (const auto& [kind, service] : service_of) {
        if (absl::StrContains(document, absl::StrCat("\nkind: ", kind, "\n")) &&
            absl::StrContains(options_.processes[process], service)) {
          out << "---\n" << std::string(document) << "\n";
        }
      }
    }
    out.close();
    const Finished applied = CtlTo(process, {"apply", "-f", file});
    if (applied.exit_code != 0)
      throw std::runtime_error("the catalogue was refused:\n" + applied.output + LogEnds());
  }
}

void MiniMuster::ApplyExample() {
  const Finished applied = Ctl({"apply", "-f", SourceFile("deploy/local/example-nodepool.yaml")});
  if (applied.exit_code != 0)
    throw std::runtime_error("the example was refused:\n" + applied.output + LogEnds());
}

bool MiniMuster::IsServing() const {
  // Debian ships no stub of the health service. Its request is empty; field 1 of its answer is 1
  // when it serves.
  grpc::GenericStub stub(channel());
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kHealthTimeout));
  const grpc::Slice empty;
  const grpc::ByteBuffer request(&empty, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                 [&](grpc::Status status) { done.set_value(std::move(status)); });
  if (!done.get_future().get().ok()) return false;
  std::vector<grpc::Slice> slices;
  if (!response.Dump(&slices).ok() || slices.empty()) return false;
  const std::string bytes(reinterpret_cast<const char*>(slices[0].begin()), slices[0].size());
  return bytes == absl::string_view("\x08\x01");
}

std::string MiniMuster::MusterdLogs() const {
  std::string all;
  for (size_t process = 0; process < musterds_.size(); ++process)
    all += ReadFile(File(absl::StrCat("musterd", process, ".log")));
  return all;
}

std::string MiniMuster::LogEnds() const {
  std::string logs;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.path().extension() != ".log") continue;
    const std::string text = ReadFile(entry.path());
    absl::StrAppend(&logs, "--- ", entry.path().filename().string(), "\n",
                    text.size() > 4000 ? text.substr(text.size() - 4000) : text, "\n");
  }
  return logs;
}

}  // namespace muster::testing
