// Who is refused by a state that may be old is asked about once more when that has caught up.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/access/policy_file.h"
#include "services/common/error.h"
#include "services/common/steady_clock.h"
#include "services/rpc/client/unretried_channel.h"
#include "services/rpc/guard.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "services/rpc/unary.h"
#include "services/rpc/write.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_folder.h"

namespace muster::rpc {
namespace {

using ::muster::testing::Await;
using ::muster::testing::IsOk;
using ::muster::testing::kPatience;
using ::muster::testing::StatusIs;
using ::muster::testing::Until;

constexpr char kViewer[] = "{role: viewer, principals: [local], organizations: [acme]}";

using Done = std::function<void(const absl::Status&)>;

access::CatchUp AtOnce(std::function<absl::Status()> catch_up) {
  return [catch_up = std::move(catch_up)](const Done& done, absl::Time) { done(catch_up()); };
}

class CatchUpTest : public ::testing::Test {
 protected:
  ~CatchUpTest() override { FinishAll(); }

  // The caller of this machine has what the bindings give.
  void Serve(const std::string& bindings, const access::CatchUp& catch_up,
             const CallerLimitOptions& limits = {}) {
    const auto policy = access::Policy::Parse("bindings: [" + bindings + "]");
    ASSERT_THAT(policy.status(), IsOk());
    Serve(*access::PolicyFile::Create({.fixed = *policy}), catch_up, limits);
  }
  void Serve(std::unique_ptr<access::PolicyFile> policy, const access::CatchUp& catch_up,
             const CallerLimitOptions& limits = {}) {
    policy_ = std::move(policy);
    guard_ = std::make_unique<Guard>(policy_.get(), limits, nullptr, nullptr, &clock_);
    server_ = std::make_unique<FakeServer>([&](ServerOptions& options) {
      options.guard = guard_.get();
      options.default_deadline = default_deadline_;
      options.shutdown_grace = absl::Milliseconds(200);
      options.services[0].place_of = [this](absl::string_view name) { return PlaceOf(name); };
      options.services[0].catch_up = [this, catch_up](Done done, absl::Time deadline) {
        ++caught_up_;
        catch_up(std::move(done), deadline);
      };
      options.services[0].answered = [](const access::Caller&,
                                        const google::protobuf::Message& request) {
        return RequestIdOf(request) == "answered";
      };
    });
    server_->service.get = [this](auto* context, const auto*, auto*) { return Answer(context); };
    server_->service.create = [this](auto* context, const auto*, auto*) { return Answer(context); };
    stub_ = v1::QuotaService::NewStub(MakeUnretriedChannel(server_->address()));
  }

  // The state tells where things are: `claims/own` of acme, and in which zone what has a name is,
  // once that is `known`.
  Place PlaceOf(absl::string_view name) {
    if (no_memory_.exchange(false)) throw std::bad_alloc();
    MutexLock lock(state_);
    if (name == "claims/foreign") return {.name = "organizations/beta/clusters/c"};
    if (absl::StartsWith(name, "organizations/"))
      return {.name = std::string(name), .zone = known_ ? "US-EAST-04A" : ""};
    if (name == "claims/own" && known_) return {.name = "organizations/acme/clusters/c"};
    return {};
  }

  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context) {
    return Unary(context, [&](Responder responder) {
      only_repeated_ = !responder.caller()->unless_repeated.ok();
      if (holds_) {
        MutexLock lock(mutex_);
        at_work_.push_back(std::move(responder));
        ++handled_;
      } else {
        ++handled_;
        responder.Finish(absl::OkStatus());
      }
    });
  }
  void FinishAll() {
    std::vector<Responder> at_work;
    {
      MutexLock lock(mutex_);
      at_work.swap(at_work_);
    }
    for (Responder& responder : at_work) responder.Finish(absl::OkStatus());
  }

  absl::Status Get(const std::string& name, absl::Duration time = absl::InfiniteDuration()) {
    return GetQuota(*stub_, name, time).status();
  }
  std::future<absl::Status> GetLater(const std::string& name) {
    return std::async(std::launch::async, [this, name] { return Get(name); });
  }
  absl::Status Create(const std::string& parent, const std::string& request_id = "") {
    grpc::ClientContext context;
    v1::CreateQuotaRequest request;
    request.set_parent(parent);
    request.set_request_id(request_id);
    v1::Quota response;
    return FromGrpcStatus(stub_->CreateQuota(&context, request, &response));
  }
  absl::Status Delete(const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteQuotaRequest request;
    request.set_name(name);
    google::protobuf::Empty response;
    return FromGrpcStatus(stub_->DeleteQuota(&context, request, &response));
  }

  // Catches up when the test says so.
  access::CatchUp Kept() {
    return [this](Done done, absl::Time) {
      MutexLock lock(mutex_);
      kept_.push_back(std::move(done));
    };
  }
  std::vector<Done> AwaitKept(size_t count) {
    std::vector<Done> kept;
    Until(
        [&] {
          MutexLock lock(mutex_);
          if (kept_.size() < count) return false;
          kept.swap(kept_);
          return true;
        },
        "calls that are not sure");
    return kept;
  }

  Mutex state_;  // where it is locked, whoever asks for a place waits
  std::atomic<bool> known_ = false;
  std::atomic<bool> no_memory_ = false;  // for the next who asks for a place
  std::atomic<bool> holds_ = false;      // what is begun is at work until FinishAll
  std::atomic<int> caught_up_ = 0;
  std::atomic<int> handled_ = 0;
  std::atomic<bool> only_repeated_ = false;  // the last that was handled
  absl::Duration default_deadline_ = kDefaultDeadline;
  Mutex mutex_;
  std::vector<Done> kept_ MUSTER_GUARDED_BY(mutex_);
  std::vector<Responder> at_work_ MUSTER_GUARDED_BY(mutex_);
  FakeSteadyClock clock_;
  std::unique_ptr<access::PolicyFile> policy_;
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<FakeServer> server_;
  std::unique_ptr<v1::QuotaService::Stub> stub_;
};

TEST_F(CatchUpTest, WhatIsNotSeenInAnOldStateIsLookedForOnceItHasCaughtUp) {
  std::atomic<bool> away = false;
  Serve(kViewer, AtOnce([&] {
          if (away) return error::Unavailable("The database is away.");
          known_ = true;
          return absl::OkStatus();
        }));
  EXPECT_THAT(Get("claims/own"), IsOk());
  EXPECT_THAT(Get("claims/own"), IsOk());
  EXPECT_EQ(caught_up_, 1) << "then it is known";
  for (const char* name : {"claims/foreign", "claims/none"}) {
    const absl::Status status = Get(name);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound)) << name;
    EXPECT_EQ(status.message(), error::NotFound(name).message());
  }
  EXPECT_EQ(caught_up_, 3) << "whether it exists makes no difference";
  EXPECT_THAT(Get(kForeignQuota), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(caught_up_, 3) << "its name says whose it is";
  EXPECT_EQ(guard_->stats().not_visible, 3) << "once each";
  EXPECT_EQ(handled_, 2);
  away = true;
  for (const char* name : {"claims/foreign", "claims/none"})
    EXPECT_THAT(Get(name), StatusIs(absl::StatusCode::kUnavailable)) << name;
  EXPECT_EQ(guard_->stats().not_visible, 3);
  EXPECT_THAT(Get("claims/own"), IsOk());
}

TEST_F(CatchUpTest, WhoseRightsAreGoneMeanwhileIsNotLetIn) {
  testing::TempFolder folder;
  const std::string path = folder.Path("policy.yaml");
  std::ofstream(path) << "bindings: [" << kViewer << "]";
  Serve(*access::PolicyFile::Create({.path = path, .interval = absl::Hours(1)}), AtOnce([&] {
    std::ofstream(path)
        << "bindings: [{role: viewer, principals: [\"spiffe://a/b\"], everywhere: true}]";
    known_ = true;
    return policy_->Reload();
  }));
  EXPECT_THAT(Get("claims/own"), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(handled_, 0);
}

// In a zone that an old state does not tell.
TEST_F(CatchUpTest, WhatMayNotBeDoneInAnOldStateIsAskedOnceMore) {
  std::atomic<bool> away = true;
  Serve(absl::StrCat(kViewer, ", {role: operator, principals: [local], zones: [US-EAST-04A]}"),
        AtOnce([&] {
          if (away) return error::Unavailable("The database is away.");
          known_ = true;
          return absl::OkStatus();
        }));
  const auto create = [&] { return Create("organizations/beta"); };  // what it does not see
  const auto remove = [&] { return Delete(kOwnQuota); };             // what it does
  EXPECT_THAT(create(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(remove(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(guard_->stats().denied, 0);
  away = false;
  EXPECT_THAT(create(), IsOk());
  known_ = false;
  EXPECT_THAT(remove(), StatusIs(absl::StatusCode::kUnimplemented)) << "the service's own answer";
  EXPECT_EQ(caught_up_, 4);
}

TEST_F(CatchUpTest, WhatWasAnsweredBeforeIsTheServicesToTellOnceMore) {
  Serve("{role: operator, principals: [local], zones: [US-EAST-04A]}",
        AtOnce([] { return absl::OkStatus(); }));
  EXPECT_THAT(Create("organizations/beta"), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(Create("organizations/beta", "new"), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(handled_, 0);
  EXPECT_THAT(Create("organizations/beta", "answered"), IsOk());
  EXPECT_TRUE(only_repeated_);
  EXPECT_EQ(guard_->stats().denied, 2);
  known_ = true;
  EXPECT_THAT(Create("organizations/beta", "answered"), IsOk());
  EXPECT_FALSE(only_repeated_) << "it may";
  EXPECT_EQ(handled_, 2);
}

// Whose role went while the call waited is not told what it was answered when it had that.
TEST_F(CatchUpTest, WhoseRoleIsGoneMeanwhileIsNotToldWhatItWasAnswered) {
  testing::TempFolder folder;
  const std::string path = folder.Path("policy.yaml");
  std::ofstream(path) << "bindings: [{role: operator, principals: [local], zones: [US-EAST-04A]}]";
  Serve(*access::PolicyFile::Create({.path = path, .interval = absl::Hours(1)}), AtOnce([&] {
    std::ofstream(path) << "bindings: [{role: viewer, principals: [local], zones: [US-EAST-04A]}]";
    return policy_->Reload();
  }));
  EXPECT_THAT(Create("organizations/beta", "answered"),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(caught_up_, 1);
  EXPECT_EQ(handled_, 0);
}

// Also of what it was answered before.
TEST_F(CatchUpTest, WhoMayNothingOfTheKindIsToldSoAtOnce) {
  Serve(kViewer, AtOnce([] { return absl::OkStatus(); }));
  EXPECT_THAT(Create("claims/own"), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(Create("claims/own", "answered"), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(caught_up_, 0);
  EXPECT_EQ(guard_->stats().denied, 2);
}

TEST_F(CatchUpTest, AfterItsDeadlineItIsAnsweredAndNothingElse) {
  default_deadline_ = absl::Milliseconds(200);
  Serve(kViewer, Kept());
  EXPECT_THAT(Get("claims/own"), StatusIs(absl::StatusCode::kDeadlineExceeded));
  known_ = true;
  for (const Done& done : AwaitKept(1)) done(absl::OkStatus());
  // Whoever asks with a deadline of its own hears of it without the server, which is to answer all
  // the same.
  known_ = false;
  EXPECT_THAT(Get("claims/own", absl::Seconds(3)), StatusIs(absl::StatusCode::kDeadlineExceeded));
  Until(
      [&] {
        return absl::StrContains(server_->metrics.Text(),
                                 "grpc_method=\"GetQuota\",grpc_code=\"DeadlineExceeded\"} 2");
      },
      "the server's answer");
  known_ = true;
  const std::vector<Done> late = AwaitKept(1);
  server_.reset();
  for (const Done& done : late) done(absl::OkStatus());
  EXPECT_EQ(handled_, 0);
}

// As a lane does, which holds its memory for reading.
TEST_F(CatchUpTest, WhoSaysThatItHasCaughtUpMayHoldWhatTellsPlaces) {
  Serve(kViewer, Kept());
  auto answer = GetLater("claims/own");
  const std::vector<Done> kept = AwaitKept(1);
  auto told = std::async(std::launch::async, [&] {
    MutexLock lock(state_);
    known_ = true;
    for (const Done& done : kept) done(absl::OkStatus());
  });
  Await(std::move(told), "what was locked");
  EXPECT_THAT(Await(std::move(answer), "the answer"), IsOk());
  EXPECT_EQ(handled_, 1);
}

TEST_F(CatchUpTest, AServerThatStopsAnswersThoseThatAreNotSure) {
  Serve(kViewer, Kept());
  auto answer = GetLater("claims/own");
  const std::vector<Done> kept = AwaitKept(1);
  server_->server->Shutdown();
  EXPECT_FALSE(Await(std::move(answer), "the answer").ok());
  for (const Done& done : kept) done(absl::OkStatus());
  EXPECT_EQ(handled_, 0);
}

// All of them at once, perhaps: they take turns with their caller's other calls, and leave room for
// others.
TEST_F(CatchUpTest, WhatIsLetInThenWaitsForItsTurn) {
  Serve(kViewer, Kept(), {.running_calls = 1});
  holds_ = true;
  auto one = GetLater("claims/own");
  auto two = GetLater("claims/own");
  const std::vector<Done> kept = AwaitKept(2);
  access::Caller other;
  other.principal = "other";
  auto place = guard_->Enter(other, CallerLimits::Kind::kCall);
  ASSERT_THAT(place.status(), IsOk());
  ASSERT_TRUE(guard_->limits().Begin(*place));
  known_ = true;
  for (const Done& done : kept) done(absl::OkStatus());
  Until([&] { return handled_ == 1 && guard_->waiting() == 1; }, "one in line");
  FinishAll();
  Until([&] { return handled_ == 2; }, "its turn");
  EXPECT_EQ(guard_->waiting(), 0);
  FinishAll();
  EXPECT_THAT(Await(std::move(one), "the first"), IsOk());
  EXPECT_THAT(Await(std::move(two), "the second"), IsOk());
}

// The call that finds no memory is told so; the next one, for which there is a place only if that
// one left it, is served.
TEST_F(CatchUpTest, NoMemoryWhileACallIsJudgedEndsItAlone) {
  Serve(kViewer, AtOnce([] { return absl::OkStatus(); }), {.running_calls = 1});
  known_ = true;
  no_memory_ = true;
  EXPECT_THAT(Get("claims/own"), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(handled_, 0);
  EXPECT_THAT(Get("claims/own", absl::FromChrono(kPatience)), IsOk());
  EXPECT_EQ(handled_, 1);
}

TEST_F(CatchUpTest, NoMemoryWhileACallIsJudgedOnceMoreEndsItAlone) {
  std::atomic<bool> runs_out = true;
  Serve(kViewer, AtOnce([&] {
          known_ = true;
          no_memory_ = runs_out.exchange(false);
          return absl::OkStatus();
        }),
        {.running_calls = 1});
  EXPECT_THAT(Get("claims/own"), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(handled_, 0);
  known_ = false;
  EXPECT_THAT(Get("claims/own", absl::FromChrono(kPatience)), IsOk());
  EXPECT_EQ(caught_up_, 2);
  EXPECT_EQ(handled_, 1);
}

TEST_F(CatchUpTest, NoMemoryToCatchUpEndsTheCallAlone) {
  std::atomic<bool> runs_out = true;
  Serve(kViewer,
        [&](const Done& done, absl::Time) {
          if (runs_out.exchange(false)) throw std::bad_alloc();
          known_ = true;
          done(absl::OkStatus());
        },
        {.running_calls = 1});
  EXPECT_THAT(Get("claims/own"), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(handled_, 0);
  EXPECT_THAT(Get("claims/own", absl::FromChrono(kPatience)), IsOk());
  EXPECT_EQ(handled_, 1);
}

}  // namespace
}  // namespace muster::rpc
