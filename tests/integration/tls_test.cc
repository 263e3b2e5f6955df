// Everybody calls everybody by mutual TLS: callers, services apart from each other, agents,
// musterctl.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// With which openssl calls as `ci`.
std::string OwnFiles(MiniMuster& muster) {
  return absl::StrCat("-CAfile ", muster.authority()->authority(), " -cert ",
                      muster.authority()->certificate("ci"), " -key ",
                      muster.authority()->key("ci"));
}

// What a program says of its connection to a server.
std::string OpenSslClient(const MiniMuster& muster, const std::string& arguments,
                          size_t process = 0) {
  return RunProgram({"/bin/sh", "-c",
                     absl::StrCat("openssl s_client -connect ", muster.address(process),
                                  " -alpn h2 ", arguments, " </dev/null 2>&1")})
      .output;
}

// Calls again and again, over a connection a call.
class Caller {
 public:
  Caller(const MiniMuster& muster, size_t process)
      : thread_([this, &muster, process] {
          while (!stop_) Call(muster, process);
        }) {}
  ~Caller() { Stop(); }

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int answered() const { return answered_; }
  const std::vector<std::string>& failed() const { return failed_; }  // after Stop

 private:
  void Call(const MiniMuster& muster, size_t process) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel =
        grpc::CreateCustomChannel(muster.address(process), muster.CredentialsOf("ci"), arguments);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    lifecycle::v1::ListNodePoolsRequest request;
    request.set_parent("organizations/acme/clusters/example");
    lifecycle::v1::ListNodePoolsResponse response;
    const grpc::Status status = lifecycle::v1::LifecycleService::NewStub(channel)->ListNodePools(
        &context, request, &response);
    if (!status.ok()) failed_.push_back(status.error_message());
    ++answered_;
  }

  std::atomic<bool> stop_ = false;
  std::atomic<int> answered_ = 0;
  std::vector<std::string> failed_;
  std::thread thread_;  // last: it uses all else
};

// Watches lifecycle, over one connection.
class Watch {
 public:
  explicit Watch(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(lifecycle::v1::LifecycleService::NewStub(channel)),
        reader_(stub_->WatchLifecycle(&context_, {})),
        thread_([this] {
          lifecycle::v1::WatchLifecycleResponse message;
          while (reader_->Read(&message)) {
            if (message.key() == MiniMuster::kPool && message.has_node_pool())
              nodes_ = message.node_pool().spec().target_nodes();
          }
          ended_ = true;
        }) {}
  ~Watch() {
    context_.TryCancel();
    thread_.join();
    (void)reader_->Finish();
  }

  int64_t nodes() const { return nodes_; }  // that the pool is to have, as was told last
  bool ended() const { return ended_; }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<lifecycle::v1::LifecycleService::Stub> stub_;
  const std::unique_ptr<grpc::ClientReader<lifecycle::v1::WatchLifecycleResponse>> reader_;
  std::atomic<int64_t> nodes_ = -1;
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // last: it uses all else
};

TEST(Tls, FourProcessesBringAPoolUp) {
  MiniMuster muster(
      {.processes = {"capacity", "quota", "configuration", "lifecycle"}, .tls = true});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  ASSERT_TRUE(muster.Resize(4).ok());
  ASSERT_TRUE(muster.AwaitSettled(4)) << muster.LogEnds();
  for (const char* caller : {"ci", "fleetsim", "musterd"}) {
    EXPECT_THAT(muster.MusterdLogs(),
                HasSubstr(absl::StrCat(R"("principal":"spiffe://muster.test/)", caller, "\"")));
  }
  EXPECT_EQ(muster.CheckBooks(4), "");
}

TEST(Tls, WhoHasNoCertificateGetsNoAnswer) {
  MiniMuster muster({.tls = true});
  const std::string server = absl::StrCat("--server=", muster.address());
  const Finished plain = RunProgram({Binary("musterctl"), server, "--timeout=2s", "get", "zones"});
  EXPECT_EQ(plain.exit_code, 1);
  EXPECT_THAT(plain.output, HasSubstr("error: "));
  const Finished half =
      RunProgram({Binary("musterctl"), server,
                  "--certificate-authority=" + muster.authority()->authority(), "get", "zones"});
  EXPECT_EQ(half.exit_code, 1);
  EXPECT_THAT(half.output, HasSubstr("--client-certificate: is required"));
  EXPECT_EQ(muster.Ctl({"get", "zones"}).exit_code, 0);
}

TEST(Tls, OldVersionsAreRefused) {
  MiniMuster muster({.tls = true});
  const std::string own = OwnFiles(muster);
  EXPECT_THAT(OpenSslClient(muster, absl::StrCat(own, " -tls1_2")),
              HasSubstr("Verify return code: 0 (ok)"));
  // Without the level the client itself would refuse it.
  const std::string old =
      OpenSslClient(muster, absl::StrCat(own, " -tls1_1 -cipher DEFAULT@SECLEVEL=0"));
  EXPECT_THAT(old, HasSubstr("Cipher is (NONE)"));
  EXPECT_THAT(old, Not(HasSubstr("no protocols available")));
}

// The certificate is renewed again and again, while callers make a connection a call, a watch goes
// on, and services call each other.
TEST(Tls, RenewalFailsNoCall) {
  constexpr size_t kLifecycle = 1;
  MiniMuster muster({.processes = {"capacity,quota,configuration", "lifecycle"}, .tls = true});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  const auto has_taken = [&](size_t process, int count) {
    return absl::StrContains(
        HttpGet(muster.metrics_address(process), "/metrics", absl::Minutes(1)),
        absl::StrCat("muster_tls_certificate_reloads_total{result=\"taken\"} ", count, "\n"));
  };
  // As gRPC has it, which is later.
  const auto shows_the_newest = [&](size_t process) {
    return absl::StrContains(OpenSslClient(muster, OwnFiles(muster), process),
                             muster.authority()->Text("musterd.crt"));
  };
  Watch watch(muster.channel(kLifecycle));
  Until([&] { return watch.nodes() == 1; }, "the watch's snapshot");
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 3; ++i) callers.push_back(std::make_unique<Caller>(muster, kLifecycle));
  for (size_t process = 0; process < muster.processes(); ++process)
    EXPECT_TRUE(has_taken(process, 1)) << process;
  for (int taken = 2; taken <= 6; ++taken) {
    const int nodes = 1 + taken % 3;
    // Its Nodes are asked of the other process.
    ASSERT_TRUE(muster.Resize(nodes).ok());
    // The key first, then the certificate, as most tools write them.
    muster.RenewCertificate();
    for (size_t process = 0; process < muster.processes(); ++process) {
      Until([&] { return has_taken(process, taken); }, "the new certificate");
      Until([&] { return shows_the_newest(process); }, "a connection by the new certificate");
    }
    for (const auto& caller : callers) {
      const int before = caller->answered();
      // The second began after it.
      Until([&] { return caller->answered() >= before + 2; }, "calls by the new certificate");
    }
    ASSERT_TRUE(muster.AwaitSettled(nodes)) << muster.LogEnds();
    Until([&] { return watch.nodes() == nodes || watch.ended(); }, "the watch");
    EXPECT_FALSE(watch.ended());
  }
  for (const auto& caller : callers) {
    caller->Stop();
    EXPECT_THAT(caller->failed(), ::testing::IsEmpty());
  }
  EXPECT_FALSE(watch.ended());
  for (size_t process = muster.processes(); process-- > 0;)
    EXPECT_EQ(muster.Terminate(process), 0) << "its own listener answered it all the time";
}

}  // namespace
}  // namespace muster::testing
