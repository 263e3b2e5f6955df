#include "tests/kubernetes/adapter/failure_scenarios.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "services/common/mutex.h"
#include "services/kubernetes/api/reflector.h"
#include "services/kubernetes/core/event.h"
#include "tests/kubernetes/raw_request.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr absl::Duration kLull = absl::Seconds(2);  // after which no more changes are waited for
constexpr auto kPoll = std::chrono::milliseconds(20);

constexpr char kAdapter[] = "muster-kubernetes";
constexpr char kPoolLabel[] = "compute.coreweave.com/node-pool";

// Renewals without a write that count as quiet: longer than any of the adapter's first retries.
constexpr int kCalm = 8;

Json PodOf(const std::string& name, const std::string& node, const Json& labels,
           absl::Duration grace) {
  const Json container = {{"name", "main"}, {"image", "none"}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", labels}}},
          {"spec",
           {{"nodeName", node},
            {"terminationGracePeriodSeconds", absl::ToInt64Seconds(grace)},
            {"automountServiceAccountToken", false},
            {"containers", Json::array({container})}}}};
}

// Empty: the events of the API server are those of Muster.
std::string CompareEvents(const std::vector<lifecycle::v1::Event>& wanted,
                          const AdapterStack::Objects& there) {
  std::string wrong;
  std::set<std::string> names;
  for (const auto& event : wanted) {
    const std::string name = absl::StrCat("default/", kubernetes::EventName(event));
    names.insert(name);
    const auto found = there.find(name);
    const int64_t count = found == there.end() ? 0 : kubernetes::EventCount(found->second);
    if (count != event.count())
      absl::StrAppend(&wrong, name, " (", event.reason(), " of ", event.object(), ") is there ",
                      count, " times, not ", event.count(), "\n");
  }
  for (const auto& [name, event] : there) {
    const bool ours = event.value("reportingController", "") == kubernetes::kReportingController;
    if (ours && names.count(name) == 0)
      absl::StrAppend(&wrong, name, " (", event.value("reason", ""), ") is no event of Muster\n");
  }
  return wrong;
}

}  // namespace

std::string Differences(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after) {
  std::string text;
  for (const auto& [key, value] : after) {
    const auto found = before.find(key);
    if (found == before.end() || found->second != value)
      absl::StrAppend(&text, key, ": ", found == before.end() ? "none" : found->second, " -> ",
                      value, "\n");
  }
  for (const auto& [key, value] : before) {
    if (after.count(key) == 0) absl::StrAppend(&text, key, ": ", value, " -> none\n");
  }
  return text;
}

namespace {

// The fake server counts the adapter's requests, those too that change nothing; of a real server
// there are the versions of objects.
std::map<std::string, std::string> Fingerprint(AdapterStack& stack) {
  const FakeApiServer* fake = stack.server().fake_or_null();
  if (fake == nullptr) return Versions(stack);
  return {{"the adapter's writes", absl::StrCat(fake->WritesBy(kAdapter, "/leases"))}};
}

}  // namespace

Json WorkingPool(const std::string& name, int64_t nodes) {
  Json pool = AdapterStack::ExampleNodePool();
  pool["metadata"]["name"] = name;
  pool["spec"]["targetNodes"] = nodes;
  pool["spec"]["lifecycle"]["scaleDownStrategy"] = "PreferIdle";
  return pool;
}

void RetryUntilOk(const std::function<absl::Status()>& request) {
  const absl::Time give_up = absl::Now() + kPatience;
  absl::Status status = request();
  while (!status.ok() && absl::Now() < give_up) {
    std::this_thread::sleep_for(kPoll);
    status = request();
  }
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::vector<std::string> NodesOf(AdapterStack& stack, const std::string& pool) {
  std::vector<std::string> names;
  for (const Json& node : stack.Nodes()) {
    if (node["metadata"].value("labels", Json::object()).value(kPoolLabel, "") == pool)
      names.push_back(node["metadata"]["name"]);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> FillNode(AdapterStack& stack, const std::string& node,
                                  absl::Duration grace) {
  static std::atomic<int> number{0};
  const std::string prefix = absl::StrCat(node, "-", ++number, "-");
  const Json interruptable = {{"qos.coreweave.cloud/interruptable", "true"}};
  const Json graceful = {{"qos.coreweave.cloud/graceful-interruptible", "true"}};
  const Json owner = {{"apiVersion", "apps/v1"},
                      {"kind", "DaemonSet"},
                      {"name", "daemon"},
                      {"uid", "00000000-0000-0000-0000-00000000000d"},
                      {"controller", true}};
  std::vector<Json> pods = {
      PodOf(prefix + "interruptable", node, interruptable, grace),
      PodOf(prefix + "graceful", node, graceful, grace),
      PodOf(prefix + "plain", node, Json::object(), grace),
      PodOf(prefix + "web", node, {{"app", "web"}}, grace),
      PodOf(prefix + "daemon", node, Json::object(), absl::Seconds(1)),
  };
  pods.back()["metadata"]["ownerReferences"] = Json::array({owner});
  std::vector<std::string> moved;
  for (const Json& pod : pods) {
    RetryUntilOk([&] {
      const absl::Status status = stack.client().Create(kDefaultPodsPath, pod).status();
      return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
    });
    moved.push_back(pod["metadata"]["name"]);
  }
  const bool running = stack.Await(kPodsPath, [&](const AdapterStack::Objects& objects) {
    return std::all_of(moved.begin(), moved.end(), [&](const std::string& name) {
      const auto found = objects.find("default/" + name);
      return found != objects.end() &&
             found->second.value("status", Json::object()).value("phase", "") == "Running";
    });
  });
  if (!running) throw std::runtime_error("the Pods do not run\n" + stack.LogEnds());
  moved.pop_back();
  return moved;
}

void BlockDrains(AdapterStack& stack) {
  const Json budget = {
      {"apiVersion", "policy/v1"},
      {"kind", "PodDisruptionBudget"},
      {"metadata", {{"name", "web"}, {"namespace", "default"}}},
      {"spec", {{"maxUnavailable", 0}, {"selector", {{"matchLabels", {{"app", "web"}}}}}}}};
  RetryUntilOk([&] {
    const absl::Status status = stack.client().Create(kBudgetsPath, budget).status();
    return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
  });
  if (stack.server().is_real()) stack.server().SettleBudgets();
}

void AllowDrains(AdapterStack& stack) {
  RetryUntilOk([&] {
    const absl::Status status = stack.client().Delete(absl::StrCat(kBudgetsPath, "/web"));
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  });
}

std::map<std::string, int> EvictionModes(AdapterStack& stack,
                                         const std::vector<std::string>& pods) {
  std::map<std::string, int> modes;
  for (const std::string& pod : pods) modes[pod] = 0;
  for (const RecordedRequest& request : stack.server().fake_or_null()->requests()) {
    if (!absl::StartsWith(request.user_agent, kAdapter) || request.code > 299) continue;
    absl::string_view path = request.path;
    if (!absl::ConsumePrefix(&path, absl::StrCat(kDefaultPodsPath, "/"))) continue;
    const bool evicted = absl::ConsumeSuffix(&path, "/eviction");
    if (!evicted && request.verb != "DELETE") continue;
    const auto found = modes.find(std::string(path));
    if (found != modes.end()) ++found->second;
  }
  return modes;
}

int64_t GrantedEvictions(AdapterStack& stack) {
  if (const FakeApiServer* fake = stack.server().fake_or_null(); fake != nullptr) {
    int64_t granted = 0;
    for (const RecordedRequest& request : fake->requests())
      granted += absl::EndsWith(request.path, "/eviction") && request.code <= 299 ? 1 : 0;
    return granted;
  }
  double granted = 0;
  const RawAnswer answer = SendRaw(stack.server(), "GET", "/metrics");
  for (absl::string_view line : absl::StrSplit(answer.body, '\n')) {
    double value = 0;
    if (absl::StartsWith(line, "apiserver_request_total{") &&
        absl::StrContains(line, "code=\"201\"") &&
        absl::StrContains(line, "subresource=\"eviction\"") &&
        absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value))
      granted += value;
  }
  return static_cast<int64_t>(granted);
}

std::string AwaitEvents(AdapterStack& stack) {
  std::string wrong;
  const absl::Time give_up = absl::Now() + kPatience;
  do {
    // What both have in the end: Muster may tell more meanwhile.
    const auto wanted = stack.muster().Events();
    stack.Await(
        kEventsPath,
        [&](const AdapterStack::Objects& there) {
          wrong = CompareEvents(wanted, there);
          return wrong.empty();
        },
        absl::Seconds(10));
  } while (!wrong.empty() && absl::Now() < give_up);
  return wrong;
}

bool AwaitRenewals(AdapterStack& stack, int renewals) {
  std::set<std::string> seen;
  return stack.Await(kAdapterLeasesPath, [&](const AdapterStack::Objects& leases) {
    const auto found = leases.find("muster-system/muster-kubernetes");
    if (found == leases.end()) return false;
    seen.insert(found->second["spec"].value("renewTime", ""));
    return seen.size() > static_cast<size_t>(renewals);
  });
}

std::map<std::string, std::string> Versions(AdapterStack& stack) {
  std::map<std::string, std::string> versions;
  for (const char* path : {kNodePoolsPath, kNodesPath, kPodsPath, kNamespacesPath, kEventsPath}) {
    RetryUntilOk([&] {
      return stack.client()
          .List(path, {},
                [&](const Json& object) {
                  const Json& metadata = object["metadata"];
                  versions[absl::StrCat(path, "/", metadata.value("namespace", ""), "/",
                                        metadata.value("name", ""))] =
                      metadata.value("resourceVersion", "");
                })
          .status();
    });
  }
  return versions;
}

std::string AwaitQuiet(AdapterStack& stack) {
  const absl::Time give_up = absl::Now() + kPatience;
  std::string written = "nothing was looked at";
  while (!written.empty() && absl::Now() < give_up) {
    const auto before = Fingerprint(stack);
    if (!AwaitRenewals(stack, kCalm)) return "the Lease is not renewed";
    written = Differences(before, Fingerprint(stack));
  }
  return written;
}

struct ChangeCounter::Shared {
  // One collection.
  struct Inlet : kubernetes::Sink {
    explicit Inlet(Shared* shared_in) : shared(*shared_in) {}
    void BeginList() override {}
    void PutListed(const Json& object) override { Put(object); }
    void EndList(const std::string& /*version*/) override {}
    void Put(const Json& object) override { shared.Count(object, false); }
    void Remove(const Json& object) override { shared.Count(object, true); }
    Shared& shared;
  };

  void Count(const Json& object, bool gone) {
    MutexLock lock(mutex);
    ++changes;
    const std::string kind = object.value("kind", "");
    if (kind == "NodePool") pools[object["metadata"]["name"]] = gone ? Json() : object;
    if (kind == "Node" && gone) ++deleted_nodes;
    changed.SignalAll();
  }

  Mutex mutex;
  CondVar changed;
  int changes MUSTER_GUARDED_BY(mutex) = 0;
  int deleted_nodes MUSTER_GUARDED_BY(mutex) = 0;
  std::map<std::string, Json> pools MUSTER_GUARDED_BY(mutex);
  std::unique_ptr<kubernetes::Client> client;
  Inlet inlet = Inlet(this);
  std::vector<std::unique_ptr<kubernetes::Reflector>> reflectors;
};

ChangeCounter::ChangeCounter(AdapterStack& stack) : shared_(std::make_unique<Shared>()) {
  shared_->client = stack.server().Connect("test-counter");
  for (const char* path : {kNodePoolsPath, kNodesPath, kPodsPath}) {
    shared_->reflectors.push_back(std::make_unique<kubernetes::Reflector>(
        shared_->client.get(), kubernetes::ReflectorOptions{.path = path}, &shared_->inlet));
    shared_->reflectors.back()->Start();
  }
}

ChangeCounter::~ChangeCounter() {
  shared_->client->Stop();
  for (const auto& reflector : shared_->reflectors) reflector->Stop();
}

void ChangeCounter::AwaitChanges(int changes, const std::string& pool,
                                 const std::function<bool(const Json&)>& over) {
  MutexLock lock(shared_->mutex);
  const int wanted = shared_->changes + changes;
  int seen = shared_->changes;
  absl::Time give_up = absl::Now() + kLull;
  while (shared_->changes < wanted && !over(shared_->pools[pool]) && absl::Now() < give_up) {
    shared_->changed.WaitFor(shared_->mutex, give_up - absl::Now());
    if (shared_->changes != std::exchange(seen, shared_->changes)) give_up = absl::Now() + kLull;
  }
}

int ChangeCounter::AwaitDeletedNodes(int wanted) const {
  const absl::Time give_up = absl::Now() + kPatience;
  MutexLock lock(shared_->mutex);
  while (shared_->deleted_nodes < wanted && absl::Now() < give_up)
    shared_->changed.WaitFor(shared_->mutex, give_up - absl::Now());
  return shared_->deleted_nodes;
}

std::map<std::string, std::string> NodeUids(AdapterStack& stack) {
  std::map<std::string, std::string> uids;
  for (const Json& node : stack.Nodes()) uids[node["metadata"]["name"]] = node["metadata"]["uid"];
  return uids;
}

std::string Describe(AdapterStack& stack) {
  std::string text;
  for (const char* path : {kNodePoolsPath, kNodesPath, kPodsPath}) {
    const auto listed = stack.client().List(path, {}, [&](const Json& object) {
      const Json& metadata = object["metadata"];
      const Json labels = metadata.value("labels", Json::object());
      absl::StrAppend(&text, path, "/", metadata.value("name", ""),
                      metadata.contains("deletionTimestamp") ? " leaving" : "", " ",
                      labels.value("node.coreweave.cloud/state", ""), " ",
                      ReasonOf(object, "Ready"), ReasonOf(object, "AtTarget"), " generation ",
                      metadata.value("generation", 0), " ",
                      object.value("spec", Json::object()).value("nodeName", ""), "\n");
      if (path == kNodePoolsPath)
        absl::StrAppend(&text, object.value("status", Json()).dump(), "\n");
    });
    if (!listed.ok()) absl::StrAppend(&text, path, ": ", listed.status().ToString(), "\n");
  }
  const Finished nodes =
      stack.muster().Ctl({"get", "nodes", "--organization", "acme", "--cluster", "example"});
  return absl::StrCat(text, nodes.output, "\n", stack.LogEnds());
}

int AwaitAdapterEnd(AdapterStack& stack, size_t replica, absl::Duration patience) {
  for (const absl::Time give_up = absl::Now() + patience; stack.AdapterRuns(replica);) {
    if (absl::Now() > give_up) return -1;
    std::this_thread::sleep_for(kPoll);
  }
  return stack.TerminateAdapter(replica);
}

}  // namespace muster::testing
