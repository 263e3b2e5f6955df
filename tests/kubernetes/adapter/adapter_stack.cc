#include "tests/kubernetes/adapter/adapter_stack.h"

#include <grpcpp/grpcpp.h>
#include <httplib.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "services/rpc/client/health.h"
#include "tests/kubernetes/manifests.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr char kNodePools[] = "/apis/compute.coreweave.com/v1alpha1/nodepools";
constexpr char kNodes[] = "/api/v1/nodes";
constexpr absl::Duration kStartPatience = absl::Seconds(30);

Json OrThrow(absl::StatusOr<Json> answer) {
  if (!answer.ok()) throw std::runtime_error(answer.status().ToString());
  return *std::move(answer);
}

std::string NameOf(const Json& object) {
  const Json& metadata = object.at("metadata");
  const std::string name_space = metadata.value("namespace", "");
  const std::string name = metadata.at("name");
  return name_space.empty() ? name : absl::StrCat(name_space, "/", name);
}

// Events may come again, and late.
int64_t VersionOf(const Json& object) {
  int64_t version = 0;
  (void)absl::SimpleAtoi(object["metadata"].value("resourceVersion", ""), &version);
  return version;
}

// Does something after a time, unless it is destroyed before.
class Timer {
 public:
  Timer(absl::Duration after, std::function<void()> what)
      : thread_([this, after, what = std::move(what)] {
          std::unique_lock<std::mutex> lock(mutex_);
          if (!over_.wait_for(lock, absl::ToChronoNanoseconds(after), [&] { return done_; }))
            what();
        }) {}
  ~Timer() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace

Json ConditionOf(const Json& object, absl::string_view type) {
  const Json status = object.is_object() ? object.value("status", Json::object()) : Json::object();
  for (const Json& condition : status.value("conditions", Json::array())) {
    if (condition.value("type", "") == type) return condition;
  }
  return nullptr;
}

std::string ReasonOf(const Json& object, absl::string_view type) {
  const Json condition = ConditionOf(object, type);
  return condition.is_null() ? "" : condition.value("reason", "");
}

AdapterStack::AdapterStack(Options options) : options_(std::move(options)) {
  char folder[] = "/tmp/muster-stack.XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder_ = folder;
  server_ = ApiServer::Start();
  client_ = server_->Connect("test");
  for (const char* name : {"default", "kube-system", "muster-system"}) {
    const auto made = client_->Create(
        "/api/v1/namespaces",
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

AdapterStack::~AdapterStack() {
  for (size_t replica = 0; replica < adapters_.size(); ++replica) WakeAdapter(replica);
  adapters_.clear();
  muster_.reset();
  client_.reset();
  server_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
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
  std::ifstream in(server_->kubeconfig());
  const std::string own(std::istreambuf_iterator<char>(in), {});
  std::ofstream(fleet_kubeconfig_) << absl::StrReplaceAll(
      own, {{"user: {",
             "user: {as: muster-fleetsim, as-groups: [\"system:masters\", \"system:nodes\"], "}});
}

std::string AdapterStack::File(absl::string_view name) const {
  return absl::StrCat(folder_, "/", name);
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
  command.insert(command.end(), options_.adapter_flags.begin(), options_.adapter_flags.end());
  command.insert(command.end(), flags.begin(), flags.end());
  for (const std::string& flag : muster_->TlsFlags("muster-kubernetes")) command.push_back(flag);
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
  if (AdapterRuns(replica)) kill(adapters_[replica]->pid(), SIGSTOP);
}

void AdapterStack::WakeAdapter(size_t replica) {
  if (AdapterRuns(replica)) kill(adapters_[replica]->pid(), SIGCONT);
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
  const auto scraped =
      httplib::Client(absl::StrCat("http://", AdapterMetricsAddress(replica))).Get("/metrics");
  return scraped ? scraped->body : "";
}

Json AdapterStack::ExampleNodePool() {
  return ReadDeployed("kubernetes/samples/example-nodepool.yaml").front();
}

Json AdapterStack::Create(const Json& node_pool) {
  return OrThrow(client_->Create(kNodePools, node_pool));
}

Json AdapterStack::GetNodePool(const std::string& name) {
  auto found = client_->Get(absl::StrCat(kNodePools, "/", name));
  if (absl::IsNotFound(found.status())) return nullptr;
  return OrThrow(std::move(found));
}

Json AdapterStack::PatchNodePool(const std::string& name, const Json& merge_patch) {
  return OrThrow(client_->Patch(kubernetes::PatchType::kMerge, absl::StrCat(kNodePools, "/", name),
                                merge_patch));
}

void AdapterStack::DeleteNodePool(const std::string& name) {
  const absl::Status status = client_->Delete(absl::StrCat(kNodePools, "/", name));
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::vector<Json> AdapterStack::Nodes() {
  std::vector<Json> nodes;
  const auto listed =
      client_->List(kNodes, {}, [&](Json node) { nodes.push_back(std::move(node)); });
  if (!listed.ok()) throw std::runtime_error(listed.status().ToString());
  return nodes;
}

Json AdapterStack::GetNode(const std::string& name) {
  auto found = client_->Get(absl::StrCat(kNodes, "/", name));
  if (absl::IsNotFound(found.status())) return nullptr;
  return OrThrow(std::move(found));
}

Json AdapterStack::PatchNode(const std::string& name, const Json& merge_patch) {
  return OrThrow(
      client_->Patch(kubernetes::PatchType::kMerge, absl::StrCat(kNodes, "/", name), merge_patch));
}

std::vector<Json> AdapterStack::Events() {
  std::vector<Json> events;
  const auto listed = client_->List("/apis/events.k8s.io/v1/events", {},
                                    [&](Json event) { events.push_back(std::move(event)); });
  if (!listed.ok()) throw std::runtime_error(listed.status().ToString());
  return events;
}

Json AdapterStack::CreatePod(const std::string& name, const std::string& node, const Json& labels) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const Json container = {{"name", "main"}, {"image", "none"}};
  const Json made = OrThrow(client_->Create(
      pods, {{"apiVersion", "v1"},
             {"kind", "Pod"},
             {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", labels}}},
             {"spec",
              {{"nodeName", node},
               {"terminationGracePeriodSeconds", 1},
               {"containers", Json::array({container})}}}}));
  const auto running =
      client_->Patch(kubernetes::PatchType::kMerge, absl::StrCat(pods, "/", name, "/status"),
                     {{"status", {{"phase", "Running"}}}});
  return running.ok() ? *running : made;
}

bool AdapterStack::Await(const std::string& path, const std::function<bool(const Objects&)>& wanted,
                         absl::Duration patience) {
  const absl::Time give_up = absl::Now() + patience;
  // Its own client: it is stopped when the time is over.
  const auto client = server_->Connect("test-await");
  const Timer timer(patience, [&client] { client->Stop(); });
  bool met = false;
  while (!met && absl::Now() < give_up) {
    Objects objects;
    const auto version = client->List(path, {}, [&](Json object) {
      const std::string name = NameOf(object);
      objects[name] = std::move(object);
    });
    if (!version.ok()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    met = wanted(objects);
    if (met) break;
    (void)client->Watch(path, {}, *version, [&](absl::string_view type, Json object) {
      if (type == "BOOKMARK") return absl::Now() < give_up;
      const std::string name = NameOf(object);
      const auto known = objects.find(name);
      if (type == "DELETED") {
        objects.erase(name);
      } else if (known == objects.end() || VersionOf(object) > VersionOf(known->second)) {
        objects[name] = std::move(object);
      }
      met = wanted(objects);
      return !met && absl::Now() < give_up;
    });
  }
  return met;
}

bool AdapterStack::AwaitNodePool(const std::string& name,
                                 const std::function<bool(const Json&)>& wanted,
                                 absl::Duration patience) {
  return Await(
      kNodePools,
      [&](const Objects& objects) {
        const auto found = objects.find(name);
        return wanted(found == objects.end() ? Json(nullptr) : found->second);
      },
      patience);
}

bool AdapterStack::AwaitHealthy(const std::string& name, int64_t nodes, absl::Duration patience) {
  static const auto& reasons =
      *new std::map<std::string, std::string>{{"Validated", "Valid"},
                                              {"Capacity", "Sufficient"},
                                              {"Quota", "Under"},
                                              {"AtTarget", "TargetMet"},
                                              {"NodeReconfigurationRequired", "AllNodesUpToDate"}};
  std::string uid;
  const bool shown = AwaitNodePool(
      name,
      [&](const Json& object) {
        if (object.is_null()) return false;
        uid = object["metadata"]["uid"];
        for (const auto& [type, reason] : reasons) {
          const Json condition = ConditionOf(object, type);
          if (condition.is_null() || condition["reason"] != reason) return false;
          if (condition["observedGeneration"] != object["metadata"]["generation"]) return false;
        }
        return object["spec"]["targetNodes"] == nodes &&
               object["status"].value("currentNodes", int64_t{-1}) == nodes;
      },
      patience);
  if (!shown) return false;
  return Await(
      kNodes,
      [&](const Objects& objects) {
        int64_t settled = 0;
        for (const auto& [node_name, node] : objects) {
          const Json labels = node["metadata"].value("labels", Json::object());
          if (labels.value("compute.coreweave.com/node-pool-uid", "") != uid) continue;
          if (labels.value("node.coreweave.cloud/state", "") != "production") return false;
          if (ReasonOf(node, "CWRegistered").empty()) return false;
          ++settled;
        }
        return settled == nodes;
      },
      patience);
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
