// One organization knows nothing of another: every method, every field that could name what is
// another's.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/access/v1/access_service.grpc.pb.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/history/v1/history_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/access/method_access.h"
#include "services/access/policy.h"
#include "tests/integration/isolation_requests.h"
#include "tests/integration/isolation_test_base.h"
#include "tests/integration/mini_muster.h"

namespace muster::testing {
namespace {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using ::testing::IsEmpty;

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
  const lifecycle::v1::NodePool after = Pool(kRivalPool);
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
