// One address for services that run apart: deploy/nginx/muster.conf, as it is but for the ports.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <muster/history/v1/history_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "services/common/error.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/client/channel.h"
#include "tests/integration/mini_muster.h"
#include "tests/proxy/nginx.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

namespace quota_v1 = quota::v1;
using ::testing::AllOf;
using ::testing::HasSubstr;
using QuotaStub = quota_v1::QuotaService::Stub;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr size_t kQuota = 1;  // the process with it

class ProxyTest : public ::testing::Test {
 protected:
  ProxyTest() : muster_({.processes = {"capacity", "quota", "configuration", "lifecycle"}}) {
    nginx_.Start({{"127.0.0.1:7611", muster_.address(3)},
                  {"127.0.0.1:7612", muster_.address(1)},
                  {"127.0.0.1:7613", muster_.address(0)},
                  {"127.0.0.1:7614", muster_.address(2)}});
    channel_ = rpc::MakeChannel(address());
    EXPECT_TRUE(channel_->WaitForConnected(absl::ToChronoTime(absl::Now() + kPatience)))
        << nginx_.Log();
  }
  ~ProxyTest() override {
    if (HasFailure()) std::cerr << muster_.LogEnds() << nginx_.Log();
  }

  std::string address() const { return nginx_.address(); }

  Finished Ctl(std::vector<std::string> words) const {
    words.insert(words.begin(), {Binary("musterctl"), absl::StrCat("--server=", address())});
    return RunProgram(words);
  }
  // `words` through the proxy, which must succeed.
  std::string Told(std::vector<std::string> words) const {
    const Finished run = Ctl(std::move(words));
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return run.output;
  }

  // Until musterctl's output, in a file of the test's, has all that.
  bool AwaitOutput(const std::string& file, const std::string& text) const {
    for (const absl::Time give_up = absl::Now() + kPatience; absl::Now() < give_up;) {
      if (absl::StrContains(folder_.Text(file), text)) return true;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return false;
  }

  // Of the newest change that `history` tells.
  static std::string RevisionIn(const std::string& history) {
    const std::vector<std::string> parts =
        absl::StrSplit(history, absl::MaxSplits("(revision ", 1));
    return parts.size() < 2 ? "" : parts[1].substr(0, parts[1].find(')'));
  }

  absl::Status AskQuota(const std::string& name) const {
    const auto stub = quota_v1::QuotaService::NewStub(channel_);
    quota_v1::GetQuotaRequest request;
    request.set_name(name);
    return rpc::Call(kPatience, *stub, &QuotaStub::GetQuota, request).status();
  }

  MiniMuster muster_;
  TempFolder folder_;
  Nginx nginx_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(ProxyTest, OneAddressServesAllFourServices) {
  Told({"apply", "-f", MUSTER_CATALOGUE});
  Told({"apply", "-f", MUSTER_EXAMPLE});
  Told({"wait", "nodepool", "example-nodepool"});
  EXPECT_THAT(Told({"get", "quotas"}), HasSubstr("gd-8xa100-i128"));
  EXPECT_THAT(Told({"get", "machines", "--state=held"}), HasSubstr("gd-8xa100-i128"));
  EXPECT_THAT(Told({"get", "configurations"}), HasSubstr("np-"));
  EXPECT_THAT(Told({"get", "nodes"}), HasSubstr("PRODUCTION"));
  EXPECT_THAT(Told({"auth", "whoami"}), HasSubstr("local"));
}

TEST_F(ProxyTest, WhatEveryProcessServesIsAnsweredByWhoseItIs) {
  Told({"apply", "-f", MUSTER_CATALOGUE});
  for (const char* kept : {"cluster/example", "quota/RNO2A~gd-8xa100-i128~default",
                           "instancetype/gd-8xa100-i128", "release/stable~gpu-driver~570.124.06"}) {
    const std::string history = Told({"history", kept});
    EXPECT_THAT(history, HasSubstr("created by local")) << kept;
    const std::string revision = RevisionIn(history);
    EXPECT_THAT(Told({"get", kept, "-o", "yaml", absl::StrCat("--at=", revision)}),
                HasSubstr("kind: "))
        << kept;
  }
  const std::string quota = RevisionIn(Told({"history", "quota/RNO2A~gd-8xa100-i128~default"}));
  EXPECT_THAT(Told({"get", "quotas", absl::StrCat("--at=", quota)}), HasSubstr("gd-8xa100-i128"));

  for (const auto& [method, resource] : std::vector<std::pair<std::string, std::string>>{
           {"GetCluster", "organizations/acme/clusters/example"},
           {"GetQuota", "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default"},
           {"UpdateZone", "zones/RNO2A"},
           {"PublishRelease", ""}}) {
    EXPECT_EQ(Told({"auth", "can-i", method, resource}), "yes\n") << method;
  }
}

TEST_F(ProxyTest, WhoDoesNotSayWhoseIsAnsweredByLifecycle) {
  const auto stub = history::v1::HistoryService::NewStub(channel_);
  history::v1::ListChangesRequest request;
  request.set_name("organizations/acme/quotas/RNO2A~nosuch~default");
  const auto ask = [&](const char* service) {
    grpc::ClientContext context;
    rpc::PrepareCall(context, kPatience);
    if (service != nullptr) context.AddMetadata("x-muster-service", service);
    return rpc::Call(context, *stub, &history::v1::HistoryService::Stub::ListChanges, request)
        .status()
        .code();
  };
  EXPECT_EQ(ask(nullptr), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ask("nosuch"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ask("quota"), absl::StatusCode::kNotFound);
}

TEST_F(ProxyTest, AWatchIsAStreamThatShowsChangesAsTheyCome) {
  Told({"apply", "-f", MUSTER_CATALOGUE});
  Told({"apply", "-f", MUSTER_EXAMPLE});
  const Child watching({Binary("musterctl"), absl::StrCat("--server=", address()), "get",
                        "nodepools", "-w", "-o", "yaml"},
                       folder_.Path("watched"));
  ASSERT_TRUE(AwaitOutput("watched", "targetNodes: 1\n")) << folder_.Text("watched");
  Told({"scale", "nodepool", "example-nodepool", "--nodes=3"});
  EXPECT_TRUE(AwaitOutput("watched", "targetNodes: 3\n")) << folder_.Text("watched");
  EXPECT_TRUE(AwaitOutput("watched", "currentNodes: 3\n")) << folder_.Text("watched");
}

TEST_F(ProxyTest, AnErrorComesWithAllItsDetails) {
  const Finished run = Ctl({"get", "zone", "NOSUCH-1A"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.output, HasSubstr("NOSUCH-1A"));

  const std::string name = "organizations/acme/quotas/RNO2A~nosuch~default";
  const absl::Status missing = AskQuota(name);
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(error::DetailOf(missing).has_value()) << missing;
  EXPECT_EQ(error::ReasonOf(missing), "NOT_FOUND");
  EXPECT_EQ(error::DetailOf(missing)->resource, name);

  // About as much as an error may have: more than fits where nginx has its own way.
  using LifecycleStub = lifecycle::v1::LifecycleService::Stub;
  const auto stub = lifecycle::v1::LifecycleService::NewStub(channel_);
  lifecycle::v1::ApplyNodePoolRequest request;
  request.mutable_node_pool()->set_name("organizations/acme/clusters/example/nodePools/wrong");
  for (int i = 0; i < 60; ++i) {
    const std::string key = absl::StrCat(std::string(100, '!'), i);
    (*request.mutable_node_pool()->mutable_spec()->mutable_node_labels())[key] = "x";
  }
  const absl::Status wrong =
      rpc::Call(kPatience, *stub, &LifecycleStub::ApplyNodePool, request).status();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument) << wrong;
  const error::Detail detail = error::DetailOf(wrong).value_or(error::Detail());
  size_t bytes = 0;
  for (const auto& field : detail.fields) bytes += field.field.size() + field.description.size();
  EXPECT_GT(bytes, 3000U) << wrong;
}

TEST_F(ProxyTest, AServiceThatIsAwayIsUnavailableAndTheOthersGoOn) {
  Told({"apply", "-f", MUSTER_CATALOGUE});
  const std::string name = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
  EXPECT_TRUE(AskQuota(name).ok());
  muster_.Kill(kQuota);
  EXPECT_EQ(AskQuota(name).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Told({"get", "clusters"}), HasSubstr("example"));
  muster_.Start();
  absl::Status again = absl::UnavailableError("");
  for (const absl::Time give_up = absl::Now() + kPatience;
       absl::IsUnavailable(again) && absl::Now() < give_up;) {
    again = AskQuota(name);
  }
  EXPECT_TRUE(again.ok()) << again;
}

TEST_F(ProxyTest, WhatIsServedNowhereIsUnimplementedAndHealthChecksAreNoObstacle) {
  EXPECT_NE(Ctl({"debug", "log-level", absl::StrCat("--operator-server=", address())}).exit_code,
            0);
  // By such a name a channel asks for health.
  channel_ = rpc::MakeChannel(absl::StrCat("dns:///", address()));
  EXPECT_EQ(AskQuota("organizations/acme/quotas/RNO2A~nosuch~default").code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace muster::testing
