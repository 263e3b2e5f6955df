// One organization knows nothing of another: every method, every field that could name what is
// another's.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/access/v1/access_service.grpc.pb.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/debug/v1/debug_service.pb.h>
#include <muster/history/v1/history_service.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "services/access/method_access.h"
#include "services/access/policy.h"
#include "tests/integration/every_rpc.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kRivalPool[] = "organizations/rivalorg/clusters/rivalcluster/nodePools/rivalpool";
constexpr char kFarPool[] = "organizations/acme/clusters/example-east/nodePools/farpool";
constexpr char kNobodysUid[] = "99999999-2222-3333-4444-555555555555";

// A pool, and all that names it.
struct World {
  std::string organization = {};
  std::string cluster = {};  // whole name
  std::string zone = {};
  std::string instance_type = {};
  std::string uid = {};
  std::string profile = {};
  std::string machine = {};
  std::string pool_id = {};

  std::string Pool() const { return absl::StrCat(cluster, "/nodePools/", pool_id); }
  std::string Quota() const {
    return absl::StrCat("organizations/", organization, "/quotas/", zone, "~", instance_type,
                        "~default");
  }
};

// Beyond every_rpc.h: the other services, what cannot be tried, and what an adapter may do to its
// cluster only.
const Requests& FurtherRequests() {
  static const auto& requests = *new Requests{
      {"AccessService.GetCaller", {""}},
      {"AccessService.CheckAccess", {"method: 'GetNodePool' resource: '$POOL'"}},
      {"HistoryService.ListChanges", {"name: '$POOL'"}},
      {"HistoryService.GetPast", {"name: '$POOL' revision: $REVISION"}},
      {"HistoryService.ListPast",
       {"parent: 'organizations/acme/clusters/example' collection: 'nodePools' "
        "revision: $REVISION"}},
      {"QuotaService.SyncHolding",
       {"holding { name: '$QUOTA/holdings/$UID' nodes: 9 generation: 99 }"}},
      {"QuotaService.BatchSyncHoldings",
       {"holdings { name: '$QUOTA/holdings/$UID' nodes: 9 generation: 99 }"}},
      {"CapacityService.SyncClaim",
       {"claim { pool_uid: '$UID' generation: 99 organization: 'acme' zone: 'RNO2A' "
        "instance_type: 'gd-8xa100-i128' nodes: 9 }"}},
      {"CapacityService.BatchSyncClaims",
       {"claims { pool_uid: '$UID' generation: 99 organization: 'acme' zone: 'RNO2A' "
        "instance_type: 'gd-8xa100-i128' nodes: 9 }"}},
      {"DebugService.SetLogLevel", {""}},
      {"LifecycleService.UpdateCluster",
       {"cluster { name: 'organizations/acme/clusters/example' zone: 'RNO2A' }"}},
      // A Node that is healthy stays so.
      {"LifecycleService.ReportNodes",
       {"reports { node: '$POOL/nodes/$MACHINE' observation: OBSERVATION_RECOVERED }"}},
  };
  return requests;
}

// In protobuf's text format; throws if there is none: a new method has to have one.
const std::string& ValidRequest(const MethodDescriptor& method) {
  for (const Requests* requests : {&FurtherRequests(), &Questions(), &Trials()}) {
    const auto found = requests->find(NameOf(method));
    if (found != requests->end()) return found->second.front();
  }
  throw std::runtime_error(absl::StrCat("no request of ", NameOf(method)));
}

std::vector<const MethodDescriptor*> AllMethods() {
  std::vector<const MethodDescriptor*> methods;
  for (const Descriptor* message :
       {access::v1::GetCallerRequest::descriptor(), capacity::v1::GetZoneRequest::descriptor(),
        configuration::v1::GetReleaseRequest::descriptor(), debug::v1::PingRequest::descriptor(),
        history::v1::GetPastRequest::descriptor(), lifecycle::v1::GetNodeRequest::descriptor(),
        quota::v1::GetQuotaRequest::descriptor()}) {
    const auto* service = message->file()->service(0);
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
  }
  return methods;
}

bool IsDebug(const MethodDescriptor& method) {
  return method.service()->full_name() == "muster.debug.v1.DebugService";
}

std::unique_ptr<Message> NewMessage(const Descriptor& type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

std::unique_ptr<Message> CopyOf(const Message& message) {
  std::unique_ptr<Message> copy(message.New());
  copy->CopyFrom(message);
  return copy;
}

void OnlyTry(Message& request) {
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName("validate_only");
  if (field != nullptr) request.GetReflection()->SetBool(&request, field, true);
}

// From a request to each of its string fields.
using Path = std::vector<const FieldDescriptor*>;
std::vector<Path> StringFields(const Descriptor& type, int depth = 4) {
  std::vector<Path> paths;
  for (int i = 0; depth > 0 && i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_map() || field->name() == "request_id" || field->name() == "page_token") continue;
    if (field->type() == FieldDescriptor::TYPE_STRING) paths.push_back({field});
    if (field->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    for (Path& below : StringFields(*field->message_type(), depth - 1)) {
      below.insert(below.begin(), field);
      paths.push_back(std::move(below));
    }
  }
  return paths;
}

// Whether the method's access option says that the resource's name is there.
bool IsResource(const MethodDescriptor& method, const Path& path) {
  const std::string name = absl::StrJoin(
      path, ".",
      [](std::string* out, const FieldDescriptor* field) { absl::StrAppend(out, field->name()); });
  return method.options().GetExtension(type::v1::access).resource() == name;
}

void Set(Message& message, const Path& path, const std::string& text) {
  Message* at = &message;
  for (const FieldDescriptor* field : path) {
    const auto& reflection = *at->GetReflection();
    if (field != path.back()) {
      if (!field->is_repeated()) {
        at = reflection.MutableMessage(at, field);
      } else if (reflection.FieldSize(*at, field) == 0) {
        at = reflection.AddMessage(at, field);
      } else {
        at = reflection.MutableRepeatedMessage(at, field, 0);
      }
    } else if (field->is_repeated()) {
      reflection.AddString(at, field, text);
    } else {
      reflection.SetString(at, field, text);
    }
  }
}

// Of a list that can be filtered and ordered: all that there is, filtered, and ordered.
std::vector<std::unique_ptr<Message>> ChosenLists(const MethodDescriptor& method) {
  std::vector<std::unique_ptr<Message>> requests;
  const Descriptor& type = *method.input_type();
  for (const auto& [field, text] : {std::pair("filter", "name:*"), std::pair("order_by", "name")}) {
    if (type.FindFieldByName(field) == nullptr) continue;
    for (const char* parent : {"organizations/-", "organizations/-/clusters/-",
                               "organizations/-/clusters/-/nodePools/-"}) {
      requests.push_back(NewMessage(type));
      Set(*requests.back(), {type.FindFieldByName(field)}, text);
      if (const auto* below = type.FindFieldByName("parent"))
        Set(*requests.back(), {below}, parent);
    }
  }
  return requests;
}

// Who asks: with a role somewhere, about a pool that is there.
struct Asker {
  std::string name = {};
  access::Role role = access::Role::kViewer;
  const World* own = nullptr;
  bool in_full = false;                  // with all names that are foreign, else with some
  std::vector<std::string> hidden = {};  // from this one, too

  // Whether a request of it may get past the question what its role is.
  bool MayCall(const access::MethodAccess& method) const {
    if (method.reach() == type::v1::Access::REACH_CALLER) return true;
    if (method.reach() == type::v1::Access::REACH_EVERYWHERE) return false;
    return absl::c_any_of(method.verbs(), [&](access::Verb verb) {
      return absl::c_linear_search(access::VerbsOf(role), verb);
    });
  }
};

// What a caller hears: code, message, details, answers.
struct Heard {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message = {};
  std::string text = {};  // all that came, the message among it
};

constexpr int kOwnNodes = 4;

// What a watch is told of the caller's own pool once it has kOwnNodes, after all that was
// another's: a message about `key` with `text`.
struct LastWord {
  std::string key = {};
  std::string text = {};
};

// A watch that runs, on a thread of its own, until it is told the last word, or ends.
class LiveWatch {
 public:
  LiveWatch(std::shared_ptr<grpc::Channel> channel, std::string caller,
            const MethodDescriptor& method, const Message& request, LastWord last)
      : caller_(std::move(caller)),
        method_(method),
        request_(CopyOf(request)),
        last_(std::move(last)),
        thread_([this, channel = std::move(channel)] { Run(channel); }) {}
  ~LiveWatch() { (void)Join(); }
  LiveWatch(const LiveWatch&) = delete;
  LiveWatch& operator=(const LiveWatch&) = delete;

  const std::string& caller() const { return caller_; }
  const Message& request() const { return *request_; }
  std::string name() const {
    return absl::StrCat(method_.full_name(), " {", request_->ShortDebugString(), "} by ", caller_);
  }
  // Whether all that was there when it began has come.
  bool is_level() const { return is_level_; }
  // Waits for its end. OK: it came to the last word.
  grpc::Status Join() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }
  // After Join: what came since it was level.
  const Heard& heard() const { return heard_; }

 private:
  void Run(const std::shared_ptr<grpc::Channel>& channel) {
    const std::unique_ptr<Message> answer = NewMessage(*method_.output_type());
    RawCallOptions options{.deadline = absl::Minutes(5)};
    bool is_last = false;
    options.enough = [&](const std::string& bytes) {
      if (is_level_) heard_.text += bytes;
      answer->ParseFromString(bytes);
      Take(*answer, is_last);
      return is_last;
    };
    status_ =
        CallRaw(channel, absl::StrCat("/", method_.service()->full_name(), "/", method_.name()),
                request_->SerializeAsString(), options);
  }

  void Take(const Message& message, bool& is_last) {
    const auto& reflection = *message.GetReflection();
    const auto field = [&](const char* name) {
      return message.GetDescriptor()->FindFieldByName(name);
    };
    if (reflection.GetEnumValue(message, field("type")) == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END)
      is_level_ = true;
    if (reflection.GetString(message, field("key")) == last_.key &&
        absl::StrContains(message.ShortDebugString(), last_.text))
      is_last = true;
    const int bundled = reflection.FieldSize(message, field("bundle"));
    for (int i = 0; i < bundled; ++i)
      Take(reflection.GetRepeatedMessage(message, field("bundle"), i), is_last);
  }

  const std::string caller_;
  const MethodDescriptor& method_;
  const std::unique_ptr<Message> request_;
  const LastWord last_;
  std::atomic<bool> is_level_ = false;
  Heard heard_;
  grpc::Status status_;
  std::thread thread_;  // last: it uses all else
};

// A watch of everything; of what is in a zone; in bundles.
std::vector<std::unique_ptr<Message>> WaysToWatch(const MethodDescriptor& method) {
  const Descriptor& type = *method.input_type();
  std::vector<std::unique_ptr<Message>> requests;
  requests.push_back(NewMessage(type));
  if (const FieldDescriptor* zone = type.FindFieldByName("zone")) {
    requests.push_back(NewMessage(type));
    Set(*requests.back(), {zone}, "RNO2A");
  }
  requests.push_back(NewMessage(type));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("start { bundle: true }",
                                                            requests.back().get()));
  return requests;
}

class Isolation : public ::testing::Test {
 protected:
  Isolation()
      : muster_({.tls = true,
                 .callers = {"tenant", "reader", "agent", "adapter"},
                 .bindings = {"- {role: editor, principals: [\"spiffe://muster.test/tenant\"], "
                              "organizations: [acme]}",
                              "- {role: viewer, principals: [\"spiffe://muster.test/reader\"], "
                              "organizations: [acme]}",
                              "- {role: agent, principals: [\"spiffe://muster.test/agent\"], "
                              "zones: [US-EAST-01A]}",
                              "- {role: adapter, principals: [\"spiffe://muster.test/adapter\"], "
                              "clusters: [organizations/acme/clusters/example]}"}}) {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
    ApplyRival();
    EXPECT_TRUE(muster_.AwaitPool(kRivalPool, [](const lifecycle::v1::NodePool* pool) {
      return pool != nullptr && IsHealthy(*pool, 2);
    })) << muster_.LogEnds();
    Learn();
  }

  // What the other organization has.
  void ApplyRival() {
    const std::string file = folder_.Path("rival.yaml");
    std::ofstream(file) << R"(
apiVersion: muster/v1
kind: Quota
metadata: {organization: rivalorg}
spec: {zone: RNO2A, instanceType: gd-8xa100-i128, computeClass: default, limit: 5}
---
apiVersion: muster/v1
kind: Cluster
metadata: {organization: rivalorg, name: rivalcluster}
spec: {zone: RNO2A, kubernetesVersion: "1.33"}
---
apiVersion: compute.coreweave.com/v1alpha1
kind: NodePool
metadata: {name: rivalpool}
spec: {instanceType: gd-8xa100-i128, targetNodes: 2, nodeLabels: {secret: rivallabel}}
)";
    const Finished applied =
        muster_.Ctl({"apply", "-f", file, "--organization=rivalorg", "--cluster=rivalcluster"});
    ASSERT_EQ(applied.exit_code, 0) << applied.output;
  }

  // A pool of the caller's own organization in another zone and cluster.
  void ApplyFar() {
    const std::string file = folder_.Path("far.yaml");
    std::ofstream(file) << R"(
apiVersion: muster/v1
kind: Quota
metadata: {organization: acme}
spec: {zone: US-EAST-01A, instanceType: gd-8xh200ib-i128, computeClass: default, limit: 5}
---
apiVersion: compute.coreweave.com/v1alpha1
kind: NodePool
metadata: {name: farpool}
spec: {instanceType: gd-8xh200ib-i128, targetNodes: 1}
)";
    const Finished applied =
        muster_.Ctl({"apply", "-f", file, "--organization=acme", "--cluster=example-east"});
    ASSERT_EQ(applied.exit_code, 0) << applied.output;
    ASSERT_TRUE(muster_.AwaitPool(kFarPool, [](const lifecycle::v1::NodePool* pool) {
      return pool != nullptr && IsHealthy(*pool, 1);
    })) << muster_.LogEnds();
  }

  // Things of the other organization come, change and go, in each service that watches tell of. The
  // pool is as large as before in the end, and what its machines were is known.
  void ChangeRivals() {
    const auto quotas = quota::v1::QuotaService::NewStub(muster_.channel());
    const auto pools = lifecycle::v1::LifecycleService::NewStub(muster_.channel());
    const std::string quota = "organizations/rivalorg/quotas/RNO2A~gd-8xa100-i128~spot";
    for (const int64_t limit : {3, 4}) {
      quota::v1::UpdateQuotaRequest update;
      update.mutable_quota()->set_name(quota);
      update.mutable_quota()->set_limit(limit);
      update.set_allow_missing(true);
      MustAnswer(*quotas, &quota::v1::QuotaService::Stub::UpdateQuota, update);
    }
    quota::v1::DeleteQuotaRequest gone;
    gone.set_name(quota);
    MustAnswer(*quotas, &quota::v1::QuotaService::Stub::DeleteQuota, gone);
    lifecycle::v1::UpdateClusterRequest cluster;
    cluster.mutable_cluster()->set_name("organizations/rivalorg/clusters/rivalcluster-2");
    cluster.mutable_cluster()->set_zone("RNO2A");
    MustAnswer(*pools, &lifecycle::v1::LifecycleService::Stub::UpdateCluster, cluster);
    lifecycle::v1::DeleteClusterRequest closed;
    closed.set_name(cluster.cluster().name());
    MustAnswer(*pools, &lifecycle::v1::LifecycleService::Stub::DeleteCluster, closed);
    for (const int64_t nodes : {3, 2}) {
      lifecycle::v1::ResizeNodePoolRequest resize;
      resize.set_name(kRivalPool);
      resize.set_target_nodes(nodes);
      MustAnswer(*pools, &lifecycle::v1::LifecycleService::Stub::ResizeNodePool, resize);
      ASSERT_TRUE(muster_.AwaitPool(kRivalPool, [&](const lifecycle::v1::NodePool* pool) {
        return pool != nullptr && IsHealthy(*pool, nodes);
      })) << muster_.LogEnds();
      for (const std::string& machine : MachinesOf(kRivalPool)) markers_.push_back(machine);
    }
  }

  // Calls as `ci`, who may do everything.
  template <class Stub, class Request, class Response>
  void MustAnswer(Stub& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request) const {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    ASSERT_TRUE(status.ok()) << request.ShortDebugString() << ": " << status.error_message();
  }

  World WorldOf(const lifecycle::v1::NodePool& pool, const std::string& zone,
                const std::string& machine) const {
    const std::vector<std::string> parts = absl::StrSplit(pool.name(), '/');
    return {.organization = parts[1],
            .cluster = absl::StrCat("organizations/", parts[1], "/clusters/", parts[3]),
            .zone = zone,
            .instance_type = pool.spec().instance_type(),
            .uid = pool.uid(),
            .profile = pool.status().node_profile(),
            .machine = machine,
            .pool_id = parts[5]};
  }

  lifecycle::v1::NodePool Pool(const std::string& name) const {
    grpc::ClientContext context;
    lifecycle::v1::GetNodePoolRequest get;
    get.set_name(name);
    lifecycle::v1::NodePool pool;
    EXPECT_TRUE(lifecycle::v1::LifecycleService::NewStub(muster_.channel())
                    ->GetNodePool(&context, get, &pool)
                    .ok());
    return pool;
  }

  std::vector<std::string> MachinesOf(const std::string& pool) const {
    grpc::ClientContext context;
    lifecycle::v1::ListNodesRequest list;
    list.set_parent(pool);
    lifecycle::v1::ListNodesResponse nodes;
    EXPECT_TRUE(lifecycle::v1::LifecycleService::NewStub(muster_.channel())
                    ->ListNodes(&context, list, &nodes)
                    .ok());
    std::vector<std::string> machines;
    for (const auto& node : nodes.nodes())
      machines.push_back(node.name().substr(node.name().rfind('/') + 1));
    return machines;
  }

  void Learn() {
    rival_ = Pool(kRivalPool);
    machines_ = MachinesOf(kRivalPool);
    ASSERT_EQ(machines_.size(), 2u);
    rivals_ = WorldOf(rival_, "RNO2A", machines_[0]);
    markers_ = {"rivalorg", "rivalcluster", "rivalpool", "rivallabel", rival_.uid()};
    markers_.insert(markers_.end(), machines_.begin(), machines_.end());
    const std::string quota = "organizations/rivalorg/quotas/RNO2A~gd-8xa100-i128~default";
    foreign_ = {"rivalorg",
                "organizations/rivalorg",
                "organizations/rivalorg/clusters/-",
                "organizations/rivalorg/clusters/rivalcluster",
                kRivalPool,
                absl::StrCat(kRivalPool, "/nodes/", machines_[0]),
                quota,
                absl::StrCat(quota, "/holdings/", rival_.uid()),
                "organizations/rivalorg/quotas/-",
                rival_.uid(),
                absl::StrCat("claims/", rival_.uid()),
                absl::StrCat("poolConfigurations/", rival_.uid()),
                machines_[0],
                absl::StrCat("machines/", machines_[0])};
  }

  // The same with names of what there is not.
  std::string Ghost(const std::string& text) const {
    return absl::StrReplaceAll(text, {{"rival", "ghost"},
                                      {rival_.uid(), "11111111-2222-3333-4444-555555555555"},
                                      {machines_[0], std::string(machines_[0].size(), 'g')}});
  }

  // The method's valid request, about what is there.
  std::unique_ptr<Message> RequestAbout(const World& world, const MethodDescriptor& method) const {
    const std::string text = absl::StrReplaceAll(
        ValidRequest(method), {{"$POOL", world.Pool()},
                               {"$FRESH_POOL", world.Pool()},
                               {"$LEAVING_POOL", world.Pool()},
                               {"$QUOTA", world.Quota()},
                               {"$UID", world.uid},
                               {"$FRESH", kNobodysUid},
                               {"$PROFILE", world.profile},
                               {"$MACHINE", world.machine},
                               {"$REVISION", revision_},
                               {"organizations/acme/clusters/example", world.cluster},
                               {"organizations/acme", "organizations/" + world.organization},
                               {"'acme'", absl::StrCat("'", world.organization, "'")},
                               {"RNO2A", world.zone},
                               {"gd-8xa100-i128", world.instance_type}});
    std::unique_ptr<Message> request = NewMessage(*method.input_type());
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, request.get())) << text;
    return request;
  }

  // The second is valid, and the asker's own; in all others something is another's, or missing.
  // Only what has to be refused for its resource is more than tried.
  std::vector<std::unique_ptr<Message>> RequestsOf(const Asker& asker,
                                                   const MethodDescriptor& method,
                                                   bool may_call) const {
    std::vector<std::unique_ptr<Message>> requests;
    requests.push_back(NewMessage(*method.input_type()));
    requests.push_back(RequestAbout(*asker.own, method));
    OnlyTry(*requests.back());
    const std::unique_ptr<Message> valid = CopyOf(*requests.back());
    requests.push_back(RequestAbout(rivals_, method));
    std::vector<std::string> words = {kRivalPool, rivals_.cluster, rivals_.machine, rivals_.uid};
    if (may_call && asker.in_full) {
      words = foreign_;
      for (const char* all : {"organizations/-", "organizations/-/clusters/-",
                              "organizations/-/clusters/-/nodePools/-", "organizations/-/quotas/-"})
        words.push_back(all);
    }
    for (const Path& path : StringFields(*method.input_type())) {
      for (const std::string& word : words) {
        requests.push_back(IsResource(method, path) ? RequestAbout(*asker.own, method)
                                                    : CopyOf(*valid));
        Set(*requests.back(), path, word);
      }
    }
    for (auto& chosen : ChosenLists(method)) requests.push_back(std::move(chosen));
    return requests;
  }

  // No two pools have one uid: whoever knows that of another's may learn that it is taken
  // (deploy/security.md).
  bool GivesATakenUid(const Message& request) const {
    const auto* apply = dynamic_cast<const lifecycle::v1::ApplyNodePoolRequest*>(&request);
    return apply != nullptr && apply->node_pool().uid() == rival_.uid();
  }

  // Whether what is asked for exists makes no difference. Returns whether the request names
  // anything of the other organization's.
  bool ExpectAsOfAGhost(const Asker& asker, const MethodDescriptor& method, const Message& request,
                        const Heard& heard) {
    const std::string ghostly = Ghost(request.DebugString());
    if (ghostly == request.DebugString()) return false;
    const std::unique_ptr<Message> other = NewMessage(*method.input_type());
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(ghostly, other.get())) << ghostly;
    const Heard ghost = Ask(asker.name, method, *other);
    if (GivesATakenUid(request)) return true;
    EXPECT_EQ(heard.code, ghost.code) << request.ShortDebugString() << "\n" << heard.text;
    EXPECT_EQ(Ghost(heard.message), ghost.message) << request.ShortDebugString();
    // These say of each name what comes of it, though the call as a whole succeeds.
    if (heard.code == grpc::StatusCode::OK && method.name() == "CheckAccess") {
      EXPECT_EQ(Ghost(heard.text), ghost.text) << request.ShortDebugString();
    }
    if (heard.code == grpc::StatusCode::OK && method.name() == "ReportNodes") {
      EXPECT_EQ(Ghost(ResultsIn(heard.text)), ResultsIn(ghost.text)) << request.ShortDebugString();
    }
    return true;
  }

  // Without details, the order of whose fields is left to chance.
  static std::string ResultsIn(const std::string& answer) {
    lifecycle::v1::ReportNodesResponse response;
    EXPECT_TRUE(response.ParseFromString(answer));
    std::string results;
    for (const google::rpc::Status& result : response.results())
      absl::StrAppend(&results, result.code(), " ", result.message(), "\n");
    return results;
  }

  Heard Ask(const std::string& caller, const MethodDescriptor& method, const Message& request) {
    Heard heard;
    RawCallOptions options;
    const std::unique_ptr<Message> answer = NewMessage(*method.output_type());
    options.enough = [&](const std::string& bytes) {
      heard.text += bytes;
      if (!method.server_streaming()) return false;
      EXPECT_TRUE(answer->ParseFromString(bytes));
      const FieldDescriptor* type = answer->GetDescriptor()->FindFieldByName("type");
      const int is = answer->GetReflection()->GetEnumValue(*answer, type);
      return is == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
    };
    auto& channel = channels_[{caller, IsDebug(method)}];
    if (channel == nullptr) channel = muster_.ChannelAs(caller, IsDebug(method));
    const grpc::Status status =
        CallRaw(channel, absl::StrCat("/", method.service()->full_name(), "/", method.name()),
                request.SerializeAsString(), options);
    heard.code = status.error_code();
    heard.message = status.error_message();
    absl::StrAppend(&heard.text, status.error_message(), status.error_details());
    return heard;
  }

  // What of the other organization's stands there, and not in the request.
  std::vector<std::string> Leaks(const Heard& heard, const Message& request,
                                 const std::vector<std::string>& hidden = {}) const {
    const std::string asked = request.SerializeAsString();
    std::vector<std::string> leaks;
    for (const auto* markers : {&markers_, &hidden}) {
      for (const std::string& marker : *markers) {
        if (absl::StrContains(heard.text, marker) && !absl::StrContains(asked, marker))
          leaks.push_back(marker);
      }
    }
    return leaks;
  }

  const TempFolder folder_;
  MiniMuster muster_;
  lifecycle::v1::NodePool rival_;
  World rivals_;
  std::string revision_;  // of lifecycle's journal, at which all pools are there
  std::vector<std::string> machines_;
  std::vector<std::string> markers_;
  std::vector<std::string> foreign_;
  std::map<std::pair<std::string, bool>, std::shared_ptr<grpc::Channel>> channels_;
};

TEST_F(Isolation, NoMethodTellsOfAnotherOrganization) {
  ApplyFar();
  const World home = WorldOf(Pool(MiniMuster::kPool), "RNO2A", MachinesOf(MiniMuster::kPool).at(0));
  const World far = WorldOf(Pool(kFarPool), "US-EAST-01A", MachinesOf(kFarPool).at(0));
  revision_ = muster_.database().QueryValue("SELECT max(revision) FROM lifecycle.journal");
  const std::vector<Asker> askers = {
      {"tenant", access::Role::kEditor, &home, true},
      {"reader", access::Role::kViewer, &home, false},
      {"agent", access::Role::kAgent, &far, true, {home.uid, home.machine}},
      {"adapter", access::Role::kAdapter, &home, false, {far.uid, far.machine}}};
  int calls = 0, valid = 0, ghosts_in_streams = 0;
  int leaks_to_operators = 0;
  for (const MethodDescriptor* method : AllMethods()) {
    const auto access = access::MethodAccess::Of(*method);
    ASSERT_TRUE(access.ok()) << access.status();
    for (const Asker& asker : askers) {
      SCOPED_TRACE(absl::StrCat(method->full_name(), " by ", asker.name));
      const bool may_call = asker.MayCall(*access);
      const bool is_tenant = asker.role == access::Role::kEditor;
      const auto requests = RequestsOf(asker, *method, may_call);
      for (size_t i = 0; i < requests.size() && (may_call || is_tenant || i < 3); ++i) {
        const Message& request = *requests[i];
        const Heard heard = Ask(asker.name, *method, request);
        ++calls;
        EXPECT_THAT(Leaks(heard, request, asker.hidden), IsEmpty())
            << request.ShortDebugString() << "\n"
            << heard.code << ": " << heard.text;
        if (i == 1 && may_call) {
          EXPECT_NE(heard.code, grpc::StatusCode::INVALID_ARGUMENT)
              << request.ShortDebugString() << "\n"
              << heard.message << ": what is made of it shows nothing";
          valid += heard.code == grpc::StatusCode::OK ? 1 : 0;
        }
        const bool has_ghost = ExpectAsOfAGhost(asker, *method, request, heard);
        ghosts_in_streams += has_ghost && may_call && method->server_streaming() ? 1 : 0;
        // The sweep can see: who may see all does.
        if (is_tenant && !IsDebug(*method) && access->verbs() == std::vector{access::Verb::kRead})
          leaks_to_operators += Leaks(Ask("ci", *method, request), request).empty() ? 0 : 1;
      }
    }
  }
  std::cout << calls << " calls; an operator is told of the other organization in "
            << leaks_to_operators << "\n";
  EXPECT_GT(calls, 1'000);
  EXPECT_GT(valid, 100) << "of the roles' own requests";
  EXPECT_GT(ghosts_in_streams, 0);
  EXPECT_GT(leaks_to_operators, 50);
  // Nothing of it was touched.
  const lifecycle::v1::NodePool before = rival_;
  grpc::ClientContext context;
  lifecycle::v1::GetNodePoolRequest get;
  get.set_name(kRivalPool);
  lifecycle::v1::NodePool after;
  ASSERT_TRUE(lifecycle::v1::LifecycleService::NewStub(muster_.channel())
                  ->GetNodePool(&context, get, &after)
                  .ok());
  EXPECT_EQ(after.spec().SerializeAsString(), before.spec().SerializeAsString());
  EXPECT_EQ(after.generation(), before.generation());
}

TEST_F(Isolation, ACallerLearnsWhatItMayDo) {
  const auto stub = access::v1::AccessService::NewStub(muster_.ChannelAs("tenant"));
  {
    grpc::ClientContext context;
    access::v1::GetCallerResponse response;
    ASSERT_TRUE(stub->GetCaller(&context, {}, &response).ok());
    EXPECT_EQ(response.caller().principal(), "spiffe://muster.test/tenant");
    ASSERT_EQ(response.caller().grants_size(), 2);
    EXPECT_EQ(response.caller().grants(1).verb(), type::v1::Access::VERB_WRITE);
    EXPECT_EQ(response.caller().grants(1).organizations(0), "acme");
    EXPECT_NE(response.server().version(), "");
    EXPECT_NE(response.server().commit(), "");
    EXPECT_THAT(response.server().services(), ::testing::Contains("muster.quota.v1.QuotaService"));
  }
  const auto ask = [&](const std::string& method, const std::string& resource) {
    grpc::ClientContext context;
    access::v1::CheckAccessRequest request;
    request.set_method(method);
    request.set_resource(resource);
    access::v1::CheckAccessResponse response;
    const grpc::Status status = stub->CheckAccess(&context, request, &response);
    return status.ok() ? std::string(response.allowed() ? "yes" : "no: ") + response.reason()
                       : "wrong: " + status.error_message();
  };
  EXPECT_EQ(ask("ApplyNodePool", MiniMuster::kPool), "yes");
  EXPECT_EQ(ask("muster.lifecycle.v1.LifecycleService/ApplyNodePool", MiniMuster::kPool), "yes");
  EXPECT_EQ(ask("ListNodePools", ""), "yes");
  EXPECT_THAT(ask("ApplyNodePool", kRivalPool), ::testing::StartsWith("no: "));
  EXPECT_THAT(ask("GetNodePool", kRivalPool), ::testing::StartsWith("no: "));
  EXPECT_THAT(ask("SyncClaim", ""), ::testing::HasSubstr("it takes a role with sync"));
  EXPECT_THAT(ask("SetLogLevel", ""), ::testing::HasSubstr("it takes a role with debug"));
  EXPECT_THAT(ask("Nothing", ""), ::testing::StartsWith("wrong: "));
  EXPECT_THAT(ask("GetNodePool", ""), ::testing::HasSubstr("is required"));
}

// One watch of each method that streams, in each way to ask for it, by callers of one organization
// and of all. While they run, all kinds of things that are another's come, change and go. None of
// it is told but to who may see all; and no watch falls behind for it.
TEST_F(Isolation, AWatchGoesOnPastWhatItsReaderMayNotSee) {
  const std::string own_uid = Pool(MiniMuster::kPool).uid();
  const std::map<std::string, LastWord> last_words = {
      {"LifecycleService.WatchLifecycle",
       {MiniMuster::kPool, absl::StrCat("target_nodes: ", kOwnNodes)}},
      {"QuotaService.WatchQuotas",
       {absl::StrCat("organizations/acme/quotas/RNO2A~gd-8xa100-i128~default/holdings/", own_uid),
        absl::StrCat("nodes: ", kOwnNodes)}}};
  std::vector<std::unique_ptr<LiveWatch>> watches;
  for (const MethodDescriptor* method : AllMethods()) {
    if (!method->server_streaming()) continue;
    const auto access = access::MethodAccess::Of(*method);
    ASSERT_TRUE(access.ok()) << access.status();
    for (const auto& request : WaysToWatch(*method)) {
      if (access->reach() != type::v1::Access::REACH_NARROWED) {
        for (const char* caller : {"tenant", "reader"})
          EXPECT_EQ(Ask(caller, *method, *request).code, grpc::StatusCode::PERMISSION_DENIED)
              << method->full_name();
        continue;
      }
      const auto last = last_words.find(NameOf(*method));
      ASSERT_NE(last, last_words.end()) << "say what is told last by " << NameOf(*method);
      for (const char* caller : {"tenant", "reader", "ci"}) {
        watches.push_back(std::make_unique<LiveWatch>(muster_.ChannelAs(caller), caller, *method,
                                                      *request, last->second));
      }
    }
  }
  ASSERT_GE(watches.size(), 2u * 3u);
  for (const auto& watch : watches) Until([&] { return watch->is_level(); }, watch->name());

  ASSERT_NO_FATAL_FAILURE(ChangeRivals());
  ASSERT_TRUE(muster_.Resize(kOwnNodes).ok());
  // A machine that the rivals gave back may be acme's then; a bundle that ends with the last word
  // may tell so.
  ASSERT_TRUE(muster_.Await([](const lifecycle::v1::NodePool* pool) {
    return pool != nullptr && IsHealthy(*pool, kOwnNodes);
  })) << muster_.LogEnds();
  for (const std::string& own : MachinesOf(MiniMuster::kPool)) std::erase(markers_, own);
  for (const auto& watch : watches) {
    SCOPED_TRACE(watch->name());
    EXPECT_TRUE(watch->Join().ok());
    const std::vector<std::string> leaks = Leaks(watch->heard(), watch->request());
    if (watch->caller() == "ci") {
      EXPECT_THAT(leaks, Not(IsEmpty())) << "nothing is shown here: it was not told of after all";
    } else {
      EXPECT_THAT(leaks, IsEmpty()) << watch->heard().text;
    }
  }
}

// Whoever loses a right loses the watch that lived by it, and keeps all else.
TEST_F(Isolation, APolicyThatChangesEndsTheWatchesOfThoseItTakesFrom) {
  const auto in_a_minute = [] { return absl::ToChronoTime(absl::Now() + absl::Seconds(60)); };
  const auto tenant_stub = lifecycle::v1::LifecycleService::NewStub(muster_.ChannelAs("tenant"));
  const auto ci_stub = lifecycle::v1::LifecycleService::NewStub(muster_.ChannelAs("ci"));
  grpc::ClientContext tenant_context;
  grpc::ClientContext ci_context;
  tenant_context.set_deadline(in_a_minute());
  ci_context.set_deadline(in_a_minute());
  const auto tenant = tenant_stub->WatchLifecycle(&tenant_context, {});
  const auto ci = ci_stub->WatchLifecycle(&ci_context, {});
  lifecycle::v1::WatchLifecycleResponse message;
  for (const auto* reader : {&tenant, &ci}) {
    do {
      ASSERT_TRUE((*reader)->Read(&message));
    } while (message.type() != type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
  }
  muster_.WritePolicy({});
  while (tenant->Read(&message)) {
  }
  EXPECT_EQ(tenant->Finish().error_code(), grpc::StatusCode::OUT_OF_RANGE);
  ASSERT_TRUE(muster_.Resize(2).ok());
  EXPECT_TRUE(ci->Read(&message)) << "its rights are what they were";
  ci_context.TryCancel();
  grpc::ClientContext again;
  lifecycle::v1::GetNodePoolRequest get;
  get.set_name(MiniMuster::kPool);
  lifecycle::v1::NodePool pool;
  EXPECT_EQ(tenant_stub->GetNodePool(&again, get, &pool).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

// Whether a uid is one of its own pools' nobody knows while the database is away: a replica that
// was started before the pool was made has not heard of it, perhaps.
TEST(IsolationWithoutADatabase, WhatIsNotSeenIsNotSaidToBeMissing) {
  MiniMuster muster({.own_cluster = true,
                     .audit_books = false,
                     .tls = true,
                     .callers = {"tenant"},
                     .bindings = {"- {role: editor, principals: [\"spiffe://muster.test/tenant\"], "
                                  "organizations: [acme]}"}});
  const auto channel = muster.ChannelAs("tenant");
  const std::string uid = "11111111-2222-3333-4444-555555555555";
  const auto get_claim = [&] {
    grpc::ClientContext context;
    capacity::v1::GetClaimRequest request;
    request.set_name("claims/" + uid);
    capacity::v1::Claim claim;
    return capacity::v1::CapacityService::NewStub(channel)
        ->GetClaim(&context, request, &claim)
        .error_code();
  };
  const auto get_configuration = [&] {
    grpc::ClientContext context;
    configuration::v1::GetPoolConfigurationRequest request;
    request.set_name("poolConfigurations/" + uid);
    configuration::v1::PoolConfiguration configuration;
    return configuration::v1::ConfigurationService::NewStub(channel)
        ->GetPoolConfiguration(&context, request, &configuration)
        .error_code();
  };
  const auto list_changes = [&](const std::string& name) {
    grpc::ClientContext context;
    history::v1::ListChangesRequest request;
    request.set_name(name);
    history::v1::ListChangesResponse changes;
    return history::v1::HistoryService::NewStub(channel)
        ->ListChanges(&context, request, &changes)
        .error_code();
  };
  access::v1::CheckAccessResponse checked;
  const auto check_access = [&](const std::string& method, const std::string& resource) {
    grpc::ClientContext context;
    access::v1::CheckAccessRequest request;
    request.set_method(method);
    request.set_resource(resource);
    return access::v1::AccessService::NewStub(channel)
        ->CheckAccess(&context, request, &checked)
        .error_code();
  };
  const auto all = [&](grpc::StatusCode code, grpc::StatusCode check_code) {
    EXPECT_EQ(get_claim(), code);
    EXPECT_EQ(get_configuration(), code);
    EXPECT_EQ(list_changes("claims/" + uid), code);
    EXPECT_EQ(list_changes("poolConfigurations/" + uid), code);
    EXPECT_EQ(check_access("GetClaim", "claims/" + uid), check_code);
    // What its name places is known at once.
    EXPECT_EQ(check_access("ApplyNodePool", kRivalPool), grpc::StatusCode::OK);
    EXPECT_FALSE(checked.allowed());
  };
  all(grpc::StatusCode::NOT_FOUND, grpc::StatusCode::OK);
  muster.cluster().Stop(PostgresCluster::StopMode::kImmediate);
  all(grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::UNAVAILABLE);
  muster.cluster().Start();
}

}  // namespace
}  // namespace muster::testing
