// What the policy lets through a server, and what it does not.
#include "services/rpc/guard.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/current_caller.h"
#include "services/common/error.h"
#include "services/common/memory_limit.h"
#include "services/common/steady_clock.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "services/rpc/unary.h"
#include "services/rpc/watch_stream.h"
#include "tests/testing/temp_folder.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;
using Context = grpc::CallbackServerContext*;

// Ends when it is told to.
struct EndlessWatcher {
  struct Item {};
  std::optional<Item> Next() { return std::exchange(next, std::nullopt); }
  std::optional<absl::Status> Ended() { return std::nullopt; }
  void NotifyWhenReady(const std::function<void()>&) {}
  void Cancel() { cancelled = true; }
  std::atomic<bool> cancelled = false;
  std::optional<Item> next = std::nullopt;
};

class GuardTest : public ::testing::Test {
 protected:
  // The caller of this machine has `role` in the organization acme, or everywhere.
  void Serve(const std::string& role, const std::string& scope = "organizations: [acme]") {
    const auto policy = access::Policy::Parse("bindings: [{role: " + role +
                                              ", principals: [local], " + scope + "}]");
    ASSERT_TRUE(policy.ok()) << policy.status();
    server_.reset();  // before the guard that it asks
    policy_ = *access::PolicyFile::Create({.fixed = *policy});
    guard_ = std::make_unique<Guard>(policy_.get());
    server_ =
        std::make_unique<FakeServer>([&](ServerOptions& options) { options.guard = guard_.get(); });
    server_->service.get = [this](Context context, const v1::GetQuotaRequest*, v1::Quota*) {
      return Unary(context, [&](Responder responder) {
        ++handled_;
        principal_ = responder.caller()->principal;
        responder.Finish(absl::OkStatus());
      });
    };
    server_->service.watch = [this](Context context) {
      narrowed_to_ = NarrowedTo(*context);
      turn_ = TurnOf(*context);
      watcher_ = std::make_shared<EndlessWatcher>();
      return WatchStream<v1::WatchQuotasResponse>(
          context, watcher_, [](const EndlessWatcher::Item&) { return v1::WatchQuotasResponse(); });
    };
    stub_ = v1::QuotaService::NewStub(MakeChannel(server_->address()));
  }

  absl::Status Get(v1::QuotaService::Stub& stub, const std::string& name) {
    return GetQuota(stub, name).status();
  }

  std::unique_ptr<access::PolicyFile> policy_;
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<FakeServer> server_;
  std::unique_ptr<v1::QuotaService::Stub> stub_;
  std::atomic<int> handled_ = 0;
  std::string principal_;
  std::shared_ptr<const access::Scope> narrowed_to_;
  uint64_t turn_ = 0;
  std::shared_ptr<EndlessWatcher> watcher_;
};

TEST_F(GuardTest, WhatIsBeyondTheScopeDoesNotExistAndTheLogSaysWhy) {
  Serve("viewer");
  EXPECT_EQ(Get(*stub_, kOwnQuota), absl::OkStatus());
  EXPECT_EQ(principal_, "local");
  CaughtLog log;
  const absl::Status status = Get(*stub_, kForeignQuota);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), error::NotFound(kForeignQuota).message());
  EXPECT_EQ(handled_, 1) << "the handler is not asked";
  EXPECT_THAT(log.text(), HasSubstr("The policy does not let `local` see it."));
  EXPECT_EQ(guard_->stats().not_visible, 1);
}

// Anybody on the way might have read it.
TEST_F(GuardTest, ATokenThatCameInTheClearIsNotRead) {
  Serve("viewer");
  server_.reset();
  std::atomic<int> asked = 0;
  guard_ = std::make_unique<Guard>(policy_.get(), CallerLimitOptions(),
                                   [&](absl::string_view, bool) -> absl::StatusOr<std::string> {
                                     ++asked;
                                     return "token/x";
                                   });
  FakeServer server([&](ServerOptions& options) { options.guard = guard_.get(); });
  server.service.get = [this](Context context, const v1::GetQuotaRequest*, v1::Quota*) {
    return Unary(context, [&](Responder responder) {
      principal_ = responder.caller()->principal;
      responder.Finish(absl::OkStatus());
    });
  };
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer abc");
  v1::GetQuotaRequest request;
  request.set_name(kOwnQuota);
  v1::Quota response;
  EXPECT_EQ(FromGrpcStatus(stub->GetQuota(&context, request, &response)), absl::OkStatus());
  EXPECT_EQ(principal_, "local");
  EXPECT_EQ(asked, 0);
}

TEST_F(GuardTest, WhoHasNoRoleIsDenied) {
  Serve("agent");
  grpc::ClientContext context;
  v1::Quota response;
  v1::CreateQuotaRequest request;
  request.set_parent("organizations/acme");
  const absl::Status status = FromGrpcStatus(stub_->CreateQuota(&context, request, &response));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("`local` may not call CreateQuota: it takes a role with operate."));
  const auto detail = error::DetailOf(status);
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->reason, "PERMISSION_DENIED");
  EXPECT_EQ(guard_->stats().denied, 1);
}

TEST_F(GuardTest, WhoHasTooMuchUnderWayIsToldToWait) {
  Serve("viewer", "everywhere: true");
  server_.reset();
  guard_ = std::make_unique<Guard>(policy_.get(), CallerLimitOptions{.calls = 1, .watches = 1});
  FakeServer server([&](ServerOptions& options) { options.guard = guard_.get(); });
  std::promise<Responder> held;
  server.service.get = [&](Context context, const v1::GetQuotaRequest*, v1::Quota*) {
    return Unary(context, [&](Responder responder) { held.set_value(std::move(responder)); });
  };
  server.service.watch = [](Context context) {
    return WatchStream<v1::WatchQuotasResponse>(
        context, std::make_shared<EndlessWatcher>(),
        [](const EndlessWatcher::Item&) { return v1::WatchQuotasResponse(); });
  };
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  std::thread first([&] { EXPECT_TRUE(Get(*stub, kOwnQuota).ok()); });
  Responder responder = held.get_future().get();
  const absl::Status refused = Get(*stub, kOwnQuota);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error::ReasonOf(refused), "TOO_MANY_CALLS");
  EXPECT_EQ(error::DetailOf(refused)->retry_after, absl::Milliseconds(100));
  responder.Finish(absl::OkStatus());
  first.join();
  // Its place is given back soon after its answer has gone out.
  server.service.get = [](Context context, const v1::GetQuotaRequest*, v1::Quota*) {
    return Unary(context, [](Responder now) { now.Finish(absl::OkStatus()); });
  };
  while (absl::IsResourceExhausted(Get(*stub, kOwnQuota))) {
  }
  grpc::ClientContext context;
  grpc::ClientContext other;
  const auto watch = stub->WatchQuotas(&context, {});
  watch->WaitForInitialMetadata();
  EXPECT_EQ(stub->WatchQuotas(&other, {})->Finish().error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_GE(guard_->limited().too_many_calls, 1);
  EXPECT_EQ(guard_->limited().too_many_watches, 1);
  context.TryCancel();
}

TEST_F(GuardTest, WhoseRequestsAreTooLargeTogetherIsToldToWait) {
  Serve("viewer", "everywhere: true");
  server_.reset();
  guard_ = std::make_unique<Guard>(policy_.get(), CallerLimitOptions{.request_bytes = 1});
  FakeServer server([&](ServerOptions& options) { options.guard = guard_.get(); });
  std::promise<Responder> held;
  server.service.get = [&](Context context, const v1::GetQuotaRequest*, v1::Quota*) {
    return Unary(context, [&](Responder responder) { held.set_value(std::move(responder)); });
  };
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  std::thread first([&] { EXPECT_TRUE(Get(*stub, kOwnQuota).ok()); });
  Responder responder = held.get_future().get();
  const absl::Status refused = Get(*stub, kOwnQuota);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error::ReasonOf(refused), "TOO_MANY_CALLS");
  EXPECT_THAT(refused.message(), HasSubstr("has requests of"));
  EXPECT_EQ(error::DetailOf(refused)->retry_after, absl::Milliseconds(100));
  Metrics metrics;
  metrics.Add(MakePolicyCollector(*guard_));
  EXPECT_THAT(metrics.Text(), HasSubstr("muster_limited_calls_total{limit=\"request_bytes\"} 1"));
  responder.Finish(absl::OkStatus());
  first.join();
}

TEST_F(GuardTest, WhileMemoryIsShortNothingNewIsTakenButFromItself) {
  Serve("viewer", "everywhere: true");
  server_.reset();
  std::atomic<int64_t> resident = 950;
  FakeSteadyClock clock;
  MemoryLimit memory(1000, &clock, [&] { return resident.load(); });
  guard_ = std::make_unique<Guard>(policy_.get(), CallerLimitOptions(), nullptr, &memory);
  FakeServer server([&](ServerOptions& options) { options.guard = guard_.get(); });
  server.service.get = [](Context context, const v1::GetQuotaRequest*, v1::Quota*) {
    return Unary(context, [](Responder now) { now.Finish(absl::OkStatus()); });
  };
  server.service.watch = [](Context context) {
    return WatchStream<v1::WatchQuotasResponse>(
        context, std::make_shared<EndlessWatcher>(),
        [](const EndlessWatcher::Item&) { return v1::WatchQuotasResponse(); });
  };
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  const absl::Status refused = Get(*stub, kOwnQuota);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(error::ReasonOf(refused), "NO_MEMORY");
  EXPECT_EQ(error::DetailOf(refused)->retry_after, absl::Seconds(1));
  grpc::ClientContext context;
  EXPECT_EQ(stub->WatchQuotas(&context, {})->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Get(*server.stub, kOwnQuota), absl::OkStatus()) << "of the process itself";
  EXPECT_EQ(guard_->stats().no_memory, 2);
  Metrics metrics;
  metrics.Add(MakePolicyCollector(*guard_));
  EXPECT_THAT(metrics.Text(), HasSubstr("muster_limited_calls_total{limit=\"memory\"} 2"));
  EXPECT_THAT(metrics.Text(), HasSubstr("muster_memory_limit_bytes 1000"));
  resident = 900;
  clock.Advance(MemoryLimit::kLook);
  EXPECT_EQ(Get(*stub, kOwnQuota), absl::OkStatus());
}

TEST_F(GuardTest, WhileMemoryIsShortOperatorsMayLookAndFreeSome) {
  const auto serve = [this](const std::string& role, const std::string& scope,
                            MemoryLimit* memory) {
    Serve(role, scope);
    server_.reset();
    guard_ = std::make_unique<Guard>(policy_.get(), CallerLimitOptions(), nullptr, memory);
    server_ =
        std::make_unique<FakeServer>([&](ServerOptions& options) { options.guard = guard_.get(); });
    server_->service.get = [](Context context, const v1::GetQuotaRequest*, v1::Quota*) {
      return Unary(context, [](Responder now) { now.Finish(absl::OkStatus()); });
    };
    server_->service.create = [](Context context, const v1::CreateQuotaRequest*, v1::Quota*) {
      return Unary(context, [](Responder now) { now.Finish(absl::OkStatus()); });
    };
    stub_ = v1::QuotaService::NewStub(MakeChannel(server_->address()));
  };
  FakeSteadyClock clock;
  MemoryLimit memory(1000, &clock, [] { return int64_t{950}; });
  serve("operator", "everywhere: true", &memory);
  EXPECT_EQ(Get(*stub_, kOwnQuota), absl::OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(Get(*stub_, std::string(Guard::kMaxSparedBytes, 'x'))));
  grpc::ClientContext context;
  v1::Quota response;
  v1::CreateQuotaRequest request;
  request.set_parent("organizations/acme");
  EXPECT_EQ(error::ReasonOf(FromGrpcStatus(stub_->CreateQuota(&context, request, &response))),
            "NO_MEMORY")
      << "nothing new";
  EXPECT_EQ(guard_->stats().no_memory, 2);
  // Whoever operates for one organization, or only looks, waits like all others.
  serve("operator", "organizations: [acme]", &memory);
  EXPECT_EQ(error::ReasonOf(Get(*stub_, kOwnQuota)), "NO_MEMORY");
  serve("viewer", "everywhere: true", &memory);
  EXPECT_EQ(error::ReasonOf(Get(*stub_, kOwnQuota)), "NO_MEMORY");
  server_.reset();  // before what it looks at
}

TEST_F(GuardTest, WhatIsSparedCostsLittle) {
  for (const char* method : {"GetNodePool", "GetLogLevel", "DeleteNodePool", "Ping"})
    EXPECT_TRUE(Guard::IsSpared(method)) << method;
  for (const char* method : {"GetPast", "ListNodePools", "WatchNodes", "CompareState", "AuditBooks",
                             "ApplyNodePool", "FindPlacements"})
    EXPECT_FALSE(Guard::IsSpared(method)) << method;
}

// Of an organization's own calls; those of the platform, and reports, are not counted.
TEST_F(GuardTest, WhatAnOrganizationAsksForIsCounted) {
  const auto method_of = [](const google::protobuf::Descriptor& request) {
    const auto& service = *request.file()->service(0);
    for (int i = 0; i < service.method_count(); ++i) {
      if (service.method(i)->input_type() == &request)
        return access::MethodAccess::Of(*service.method(i));
    }
    return absl::StatusOr<access::MethodAccess>(absl::NotFoundError(request.name()));
  };
  const auto admit = [&](access::Caller& caller, const google::protobuf::Message& request) {
    return guard_->Admit(method_of(*request.GetDescriptor()), caller, request,
                         &access::PlaceOfName);
  };
  const auto caller = [](access::Role role, const access::Scope& scope) {
    access::Rights rights;
    rights.Add(role, scope);
    return access::Caller{.principal = "p", .rights = std::make_shared<access::Rights>(rights)};
  };
  access::Scope acme;
  acme.AddCluster("organizations/acme/clusters/c1");
  guard_ = std::make_unique<Guard>(nullptr, CallerLimitOptions{.changes_per_minute = 1});
  lifecycle::v1::ApplyNodePoolRequest apply;
  apply.mutable_node_pool()->set_name("organizations/acme/clusters/c1/nodePools/a");
  access::Caller editor = caller(access::Role::kEditor, acme);
  ASSERT_EQ(admit(editor, apply), absl::OkStatus());
  ASSERT_NE(editor.pace, nullptr);
  editor.pace->Add(2);
  const absl::Status refused = admit(editor, apply);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error::ReasonOf(refused), "TOO_FAST");
  EXPECT_EQ(guard_->too_many_changes(), 1);
  access::Caller adapter = caller(access::Role::kAdapter, acme);
  EXPECT_FALSE(admit(adapter, apply).ok()) << "of the same organization";
  EXPECT_EQ(admit(adapter, lifecycle::v1::ReportNodesRequest()), absl::OkStatus());
  EXPECT_EQ(adapter.pace, nullptr);
  lifecycle::v1::GetNodePoolRequest get;
  get.set_name(apply.node_pool().name());
  EXPECT_EQ(admit(editor, get), absl::OkStatus());
  access::Caller people = caller(access::Role::kOperator, access::Scope::Everywhere());
  EXPECT_EQ(admit(people, apply), absl::OkStatus());
  EXPECT_EQ(people.pace, nullptr);
}

// By what the method says of itself, whoever calls it.
TEST_F(GuardTest, WhatReportsGoesFirst) {
  class Reported final : public lifecycle::v1::LifecycleService::CallbackService {
   public:
    grpc::ServerUnaryReactor* ReportNodes(Context context, const lifecycle::v1::ReportNodesRequest*,
                                          lifecycle::v1::ReportNodesResponse*) override {
      return Note(context);
    }
    grpc::ServerUnaryReactor* DeleteNodePool(Context context,
                                             const lifecycle::v1::DeleteNodePoolRequest*,
                                             lifecycle::v1::NodePool*) override {
      return Note(context);
    }
    std::vector<bool> first;

   private:
    grpc::ServerUnaryReactor* Note(Context context) {
      return Unary(context, [&](Responder responder) {
        first.push_back(CurrentCaller::GoesFirst());
        responder.Finish(absl::OkStatus());
      });
    }
  };
  Reported service;
  FakeServer server([&](ServerOptions& options) {
    options.services = {{lifecycle::v1::LifecycleService::service_full_name(), &service}};
  });
  const auto stub = lifecycle::v1::LifecycleService::NewStub(server.server->InProcessChannel());
  {
    grpc::ClientContext context;
    lifecycle::v1::ReportNodesResponse response;
    EXPECT_TRUE(stub->ReportNodes(&context, {}, &response).ok());
  }
  {
    grpc::ClientContext context;
    lifecycle::v1::NodePool response;
    EXPECT_TRUE(stub->DeleteNodePool(&context, {}, &response).ok());
  }
  EXPECT_EQ(service.first, (std::vector<bool>{true, false}));
}

TEST_F(GuardTest, AProcessMayCallItself) {
  Serve("agent");
  EXPECT_EQ(Get(*server_->stub, kForeignQuota), absl::OkStatus());
  EXPECT_EQ(principal_, "self");
}

TEST_F(GuardTest, AWatchIsToldItsScopeAndDeniedWithoutTheVerb) {
  Serve("viewer");
  {
    grpc::ClientContext context;
    const auto reader = stub_->WatchQuotas(&context, {});
    reader->WaitForInitialMetadata();
    ASSERT_NE(narrowed_to_, nullptr);
    EXPECT_EQ(narrowed_to_->ToString(), "organizations acme");
    EXPECT_NE(turn_, 0u) << "it is not the process itself";
    context.TryCancel();
    reader->Finish();
  }
  Serve("viewer", "everywhere: true");
  {
    grpc::ClientContext context;
    const auto reader = stub_->WatchQuotas(&context, {});
    reader->WaitForInitialMetadata();
    EXPECT_EQ(narrowed_to_, nullptr);
    context.TryCancel();
    reader->Finish();
  }
}

TEST_F(GuardTest, OutdatedWatchesEndAndOthersStay) {
  testing::TempFolder folder;
  const std::string path = folder.Path("policy.yaml");
  std::ofstream(path) << "bindings: [{role: viewer, principals: [local], everywhere: true}]";
  Serve("viewer");
  server_.reset();
  policy_ = *access::PolicyFile::Create({.path = path, .interval = absl::Hours(1)});
  guard_ = std::make_unique<Guard>(policy_.get());
  FakeServer server([&](ServerOptions& options) { options.guard = guard_.get(); });
  server.service.watch = [this](Context context) {
    return WatchStream<v1::WatchQuotasResponse>(
        context, std::make_shared<EndlessWatcher>(),
        [](const EndlessWatcher::Item&) { return v1::WatchQuotasResponse(); });
  };
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  grpc::ClientContext context;
  grpc::ClientContext own_context;
  const auto reader = stub->WatchQuotas(&context, {});
  const auto own = server.stub->WatchQuotas(&own_context, {});
  reader->WaitForInitialMetadata();
  own->WaitForInitialMetadata();
  std::ofstream(path) << "bindings: [{role: agent, principals: [local], zones: [US-EAST-04A]}]";
  ASSERT_TRUE(policy_->Reload().ok());
  server.server->EndOutdatedWatches();
  v1::WatchQuotasResponse message;
  EXPECT_FALSE(reader->Read(&message));
  const absl::Status status = FromGrpcStatus(reader->Finish());
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("The policy has changed"));
  own_context.TryCancel();
  EXPECT_EQ(own->Finish().error_code(), grpc::StatusCode::CANCELLED) << "it stayed until then";
}

// What came into its sight while it was broken off no change would tell.
TEST_F(GuardTest, AWatchIsNotResumedByWhoSeesSomethingElseThanWhereItBegan) {
  const auto open = [&](const std::string& scope, const std::string& view, bool resumes = true) {
    Serve("viewer", scope);
    type::v1::WatchStart start;
    start.set_view(view);
    if (resumes) start.set_after_revision(1);
    server_->service.watch = [start](Context context) {
      const auto watcher = std::make_shared<EndlessWatcher>();
      watcher->next = EndlessWatcher::Item();
      const auto mark = [](const EndlessWatcher::Item&) {
        v1::WatchQuotasResponse message;
        message.set_incarnation("h");
        return message;
      };
      return WatchStream<v1::WatchQuotasResponse>(context, watcher, mark, start);
    };
    grpc::ClientContext context;
    const auto reader = stub_->WatchQuotas(&context, {});
    v1::WatchQuotasResponse message;
    if (!reader->Read(&message)) return error::ReasonOf(FromGrpcStatus(reader->Finish()));
    context.TryCancel();
    reader->Finish();
    return message.view();
  };
  const std::string acme = open("organizations: [acme]", "");
  const std::string all = open("everywhere: true", "");
  EXPECT_NE(acme, all);
  EXPECT_EQ(open("organizations: [acme]", acme), acme);
  EXPECT_EQ(open("everywhere: true", all), all);
  EXPECT_EQ(open("organizations: [acme, beta]", acme), "POLICY_CHANGED");
  EXPECT_EQ(open("everywhere: true", acme), "POLICY_CHANGED");
  EXPECT_EQ(open("organizations: [acme]", all), "POLICY_CHANGED");
  EXPECT_EQ(open("everywhere: true", acme, /*resumes=*/false), all) << "a snapshot tells it";
}

TEST_F(GuardTest, ItsFiguresAreMetrics) {
  Serve("viewer");
  EXPECT_FALSE(Get(*stub_, kForeignQuota).ok());
  Metrics metrics;
  metrics.Add(MakePolicyCollector(*guard_));
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("muster_policy_info{hash=\"" + policy_->current()->hash() + "\"} 1"));
  EXPECT_THAT(text, HasSubstr("muster_policy_refused 0"));
  EXPECT_THAT(text, HasSubstr("muster_denied_calls_total{code=\"NOT_FOUND\"} 1"));
  EXPECT_THAT(text, HasSubstr("muster_denied_calls_total{code=\"PERMISSION_DENIED\"} 0"));
}

}  // namespace
}  // namespace muster::rpc
