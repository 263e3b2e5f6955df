// One organization knows nothing of another: every method, every field that could name what is another's.
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
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/access/method_access.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/raw_call.h"

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
                 .callers = {"tenant"},
                 .bindings = {"- {role: editor, principals: [\"spiffe://muster.test/tenant\"], "
                              "organizations: [acme]}"}}) {
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
    const std::string file = absl::StrCat(::testing::TempDir(), "/rival.yaml");
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

  void Learn() {
    const auto stub = lifecycle::v1::LifecycleService::NewStub(muster_.channel());
    grpc::ClientContext context;
    lifecycle::v1::GetNodePoolRequest get;
    get.set_name(kRivalPool);
    ASSERT_TRUE(stub->GetNodePool(&context, get, &rival_).ok());
    grpc::ClientContext list_context;
    lifecycle::v1::ListNodesRequest list;
    list.set_parent(kRivalPool);
    lifecycle::v1::ListNodesResponse nodes;
    ASSERT_TRUE(stub->ListNodes(&list_context, list, &nodes).ok());
    ASSERT_EQ(nodes.nodes_size(), 2);
    for (const auto& node : nodes.nodes())
      machines_.push_back(node.name().substr(node.name().rfind('/') + 1));
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
  std::vector<std::string> Leaks(const Heard& heard, const Message& request) const {
    const std::string asked = request.SerializeAsString();
    std::vector<std::string> leaks;
    for (const std::string& marker : markers_) {
      if (absl::StrContains(heard.text, marker) && !absl::StrContains(asked, marker))
        leaks.push_back(marker);
    }
    return leaks;
  }

  MiniMuster muster_;
  lifecycle::v1::NodePool rival_;
  std::vector<std::string> machines_;
  std::vector<std::string> markers_;
  std::vector<std::string> foreign_;
  std::map<std::pair<std::string, bool>, std::shared_ptr<grpc::Channel>> channels_;
};

TEST_F(Isolation, NoMethodTellsOfAnotherOrganization) {
  int calls = 0;
  int leaks_to_operators = 0;
  for (const MethodDescriptor* method : AllMethods()) {
    SCOPED_TRACE(method->full_name());
    const auto access = access::MethodAccess::Of(*method);
    ASSERT_TRUE(access.ok()) << access.status();
    std::vector<std::unique_ptr<Message>> requests;
    requests.push_back(NewMessage(*method->input_type()));
    std::vector<std::string> words = foreign_;
    for (const char* all : {"organizations/-", "organizations/-/clusters/-",
                            "organizations/-/clusters/-/nodePools/-", "organizations/-/quotas/-"})
      words.push_back(all);
    for (const Path& path : StringFields(*method->input_type())) {
      for (const std::string& word : words) {
        requests.push_back(NewMessage(*method->input_type()));
        Set(*requests.back(), path, word);
      }
    }
    for (auto& chosen : ChosenLists(*method)) requests.push_back(std::move(chosen));
    for (const auto& request : requests) {
      const Heard heard = Ask("tenant", *method, *request);
      ++calls;
      EXPECT_THAT(Leaks(heard, *request), IsEmpty()) << request->ShortDebugString() << "\n"
                                                     << heard.code << ": " << heard.text;
      // Whether it exists makes no difference.
      const std::unique_ptr<Message> other = NewMessage(*method->input_type());
      ASSERT_TRUE(other->ParseFromString(request->SerializeAsString()));
      const std::string ghostly = Ghost(request->DebugString());
      if (ghostly == request->DebugString() || method->server_streaming()) continue;
      ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(ghostly, other.get()));
      const Heard ghost = Ask("tenant", *method, *other);
      EXPECT_EQ(heard.code, ghost.code) << request->ShortDebugString() << "\n" << heard.text;
      EXPECT_EQ(Ghost(heard.message), ghost.message) << request->ShortDebugString();
    }
    // The sweep can see: who may see all does.
    if (!IsDebug(*method) && access->verbs() == std::vector{access::Verb::kRead})
      for (const auto& request : requests)
        leaks_to_operators += Leaks(Ask("ci", *method, *request), *request).empty() ? 0 : 1;
  }
  std::cout << calls << " calls; an operator is told of the other organization in "
            << leaks_to_operators << "\n";
  EXPECT_GT(calls, 1'000);
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

// A watch that runs is told of nothing either, and does not fall behind for it.
TEST_F(Isolation, AWatchGoesOnPastWhatItsReaderMayNotSee) {
  const auto stub = lifecycle::v1::LifecycleService::NewStub(muster_.ChannelAs("tenant"));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
  const auto reader = stub->WatchLifecycle(&context, lifecycle::v1::WatchLifecycleRequest());
  lifecycle::v1::WatchLifecycleResponse message;
  do {
    ASSERT_TRUE(reader->Read(&message));
  } while (message.type() != type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
  const int64_t before = message.revision();
  const Finished scaled = muster_.Ctl({"scale", "nodepool", "rivalpool", "--nodes=3",
                                       "--organization=rivalorg", "--cluster=rivalcluster"});
  ASSERT_EQ(scaled.exit_code, 0) << scaled.output;
  ASSERT_TRUE(muster_.AwaitPool(kRivalPool, [](const lifecycle::v1::NodePool* pool) {
    return pool != nullptr && IsHealthy(*pool, 3);
  }));
  ASSERT_TRUE(muster_.Resize(2).ok());
  do {
    ASSERT_TRUE(reader->Read(&message));
    EXPECT_THAT(message.key(), Not(::testing::HasSubstr("rival")));
    EXPECT_THAT(message.DebugString(), Not(::testing::HasSubstr("rival")));
  } while (message.key() != MiniMuster::kPool);
  EXPECT_GT(message.revision(), before);
  context.TryCancel();
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

// Whether a uid is one of its own pools' nobody knows while the database is away: a replica that was started before the pool was made
// has not heard of it, perhaps.
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
