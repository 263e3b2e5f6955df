// Whatever bears a request_id is done once: the script below has every such RPC, and a new one that
// is missing in it fails.
#include <gmock/gmock.h>

#include <chrono>
#include <set>
#include <thread>

#include "absl/strings/str_replace.h"
#include "services/common/testing/fake_clock.h"
#include "services/lifecycle/core/names.h"
#include "tests/repeats/replica.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";

// Steps that are no calls: until the pool has a pending configuration; a Node of the NodePool.
constexpr char kStaged[] = "staged";
constexpr char kNode[] = "node";

struct Step {
  std::string method = {};  // `Service.Method`; without a request_id: prepares the next ones
  std::string request = {};
  bool prepares = false;  // called without an id
};

// One after the other; each changes something.
const std::vector<Step>& Script() {
  static const auto& script = *new std::vector<Step>{
      {"QuotaService.CreateQuota",
       "parent: 'organizations/acme' quota_id: 'RNO2A~gd-8xa100-i128~default' quota { limit: 3 }"},
      {"QuotaService.UpdateQuota",
       "quota { name: 'organizations/acme/quotas/RNO2A~gd-8xa100-i128~default' limit: 5 }"},
      {"QuotaService.DeleteQuota",
       "name: 'organizations/acme/quotas/RNO2A~gd-8xa100-i128~default'"},
      {"QuotaService.CreateQuota",
       "parent: 'organizations/acme' quota_id: 'RNO2A~gd-8xa100-i128~spot' quota { limit: 3 }"},

      {"CapacityService.UpdateInstanceType",
       "instance_type { name: 'instanceTypes/gd-8xa100-i128' gpus: 8 gpu_model: 'A100' vcpus: 128 "
       "memory_kib: 1000000 architecture: 'amd64' max_pods: 110 }"},
      {"CapacityService.UpdateZone",
       "zone { name: 'zones/RNO2A' access: ACCESS_GENERAL instance_types: 'gd-8xa100-i128' }"},
      {"CapacityService.BatchRegisterMachines",
       "machines { name: 'machines/m1' zone: 'RNO2A' instance_type: 'gd-8xa100-i128' }"},
      {"CapacityService.SetMachineState", "name: 'machines/m1' state: STATE_IN_REPAIR"},
      {"CapacityService.BatchRegisterMachines",
       "machines { name: 'machines/m9' zone: 'RNO2A' instance_type: 'gd-8xa100-i128' }", true},
      {"CapacityService.SetMachineState", "name: 'machines/m9' state: STATE_RETIRED", true},
      {"CapacityService.DeleteMachine", "name: 'machines/m9'"},
      {"CapacityService.UpdateZone", "zone { name: 'zones/RNO9A' access: ACCESS_GENERAL }", true},
      {"CapacityService.DeleteZone", "name: 'zones/RNO9A'"},
      {"CapacityService.UpdateInstanceType",
       "instance_type { name: 'instanceTypes/spare' vcpus: 8 memory_kib: 1000000 "
       "architecture: 'amd64' max_pods: 110 }",
       true},
      {"CapacityService.DeleteInstanceType", "name: 'instanceTypes/spare'"},

      {"ConfigurationService.PublishRelease",
       "release { name: 'channels/stable/components/ncore-image/releases/2.10.1' }"},
      {"ConfigurationService.PublishRelease",
       "release { name: 'channels/stable/components/gpu-driver/releases/560.35' }"},
      {"ConfigurationService.PublishRelease",
       "release { name: 'channels/stable/components/kubernetes/releases/1.33' }"},
      {"ConfigurationService.PublishRelease",
       "release { name: 'channels/latest/components/gpu-driver/releases/580.1' }"},
      {"ConfigurationService.WithdrawRelease",
       "name: 'channels/latest/components/gpu-driver/releases/580.1'"},
      {"ConfigurationService.DeleteRelease",
       "name: 'channels/latest/components/gpu-driver/releases/580.1'"},
      {"ConfigurationService.SyncPoolConfiguration",
       "configuration { pool_uid: 'p' generation: 1 spec { gpu: true strategy: STRATEGY_MANUAL } "
       "}"},
      {"ConfigurationService.PublishRelease",
       "release { name: 'channels/stable/components/gpu-driver/releases/570.86' }", true},
      {kStaged},
      {"ConfigurationService.PromoteConfiguration", "name: 'poolConfigurations/p'"},
      {"ConfigurationService.RollbackConfiguration", "name: 'poolConfigurations/p'"},
      {"ConfigurationService.SyncPoolConfiguration",
       "configuration { pool_uid: 'p' generation: 2 spec { gpu: true strategy: STRATEGY_MANUAL } "
       "boot_failures { node_profile: '$PROFILE' machines: ['a', 'b', 'c'] } }"},
      {"ConfigurationService.EnableRevision",
       "name: 'poolConfigurations/p' node_profile: '$PROFILE'"},

      {"LifecycleService.UpdateCluster",
       "cluster { name: 'organizations/acme/clusters/c1' zone: 'RNO2A' }"},
      {"LifecycleService.BindCluster",
       "name: 'organizations/acme/clusters/c1' kubernetes_uid: 'k1'"},
      {"LifecycleService.AllowRemovals", "name: 'organizations/acme/clusters/c1' nodes: 3"},
      {"LifecycleService.UpdateCluster",
       "cluster { name: 'organizations/acme/clusters/c2' zone: 'RNO2A' }", true},
      {"LifecycleService.DeleteCluster", "name: 'organizations/acme/clusters/c2'"},
      {"LifecycleService.ApplyNodePool",
       "node_pool { name: '$POOL' spec { instance_type: 'gd-8xa100-i128' target_nodes: 1 } }"},
      {kNode},
      {"LifecycleService.UpdateNode",
       "node { name: '$POOL/nodes/g1' protect_until_time { seconds: 4000000000 } }"},
      {"LifecycleService.CordonNode", "name: '$POOL/nodes/g1'"},
      {"LifecycleService.DrainNode", "name: '$POOL/nodes/g1' force: true"},
      {"LifecycleService.UncordonNode", "name: '$POOL/nodes/g1'"},
      {"LifecycleService.RebootNode", "name: '$POOL/nodes/g1' mode: REBOOT_FORCED"},
      {"LifecycleService.ResizeNodePool", "name: '$POOL' target_nodes: 5"},
      {"LifecycleService.ReconfigureNodePool", "name: '$POOL'"},
      {"LifecycleService.PauseReconfiguration", "name: '$POOL'"},
      {"LifecycleService.ResumeReconfiguration", "name: '$POOL'"},
      {"LifecycleService.CancelReconfiguration", "name: '$POOL'"},
      {"LifecycleService.DeleteNodePool", "name: '$POOL'"},
  };
  return script;
}

std::vector<const MethodDescriptor*> Methods() {
  std::vector<const MethodDescriptor*> methods;
  for (const auto* file : {quota::v1::GetQuotaRequest::descriptor()->file(),
                           capacity::v1::GetZoneRequest::descriptor()->file(),
                           configuration::v1::GetReleaseRequest::descriptor()->file(),
                           lifecycle::v1::GetNodePoolRequest::descriptor()->file()}) {
    const auto* service = file->service(0);
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
  }
  return methods;
}

// Null when there is none.
const MethodDescriptor* Find(const std::string& name) {
  for (const MethodDescriptor* method : Methods()) {
    if (absl::StrCat(method->service()->name(), ".", method->name()) == name) return method;
  }
  return nullptr;
}

TEST(Once, EveryRpcWithAnIdIsInTheScript) {
  std::set<std::string> names;
  for (const Step& step : Script()) {
    if (!step.prepares) names.insert(step.method);
  }
  for (const MethodDescriptor* method : Methods()) {
    const std::string name = absl::StrCat(method->service()->name(), ".", method->name());
    if (HasRequestId(*method)) {
      EXPECT_EQ(names.count(name), 1u) << name;
    }
  }
}

class OnceTest : public ::testing::Test {
 protected:
  // What was called under an id, and what it was answered.
  struct Done {
    const MethodDescriptor* method = nullptr;
    std::unique_ptr<Message> request = {};
    std::string answer = {};
  };

  OnceTest() { Start(); }
  ~OnceTest() override {
    EXPECT_EQ(one_->Compare(), "");
    EXPECT_EQ(two_->Compare(), "");
  }
  void Start() {
    one_ = std::make_unique<Replica>(database_, &clock_);
    two_ = std::make_unique<Replica>(database_, &clock_);
  }
  void Restart() {
    one_.reset();
    two_.reset();
    Start();
  }

  std::string Filled(const std::string& request) {
    return absl::StrReplaceAll(request, {{"$POOL", kPool}, {"$PROFILE", Profile()}});
  }
  // What the pool has active; empty: it is not there yet.
  std::string Profile() {
    const auto rows =
        database_.Query("SELECT node_profile FROM configuration.pool_revision WHERE position = 0");
    return rows.empty() ? "" : rows[0][0].value();
  }
  // Of the pool, as if capacity had granted it.
  void AddNode() {
    std::promise<absl::Status> done;
    one_->lifecycle_lane().Submit(
        [](StagedState<lifecycle::State>& staged, absl::Time now) {
          const auto* pool = staged.state().table<lifecycle::Pool>().Find(kPool);
          staged.Put(lifecycle::Node{.name = lifecycle::NodeName(kPool, "g1"),
                                     .machine = "g1",
                                     .pool_uid = pool->uid,
                                     .state = lifecycle::NodeState::kProduction,
                                     .state_time = now,
                                     .create_time = now});
          return absl::OkStatus();
        },
        [&](const absl::Status& status, int64_t) { done.set_value(status); });
    ASSERT_THAT(done.get_future().get(), IsOk());
  }

  void AwaitStaged() {
    Until(
        [&] {
          return database_.QueryValue(
                     "SELECT count(pending_profile) FROM configuration.pool_configuration") == "1";
        },
        kStaged);
  }

  // Eight at once, on both replicas: all get one answer, and one was kept.
  void DoAtOnce(Done& done) {
    const int kept = KeptAnswers(database_);
    std::vector<absl::StatusOr<std::string>> answers(8, absl::UnknownError("not called"));
    std::vector<std::thread> callers;
    for (size_t i = 0; i < answers.size(); ++i) {
      callers.emplace_back([&, i] {
        answers[i] = Call((i % 2 == 0 ? one_ : two_)->channel(), *done.method, *done.request);
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const auto& answer : answers) {
      ASSERT_THAT(answer, IsOk());
      EXPECT_EQ(*answer, *answers[0]);
    }
    done.answer = *answers[0];
    EXPECT_EQ(KeptAnswers(database_), kept + 1);
  }
  // The same answer, and nothing moves.
  void ExpectTold(const Done& done) {
    SCOPED_TRACE(done.method->full_name());
    const std::string before = Journals(database_);
    for (const auto* replica : {one_.get(), two_.get()}) {
      const auto again = Call(replica->channel(), *done.method, *done.request);
      ASSERT_THAT(again, IsOk());
      EXPECT_EQ(*again, done.answer);
    }
    EXPECT_EQ(Journals(database_), before);
  }
  void ExpectOthersRefused(const Done& done) {
    const std::string before = Journals(database_);
    const std::unique_ptr<Message> other(done.request->New());
    other->CopyFrom(*done.request);
    other->MergeFromString("\xf8\x7f\x01");  // a field of a newer version
    EXPECT_THAT(Call(two_->channel(), *done.method, *other), HasReason("REQUEST_ID_REUSED"));
    for (const std::string& id : {std::string("not one"), std::string(65, 'x')}) {
      SetRequestId(*other, id);
      EXPECT_THAT(Call(one_->channel(), *done.method, *other), HasFieldViolation("request_id"));
    }
    EXPECT_EQ(Journals(database_), before);
  }

  void Do(const Step& step) {
    SCOPED_TRACE(absl::StrCat(step.method, " {", step.request, "}"));
    if (step.method == kNode) return AddNode();
    if (step.method == kStaged) return AwaitStaged();
    const MethodDescriptor* method = Find(step.method);
    ASSERT_NE(method, nullptr);
    Done done{method, ParseRequest(*method, Filled(step.request))};
    if (step.prepares || !HasRequestId(*method)) {
      ASSERT_THAT(Call(one_->channel(), *method, *done.request), IsOk());
      return;
    }
    SetRequestId(*done.request, absl::StrCat("request-", done_.size()));
    DoAtOnce(done);
    if (HasFatalFailure()) return;
    ExpectTold(done);
    ExpectOthersRefused(done);
    done_.push_back(std::move(done));
  }

  // The keys of all that a watch shows, from the beginning of the journal or, without, as a
  // snapshot, up to now.
  template <class Service, class Request, class Response>
  std::vector<std::string> Watched(std::unique_ptr<grpc::ClientReader<Response>> (
                                       Service::Stub::*watch)(grpc::ClientContext*, const Request&),
                                   const std::string& schema, bool from_the_beginning) {
    const int64_t head = std::stoll(
        database_.QueryValue(absl::StrCat("SELECT revision FROM ", schema, ".journal_head")));
    const auto stub = Service::NewStub(one_->channel());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    Request request;
    if (from_the_beginning) request.mutable_start()->set_after_revision(0);
    const auto stream = (stub.get()->*watch)(&context, request);
    std::vector<std::string> keys;
    Response message;
    while (stream->Read(&message)) {
      const bool tells_where = message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END ||
                               message.type() == type::v1::WATCH_EVENT_TYPE_PROGRESS;
      if (tells_where && message.revision() >= head) {
        context.TryCancel();
        return keys;
      }
      if (!tells_where) keys.push_back(message.key());
    }
    ADD_FAILURE() << schema << ": " << stream->Finish().error_message();
    return keys;
  }
  // Kept answers are nobody's resource.
  template <class Service, class Request, class Response>
  void ExpectNotWatched(std::unique_ptr<grpc::ClientReader<Response>> (Service::Stub::*watch)(
                            grpc::ClientContext*, const Request&),
                        const std::string& schema) {
    for (const bool from_the_beginning : {false, true}) {
      const auto keys = Watched<Service>(watch, schema, from_the_beginning);
      EXPECT_THAT(keys, Each(Not(StartsWith("request-")))) << schema;
      EXPECT_THAT(keys, Not(IsEmpty())) << schema;
    }
  }

  FakeClock clock_;
  TestDatabase database_;
  std::unique_ptr<Replica> one_, two_;
  std::vector<Done> done_;
};

TEST_F(OnceTest, EveryRpcWithAnId) {
  for (const Step& step : Script()) {
    Do(step);
    if (HasFatalFailure()) return;
  }
  // Also long after, when all is otherwise than it was then, and after a restart.
  for (const Done& done : done_) ExpectTold(done);
  ExpectNotWatched<quota::v1::QuotaService>(&quota::v1::QuotaService::Stub::WatchQuotas, "quota");
  ExpectNotWatched<capacity::v1::CapacityService>(
      &capacity::v1::CapacityService::Stub::WatchCapacity, "capacity");
  ExpectNotWatched<configuration::v1::ConfigurationService>(
      &configuration::v1::ConfigurationService::Stub::WatchConfigurations, "configuration");
  ExpectNotWatched<lifecycle::v1::LifecycleService>(
      &lifecycle::v1::LifecycleService::Stub::WatchLifecycle, "lifecycle");
  Restart();
  clock_.Advance(kRequestKeep - absl::Microseconds(1));
  for (const Done& done : done_) ExpectTold(done);
  // After its time it is a new request.
  clock_.Advance(absl::Microseconds(1));
  for (const Done& done : done_) {
    SCOPED_TRACE(done.method->full_name());
    const std::string before = Journals(database_);
    const auto anew = Call(one_->channel(), *done.method, *done.request);
    EXPECT_TRUE(!anew.ok() || Journals(database_) != before);
  }
}

}  // namespace
}  // namespace muster::testing
