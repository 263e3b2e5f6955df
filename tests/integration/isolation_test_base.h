#pragma once

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "services/access/method_access.h"
#include "services/access/policy.h"
#include "tests/integration/isolation_requests.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/temp_folder.h"

// Two organizations in one Muster, and callers who may see one of them.
namespace muster::testing {

inline constexpr char kRivalPool[] =
    "organizations/rivalorg/clusters/rivalcluster/nodePools/rivalpool";
inline constexpr char kFarPool[] = "organizations/acme/clusters/example-east/nodePools/farpool";
inline constexpr char kNobodysUid[] = "99999999-2222-3333-4444-555555555555";

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
  std::unique_ptr<google::protobuf::Message> RequestAbout(
      const World& world, const google::protobuf::MethodDescriptor& method) const {
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
    std::unique_ptr<google::protobuf::Message> request = NewMessage(*method.input_type());
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, request.get())) << text;
    return request;
  }

  // The second is valid, and the asker's own; in all others something is another's, or missing.
  // Only what has to be refused for its resource is more than tried.
  std::vector<std::unique_ptr<google::protobuf::Message>> RequestsOf(
      const Asker& asker, const google::protobuf::MethodDescriptor& method, bool may_call) const {
    std::vector<std::unique_ptr<google::protobuf::Message>> requests;
    requests.push_back(NewMessage(*method.input_type()));
    requests.push_back(RequestAbout(*asker.own, method));
    OnlyTry(*requests.back());
    const std::unique_ptr<google::protobuf::Message> valid = CopyOf(*requests.back());
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
  bool GivesATakenUid(const google::protobuf::Message& request) const {
    const auto* apply = dynamic_cast<const lifecycle::v1::ApplyNodePoolRequest*>(&request);
    return apply != nullptr && apply->node_pool().uid() == rival_.uid();
  }

  // Whether what is asked for exists makes no difference. Returns whether the request names
  // anything of the other organization's.
  bool ExpectAsOfAGhost(const Asker& asker, const google::protobuf::MethodDescriptor& method,
                        const google::protobuf::Message& request, const Heard& heard) {
    const std::string ghostly = Ghost(request.DebugString());
    if (ghostly == request.DebugString()) return false;
    const std::unique_ptr<google::protobuf::Message> other = NewMessage(*method.input_type());
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

  Heard Ask(const std::string& caller, const google::protobuf::MethodDescriptor& method,
            const google::protobuf::Message& request) {
    Heard heard;
    RawCallOptions options;
    const std::unique_ptr<google::protobuf::Message> answer = NewMessage(*method.output_type());
    options.enough = [&](const std::string& bytes) {
      heard.text += bytes;
      if (!method.server_streaming()) return false;
      EXPECT_TRUE(answer->ParseFromString(bytes));
      const google::protobuf::FieldDescriptor* type =
          answer->GetDescriptor()->FindFieldByName("type");
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
  std::vector<std::string> Leaks(const Heard& heard, const google::protobuf::Message& request,
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

}  // namespace muster::testing
