#include "tests/kubernetes/adapter/adapter_stack.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "services/rpc/client/health.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kStartPatience = absl::Seconds(30);

}  // namespace

AdapterStack::AdapterStack(Options options) : options_(std::move(options)) {
  server_ = ApiServer::Start();
  client_ = server_->Connect("test");
  for (const char* name : {"default", "kube-system", "muster-system"}) {
    const auto made = client_->Create(
        kNamespacesPath,
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
    if (!made.ok() && !absl::IsAlreadyExists(made.status()))
      throw std::runtime_error(made.status().ToString());
  }
  adapter_kubeconfig_ = server_->kubeconfig();
  fleet_kubeconfig_ = server_->kubeconfig();
  if (options_.as_deployed) Deploy();
  MiniMuster::Options muster = options_.muster;
  muster.fleetsim_flags.push_back(absl::StrCat("--kubeconfig=", fleet_kubeconfig_));
  muster.musterd_flags.push_back("--cordon_settle=200ms");
  muster_ = std::make_unique<MiniMuster>(std::move(muster));
  muster_->ApplyCatalogue();
  adapters_.resize(static_cast<size_t>(options_.replicas));
  for (size_t replica = 0; replica < adapters_.size(); ++replica) StartAdapter(replica);
}

void AdapterStack::ExpectNoCrash(size_t replica) {
  if (adapters_[replica] == nullptr) return;
  if (const int code = adapters_[replica]->EndOfItsOwn().value_or(0); code > 128) {
    ADD_FAILURE() << "the adapter " << replica << " was ended by signal " << code - 128 << "\n"
                  << LogEnds();
  }
}

AdapterStack::~AdapterStack() {
  for (size_t replica = 0; replica < adapters_.size(); ++replica) {
    ExpectNoCrash(replica);
    WakeAdapter(replica);
  }
  adapters_.clear();
  muster_.reset();
  client_.reset();
  server_.reset();
}

Finished AdapterStack::Kubectl(const std::vector<std::string>& words) {
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  if (assets == nullptr) throw std::runtime_error("no kubectl: KUBEBUILDER_ASSETS is not set");
  std::vector<std::string> command = {absl::StrCat(assets, "/kubectl"),
                                      absl::StrCat("--kubeconfig=", server_->kubeconfig()),
                                      absl::StrCat("--cache-dir=", File("kubectl-cache"))};
  command.insert(command.end(), words.begin(), words.end());
  return RunProgram(command);
}

void AdapterStack::Deploy() {
  const auto run = [this](const std::vector<std::string>& words) {
    const Finished done = Kubectl(words);
    if (done.exit_code != 0) throw std::runtime_error(done.output);
    return done.output;
  };
  for (const char* folder : {"base", "admission-v1"})
    run({"apply", "-k", absl::StrCat(MigrationsDir(), "/../deploy/kubernetes/", folder)});
  const std::string token =
      run({"create", "token", "muster-kubernetes", "--namespace=muster-system"});
  adapter_kubeconfig_ = File("adapter.kubeconfig");
  std::filesystem::copy_file(server_->kubeconfig(), adapter_kubeconfig_);
  // The later of two --kubeconfig is the one that counts.
  run({absl::StrCat("--kubeconfig=", adapter_kubeconfig_), "config", "set-credentials", "test",
       absl::StrCat("--token=", absl::StripAsciiWhitespace(token))});
  // As deploy/local has it.
  fleet_kubeconfig_ = File("fleetsim.kubeconfig");
  std::ofstream(fleet_kubeconfig_) << absl::StrReplaceAll(
      ReadFile(server_->kubeconfig()),
      {{"user: {",
        "user: {as: muster-fleetsim, as-groups: [\"system:masters\", \"system:nodes\"], "}});
}

std::string AdapterStack::File(absl::string_view name) const {
  return folder_.Path(std::string(name));
}

void AdapterStack::StartAdapter(size_t replica, const std::vector<std::string>& flags) {
  const std::string port_file = File(absl::StrCat("ports", replica));
  std::filesystem::remove(port_file);
  std::vector<std::string> command = {
      Binary("muster-kubernetes"), "--organization=acme", "--cluster=example", "--zone=RNO2A",
      absl::StrCat("--server=", muster_->address()),
      absl::StrCat("--kubeconfig=", adapter_kubeconfig_), "--metrics_listen=127.0.0.1:0",
      "--health_listen=127.0.0.1:0", absl::StrCat("--port_file=", port_file),
      absl::StrCat("--lease_identity=replica-", replica),
      // A busy machine is no reason to lose it.
      "--lease_duration=60s", "--lease_renew_deadline=40s", "--lease_retry_period=200ms"};
  for (const std::string& flag : muster_->TlsFlags("muster-kubernetes")) command.push_back(flag);
  command.insert(command.end(), options_.adapter_flags.begin(), options_.adapter_flags.end());
  command.insert(command.end(), flags.begin(), flags.end());
  if (replica >= adapters_.size()) adapters_.resize(replica + 1);
  ExpectNoCrash(replica);
  adapters_[replica].reset();
  adapters_[replica] =
      std::make_unique<Child>(command, File(absl::StrCat("adapter", replica, ".log")));
  for (const absl::Time give_up = absl::Now() + kStartPatience;
       !std::filesystem::exists(port_file);) {
    if (!adapters_[replica]->running() || absl::Now() > give_up)
      throw std::runtime_error("muster-kubernetes did not start:\n" + LogEnds());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void AdapterStack::KillAdapter(size_t replica) { adapters_[replica]->Kill(); }

int AdapterStack::TerminateAdapter(size_t replica) { return adapters_[replica]->Terminate(); }

void AdapterStack::FreezeAdapter(size_t replica) {
  if (AdapterRuns(replica)) adapters_[replica]->Signal(SIGSTOP);
}

void AdapterStack::WakeAdapter(size_t replica) {
  if (AdapterRuns(replica)) adapters_[replica]->Signal(SIGCONT);
}

bool AdapterStack::AdapterRuns(size_t replica) {
  return adapters_[replica] != nullptr && adapters_[replica]->running();
}

int AdapterStack::LeadingReplica() {
  const auto lease = client_->Get(kAdapterLease);
  if (!lease.ok()) return -1;
  const std::string holder = (*lease)["spec"].value("holderIdentity", "");
  for (size_t replica = 0; replica < adapters_.size(); ++replica) {
    if (holder == absl::StrCat("replica-", replica) && AdapterRuns(replica))
      return static_cast<int>(replica);
  }
  return -1;
}

std::string AdapterStack::AddressOf(size_t replica, const std::string& name) const {
  std::ifstream ports(File(absl::StrCat("ports", replica)));
  std::string word;
  std::string port;
  while (ports >> word >> port && word != name) {
  }
  return absl::StrCat("127.0.0.1:", port);
}

std::string AdapterStack::AdapterMetricsAddress(size_t replica) const {
  return AddressOf(replica, "metrics");
}

bool AdapterStack::AdapterReady(size_t replica) const {
  const auto channel =
      grpc::CreateChannel(AddressOf(replica, "health"), grpc::InsecureChannelCredentials());
  return rpc::AskHealth(channel, "ready", absl::Seconds(10)) == rpc::HealthAnswer::kServing;
}

std::string AdapterStack::AdapterMetrics(size_t replica) {
  httplib::Client client(absl::StrCat("http://", AdapterMetricsAddress(replica)));
  client.set_read_timeout(60);  // a machine may stand still for a while
  const auto scraped = client.Get("/metrics");
  return scraped ? scraped->body : "";
}

std::string AdapterStack::ServerLogs() const {
  std::string logs = muster_->MusterdLogs();
  for (size_t replica = 0; replica < adapters_.size(); ++replica)
    logs += ReadFile(File(absl::StrCat("adapter", replica, ".log")));
  return logs;
}

std::string AdapterStack::LogEnds() const {
  std::string logs = muster_ == nullptr ? "" : muster_->LogEnds();
  for (size_t replica = 0; replica < adapters_.size(); ++replica) {
    const std::string log = ReadFile(File(absl::StrCat("adapter", replica, ".log")));
    absl::StrAppend(&logs, "--- adapter ", replica, "\n",
                    log.substr(log.size() > 6000 ? log.size() - 6000 : 0), "\n");
  }
  return logs;
}

}  // namespace muster::testing
