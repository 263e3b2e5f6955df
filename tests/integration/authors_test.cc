// Who did what, when and why, and how it was before: with certificates, through the API and
// musterctl.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/history/v1/history_service.grpc.pb.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "services/rpc/page.h"
#include "services/rpc/status.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

using history::v1::Change;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTenant[] = "spiffe://muster.test/tenant";
constexpr char kCluster[] = "organizations/acme/clusters/example";
constexpr char kTraceId[] = "4bf92f3577b34da6a3ce929d0e0e4736";

class Authors : public ::testing::Test {
 protected:
  Authors()
      : muster_(
            {.tls = true,
             .callers = {"tenant", "zone-agent", "adapter", "both"},
             .bindings = {
                 absl::StrCat("- {role: editor, principals: [\"", kTenant,
                              "\"], organizations: [acme]}"),
                 "- {role: agent, principals: [\"spiffe://muster.test/zone-agent\", "
                 "\"spiffe://muster.test/both\"], zones: [RNO2A]}",
                 absl::StrCat("- {role: adapter, principals: [\"spiffe://muster.test/adapter\", "
                              "\"spiffe://muster.test/both\"], clusters: [",
                              kCluster, "]}")}}) {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
    const auto pool = muster_.GetPool();
    EXPECT_TRUE(pool.ok()) << pool.status();
    uid_ = pool->uid();
  }

  // As the tenant, with all that a caller can say of himself.
  void ResizeAsTenant(int64_t nodes) {
    const auto stub = lifecycle::v1::LifecycleService::NewStub(muster_.ChannelAs("tenant"));
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", "call-7");
    context.AddMetadata("x-muster-reason", "black friday");
    context.AddMetadata("traceparent", absl::StrCat("00-", kTraceId, "-00f067aa0ba902b7-00"));
    lifecycle::v1::ResizeNodePoolRequest request;
    request.set_name(MiniMuster::kPool);
    request.set_target_nodes(nodes);
    lifecycle::v1::NodePool answer;
    const grpc::Status status = stub->ResizeNodePool(&context, request, &answer);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_TRUE(muster_.AwaitSettled(nodes)) << muster_.LogEnds();
  }

  grpc::Status List(const std::string& name, history::v1::ListChangesResponse& answer,
                    const std::string& as = "tenant", int page_size = 0) {
    grpc::ClientContext context;
    history::v1::ListChangesRequest request;
    request.set_name(name);
    request.set_page_size(page_size);
    return history::v1::HistoryService::NewStub(muster_.ChannelAs(as))
        ->ListChanges(&context, request, &answer);
  }
  grpc::Status Past(history::v1::GetPastRequest request, history::v1::GetPastResponse& answer,
                    const std::string& as = "tenant") {
    grpc::ClientContext context;
    return history::v1::HistoryService::NewStub(muster_.ChannelAs(as))
        ->GetPast(&context, request, &answer);
  }
  // The code of the report.
  int Report(const std::string& node, lifecycle::v1::NodeReport::Observation observation,
             const std::string& as) {
    grpc::ClientContext context;
    lifecycle::v1::ReportNodesRequest request;
    request.add_reports()->set_node(node);
    request.mutable_reports(0)->set_observation(observation);
    request.mutable_reports(0)->set_message("why");
    lifecycle::v1::ReportNodesResponse answer;
    const grpc::Status status = lifecycle::v1::LifecycleService::NewStub(muster_.ChannelAs(as))
                                    ->ReportNodes(&context, request, &answer);
    return status.ok() ? answer.results(0).code() : status.error_code();
  }
  // The newest change that was made by calling that method; fails without one.
  static Change MadeWith(const history::v1::ListChangesResponse& answer,
                         const std::string& method) {
    for (const Change& change : answer.changes()) {
      if (change.author().method() == method) return change;
    }
    ADD_FAILURE() << "nobody called " << method << ": " << answer.DebugString();
    return {};
  }

  MiniMuster muster_;
  std::string uid_;
};

TEST_F(Authors, EveryChangeBearsItsAuthorThroughAllBooks) {
  ResizeAsTenant(2);
  history::v1::ListChangesResponse pool;
  ASSERT_TRUE(List(MiniMuster::kPool, pool).ok());
  EXPECT_EQ(pool.service(), "lifecycle");
  const Change resized = MadeWith(pool, "/muster.lifecycle.v1.LifecycleService/ResizeNodePool");
  EXPECT_EQ(resized.type(), Change::TYPE_UPDATED);
  EXPECT_EQ(resized.author().principal(), kTenant);
  EXPECT_EQ(resized.author().request_id(), "call-7");
  EXPECT_EQ(resized.author().reason(), "black friday");
  EXPECT_EQ(resized.author().trace_id(), kTraceId);
  ASSERT_GE(resized.fields_size(), 1);
  EXPECT_THAT(resized.DebugString(),
              HasSubstr("path: \"spec.target_nodes\"\n  before: \"1\"\n  after: \"2\""));
  const Change created = MadeWith(pool, "/muster.lifecycle.v1.LifecycleService/ApplyNodePool");
  EXPECT_EQ(created.type(), Change::TYPE_CREATED);
  EXPECT_EQ(created.author().principal(), "spiffe://muster.test/ci");
  EXPECT_EQ(created.author().reason(), "");
  // What came of it in the other books leads back to the call by its trace.
  history::v1::ListChangesResponse claim;
  ASSERT_TRUE(List(absl::StrCat("claims/", uid_), claim).ok());
  EXPECT_EQ(claim.service(), "capacity");
  EXPECT_EQ(claim.changes(0).author().principal(), "self");
  EXPECT_THAT(claim.DebugString(), HasSubstr(kTraceId));
  EXPECT_EQ(claim.changes().rbegin()->type(), Change::TYPE_CREATED) << "told from there on";
  history::v1::ListChangesResponse quota;
  ASSERT_TRUE(List("organizations/acme/quotas/RNO2A~gd-8xa100-i128~default", quota).ok());
  MadeWith(quota, "/muster.quota.v1.QuotaService/UpdateQuota");
}

// A machine that is said to be switched off is given to others.
TEST_F(Authors, AnAdapterReportsNothingOfMachines) {
  using lifecycle::v1::NodeReport;
  const std::string node = muster_.database().QueryValue("SELECT name FROM lifecycle.node LIMIT 1");
  for (int number = NodeReport::Observation_MIN + 1; number <= NodeReport::Observation_MAX;
       ++number) {
    const auto observation = static_cast<NodeReport::Observation>(number);
    SCOPED_TRACE(NodeReport::Observation_Name(observation));
    bool of_machines = false;
    for (const auto each :
         {NodeReport::OBSERVATION_BOOT_STARTED, NodeReport::OBSERVATION_BOOT_FAILED,
          NodeReport::OBSERVATION_STAGED, NodeReport::OBSERVATION_STAGING_FAILED,
          NodeReport::OBSERVATION_REMOVAL_FAILED, NodeReport::OBSERVATION_TERMINATED})
      of_machines = of_machines || each == observation;
    EXPECT_EQ(Report(node, observation, "adapter") == grpc::StatusCode::PERMISSION_DENIED,
              of_machines);
    for (const char* agent : {"zone-agent", "both"})
      EXPECT_NE(Report(node, observation, agent), grpc::StatusCode::PERMISSION_DENIED) << agent;
  }
}

// It may go on reporting where the agents of the zone are gone.
TEST_F(Authors, AnAdapterIsNotHeardAsAnAgent) {
  using lifecycle::v1::NodeReport;
  const std::string node = muster_.database().QueryValue("SELECT name FROM lifecycle.node LIMIT 1");
  const auto heard = [&] {
    constexpr char kSeries[] = "muster_lifecycle_agent_reports_total{zone=\"RNO2A\"} ";
    const std::string page = HttpGet(muster_.metrics_address(), "/metrics", absl::Minutes(1));
    double value = 0;
    for (absl::string_view line : absl::StrSplit(page, '\n'))
      if (absl::ConsumePrefix(&line, kSeries) && absl::SimpleAtod(line, &value)) break;
    return value;
  };
  const double before = heard();
  EXPECT_GT(before, 0) << "those that booted the Node";
  Report(node, NodeReport::OBSERVATION_IDLE, "adapter");
  EXPECT_EQ(heard(), before);
  Report(node, NodeReport::OBSERVATION_IDLE, "both");
  EXPECT_EQ(heard(), before + 1);
  Report(node, NodeReport::OBSERVATION_IDLE, "zone-agent");
  EXPECT_EQ(heard(), before + 2);
}

TEST_F(Authors, ThePastOfOthersIsNotThere) {
  history::v1::ListChangesResponse answer;
  // Machines pass from hand to hand: for who sees all.
  const std::string machine = muster_.database().QueryValue(
      "SELECT 'machines/' || id FROM capacity.machine WHERE claim <> '' LIMIT 1");
  EXPECT_EQ(List(machine, answer).error_code(), grpc::StatusCode::NOT_FOUND);
  // Also not for who sees it as it is.
  grpc::ClientContext context;
  capacity::v1::GetMachineRequest get;
  get.set_name(machine);
  capacity::v1::Machine now;
  EXPECT_TRUE(capacity::v1::CapacityService::NewStub(muster_.ChannelAs("zone-agent"))
                  ->GetMachine(&context, get, &now)
                  .ok());
  EXPECT_EQ(List(machine, answer, "zone-agent").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(List(machine, answer, "ci").ok());
  EXPECT_GE(answer.changes_size(), 2);
  const grpc::Status foreign = List("organizations/rival/clusters/c", answer);
  EXPECT_EQ(foreign.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(List("organizations/acme/clusters/none", answer).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(List("leases/reconciler", answer).error_code(), grpc::StatusCode::NOT_FOUND);
  history::v1::GetPastRequest past;
  past.set_name(machine);
  past.set_revision(1'000'000);
  history::v1::GetPastResponse resource;
  EXPECT_EQ(Past(past, resource).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Authors, WhatMakesNoSenseIsRefused) {
  history::v1::ListChangesResponse answer;
  const auto refused = [&](const grpc::Status& status, const std::string& field) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(field));
  };
  refused(List("spoons/1", answer, "ci"), "name");
  refused(List(MiniMuster::kPool, answer, "ci", -1), "page_size");
  history::v1::GetPastRequest past;
  history::v1::GetPastResponse resource;
  past.set_name(MiniMuster::kPool);
  refused(Past(past, resource), "time");
  past.set_revision(0);
  refused(Past(past, resource), "revision");
  past.mutable_time()->set_nanos(-1);
  refused(Past(past, resource), "time");
  history::v1::ListPastRequest list;
  const auto list_past = [&] {
    grpc::ClientContext context;
    history::v1::ListPastResponse listed;
    return history::v1::HistoryService::NewStub(muster_.ChannelAs("ci"))
        ->ListPast(&context, list, &listed);
  };
  for (const char* parent :
       {"", "organizations/", "organizations/acme/", "organizations/ACME",
        "organizations/-/clusters/-", "organizations/acme/clusters/-",
        "organizations/acme/clusters/c1/nodePools/", "organizations/acme/quotas/-",
        "organizations/acme/spoons/1", "zones/US-EAST-04A"}) {
    list.set_parent(parent);
    refused(list_past(), "parent: must be");
  }
  list.set_parent("organizations/acme");
  refused(list_past(), "collection");
  list.set_collection("machines");
  refused(list_past(), "collection");
  list.set_collection("nodes");
  refused(list_past(), "time");
  list.set_revision(1'000'000'000);
  EXPECT_EQ(list_past().error_code(), grpc::StatusCode::OUT_OF_RANGE);
  constexpr char kCluster1[] = "organizations/acme/clusters/c1";
  constexpr char kQuota[] = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default";
  const auto list_of = [&](const std::string& parent, const std::string& collection) {
    list.set_parent(parent);
    list.set_collection(collection);
    return list_past();
  };
  for (const auto& [parent, collection] :
       {std::pair("organizations/-", "events"), std::pair("organizations/acme", "holdings"),
        std::pair(kCluster1, "nodes"), std::pair(kCluster1, "events"),
        std::pair(MiniMuster::kPool, "nodes"), std::pair(kQuota, "holdings")})
    EXPECT_EQ(list_of(parent, collection).error_code(), grpc::StatusCode::OUT_OF_RANGE)
        << parent << " " << collection;
  // None can ever be there: an empty list would say that there were none.
  for (const auto& [parent, collection] :
       {std::pair(kCluster1, "clusters"), std::pair(kCluster1, "quotas"),
        std::pair(kCluster1, "holdings"), std::pair(MiniMuster::kPool, "nodePools"),
        std::pair(MiniMuster::kPool, "events"), std::pair(kQuota, "quotas"),
        std::pair(kQuota, "nodes")})
    refused(list_of(parent, collection), "collection");
  past.set_revision(1'000'000'000);
  EXPECT_EQ(Past(past, resource).error_code(), grpc::StatusCode::OUT_OF_RANGE);
}

TEST_F(Authors, ThePastOfAllOrganizationsIsForWhoMayReadEverywhere) {
  history::v1::ListPastRequest request;
  request.set_parent("organizations/-");
  request.set_collection("nodePools");
  request.mutable_time()->set_seconds(absl::ToUnixSeconds(absl::Now()) + 60);
  const auto list = [&](const std::string& as) {
    grpc::ClientContext context;
    history::v1::ListPastResponse listed;
    const grpc::Status status = history::v1::HistoryService::NewStub(muster_.ChannelAs(as))
                                    ->ListPast(&context, request, &listed);
    return std::pair(status.error_code(), listed.resources_size());
  };
  EXPECT_EQ(list("ci"), std::pair(grpc::StatusCode::OK, 1));
  EXPECT_EQ(list("tenant"), std::pair(grpc::StatusCode::NOT_FOUND, 0));
  EXPECT_EQ(list("zone-agent"), std::pair(grpc::StatusCode::NOT_FOUND, 0));
  request.set_parent("organizations/acme");
  EXPECT_EQ(list("tenant"), std::pair(grpc::StatusCode::OK, 1));
}

TEST_F(Authors, PagesFollowOneAnother) {
  ResizeAsTenant(2);
  history::v1::ListChangesResponse all, page;
  ASSERT_TRUE(List(MiniMuster::kPool, all).ok());
  EXPECT_TRUE(all.complete());
  EXPECT_EQ(all.next_page_token(), "");
  history::v1::ListChangesRequest request;
  request.set_name(MiniMuster::kPool);
  request.set_page_size(2);
  const auto stub = history::v1::HistoryService::NewStub(muster_.ChannelAs("tenant"));
  for (int at = 0; at < all.changes_size();) {
    grpc::ClientContext context;
    ASSERT_TRUE(stub->ListChanges(&context, request, &page).ok());
    for (const Change& change : page.changes())
      EXPECT_EQ(change.DebugString(), all.changes(at++).DebugString());
    EXPECT_EQ(page.complete(), at == all.changes_size());
    request.set_page_token(page.next_page_token());
  }
  request.set_page_token("nonsense");
  grpc::ClientContext context;
  EXPECT_EQ(stub->ListChanges(&context, request, &page).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

// As after a restore: the same numbers are other changes.
TEST_F(Authors, ALaterPageIsOfNoOtherHistory) {
  ResizeAsTenant(2);
  const auto stub = history::v1::HistoryService::NewStub(muster_.ChannelAs("tenant"));
  history::v1::ListChangesRequest changes;
  changes.set_name(MiniMuster::kPool);
  changes.set_page_size(1);
  history::v1::ListChangesResponse changed;
  const auto list_changes = [&] {
    grpc::ClientContext context;
    return stub->ListChanges(&context, changes, &changed);
  };
  history::v1::ListPastRequest past;
  past.set_parent(MiniMuster::kPool);
  past.set_collection("nodes");
  past.set_page_size(1);
  past.mutable_time()->set_seconds(absl::ToUnixSeconds(absl::Now()) + 60);
  history::v1::ListPastResponse listed;
  const auto list_past = [&] {
    grpc::ClientContext context;
    return stub->ListPast(&context, past, &listed);
  };
  ASSERT_TRUE(list_changes().ok());
  ASSERT_TRUE(list_past().ok());
  changes.set_page_token(changed.next_page_token());
  past.set_page_token(listed.next_page_token());
  ASSERT_TRUE(list_changes().ok());
  ASSERT_TRUE(list_past().ok());
  const std::string of_before = absl::StrCat(changed.changes(0).revision());
  muster_.database().Execute("UPDATE lifecycle.journal_head SET incarnation = 'another'");
  const auto told = [](const auto& list) {
    grpc::Status status;
    Until(
        [&] {
          status = list();
          return status.error_code() != grpc::StatusCode::UNAVAILABLE;
        },
        "the new history");
    return rpc::FromGrpcStatus(status);
  };
  EXPECT_THAT(told(list_changes), HasReason("HISTORY_REPLACED"));
  EXPECT_THAT(told(list_past), HasReason("HISTORY_REPLACED"));
  // The token of a server of the release before.
  changes.set_page_token(rpc::PageToken(changes, of_before));
  EXPECT_THAT(told(list_changes), IsOk());
}

TEST_F(Authors, MusterctlTellsIt) {
  const Finished scaled =
      muster_.Ctl({"scale", "nodepool", "example-nodepool", "--nodes=2", "--reason=a drill"});
  ASSERT_EQ(scaled.exit_code, 0) << scaled.output;
  ASSERT_TRUE(muster_.AwaitSettled(2)) << muster_.LogEnds();
  const Finished history = muster_.Ctl({"history", "nodepool", "example-nodepool", "--limit=1000"});
  ASSERT_EQ(history.exit_code, 0) << history.output;
  EXPECT_THAT(history.output,
              AllOf(HasSubstr("by spiffe://muster.test/ci with ResizeNodePool"),
                    HasSubstr("  reason: a drill\n"), HasSubstr("  spec.target_nodes: 1 -> 2\n"),
                    HasSubstr(" created by spiffe://muster.test/ci with ApplyNodePool"),
                    Not(HasSubstr("no longer known"))));
  // The revision of the call, from `(revision N)` of its line.
  const size_t line = history.output.find("with ResizeNodePool");
  const size_t begin = history.output.find("(revision ", line) + 10;
  const int64_t revision = std::stoll(history.output.substr(begin));
  const std::string before = absl::StrCat(revision - 1);
  const Finished was =
      muster_.Ctl({"get", "nodepool", "example-nodepool", "-o", "yaml", "--at", before});
  ASSERT_EQ(was.exit_code, 0) << was.output;
  EXPECT_THAT(was.output, HasSubstr("targetNodes: 1"));
  const Finished diff = muster_.Ctl({"diff", "nodepool", "example-nodepool", "--since", before});
  ASSERT_EQ(diff.exit_code, 0) << diff.output;
  EXPECT_THAT(diff.output, HasSubstr("  spec.target_nodes: 1 -> 2\n"));
  const Finished list = muster_.Ctl({"get", "nodes", "-o", "name", "--at", before});
  ASSERT_EQ(list.exit_code, 0) << list.output;
  EXPECT_EQ(std::count(list.output.begin(), list.output.end(), '\n'), 1) << list.output;
  const Finished quotas = muster_.Ctl({"get", "quotas", "-o", "name", "--at=1ms"});
  EXPECT_EQ(quotas.output, "note: what quotas held then is not told\n" +
                               muster_.Ctl({"get", "quotas", "-o", "name"}).output);
  const Finished machines = muster_.Ctl({"get", "machines", "--at=1ms"});
  EXPECT_EQ(machines.exit_code, 1);
  EXPECT_THAT(machines.output, HasSubstr("name one"));
  const Finished early = muster_.Ctl({"get", "nodepool", "example-nodepool", "--at=8760h"});
  EXPECT_EQ(early.exit_code, 1);
  EXPECT_THAT(early.output, HasSubstr("does not exist"));
  // And when it is gone.
  ASSERT_EQ(muster_.Ctl({"delete", "nodepool", "example-nodepool", "--wait"}).exit_code, 0);
  const Finished gone = muster_.Ctl({"history", "nodepool", "example-nodepool", "--limit=1000"});
  ASSERT_EQ(gone.exit_code, 0) << gone.output;
  EXPECT_THAT(gone.output, AllOf(HasSubstr(" deleted by "),
                                 HasSubstr("by spiffe://muster.test/ci with DeleteNodePool")));
  EXPECT_EQ(muster_.Ctl({"get", "nodepool", "example-nodepool", "--at", before}).exit_code, 0);
  // What its uid names is then for who may read everywhere.
  for (const char* collection : {"claims/", "poolConfigurations/"}) {
    SCOPED_TRACE(collection);
    history::v1::ListChangesResponse answer;
    EXPECT_EQ(List(collection + uid_, answer).error_code(), grpc::StatusCode::NOT_FOUND);
    ASSERT_TRUE(List(collection + uid_, answer, "ci").ok());
    EXPECT_EQ(answer.changes(0).type(), Change::TYPE_DELETED);
  }
}

}  // namespace
}  // namespace muster::testing
