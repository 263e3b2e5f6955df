// Names of other organizations, by the million.
#include <grpcpp/client_context.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/mutex.h"
#include "services/rpc/limits.h"
#include "tests/hostile/target.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/sockets.h"

namespace muster::testing {
namespace {

constexpr int kReports = 1'000;       // calls
constexpr int kNamesAReport = 1'000;  // with so many names each
constexpr int kQuestions = 20'000;
constexpr int kAsking = 50;  // at once

std::string ForeignPool(int number) {
  return absl::StrCat("organizations/o", number, "/clusters/c", number, "/nodePools/p", number);
}

// The codes that answers had. Thread-safe.
class Codes {
 public:
  void Add(int code) {
    MutexLock lock(mutex_);
    codes_.insert(code);
  }
  // Whether all were told that there is nothing of that name.
  bool AreOfNothing() const {
    MutexLock lock(mutex_);
    return codes_ == std::set<int>{grpc::StatusCode::NOT_FOUND};
  }

 private:
  mutable Mutex mutex_;
  std::set<int> codes_ MUSTER_GUARDED_BY(mutex_);
};

// A Node of the example.
std::string ExampleNode(const MiniMuster& muster) {
  lifecycle::v1::ListNodesRequest list;
  list.set_parent(MiniMuster::kPool);
  lifecycle::v1::ListNodesResponse nodes;
  grpc::ClientContext context;
  const grpc::Status status =
      lifecycle::v1::LifecycleService::NewStub(muster.channel())->ListNodes(&context, list, &nodes);
  if (!status.ok() || nodes.nodes().empty()) throw std::runtime_error("the example has no Node");
  return nodes.nodes(0).name();
}

// Reports of Nodes, one of them the example's, all others nobody's, by the agent of another zone.
void Report(const std::shared_ptr<grpc::Channel>& channel, const std::string& node, int call,
            Codes& codes) {
  lifecycle::v1::ReportNodesRequest request;
  for (int i = 0; i < kNamesAReport; ++i) {
    const std::string pool = ForeignPool(call * kNamesAReport + i);
    lifecycle::v1::NodeReport& report = *request.add_reports();
    report.set_node(i == 0 ? node : absl::StrCat(pool, "/nodes/m", i));
    report.set_observation(lifecycle::v1::NodeReport::OBSERVATION_UNHEALTHY);
  }
  lifecycle::v1::ReportNodesResponse response;
  const RawCallOptions options = {.enough = [&](const std::string& answer) {
    response.ParseFromString(answer);
    return false;
  }};
  const grpc::Status status = CallRaw(channel, "/muster.lifecycle.v1.LifecycleService/ReportNodes",
                                      request.SerializeAsString(), options);
  if (!status.ok()) codes.Add(status.error_code());
  for (const auto& result : response.results()) codes.Add(result.code());
}

// Asks for a pool, now and then for the example, as the editor of an organization that has neither.
void AskForPool(const std::shared_ptr<grpc::Channel>& channel, int number, Codes& codes) {
  lifecycle::v1::GetNodePoolRequest request;
  request.set_name(number % 100 == 0 ? MiniMuster::kPool : ForeignPool(number));
  codes.Add(CallRaw(channel, "/muster.lifecycle.v1.LifecycleService/GetNodePool",
                    request.SerializeAsString())
                .error_code());
}

size_t LogLines(const MiniMuster& muster) {
  const std::string logs = muster.MusterdLogs();
  return static_cast<size_t>(std::count(logs.begin(), logs.end(), '\n'));
}

size_t MetricsBytes(const MiniMuster& muster) {
  return HttpGet(muster.metrics_address(), "/metrics", absl::Seconds(30)).size();
}

// What is asked for is not told of, whether it is there or not, and nothing is kept of its name.
void NameOthers(Target& target) {
  const MiniMuster& muster = target.muster();
  const std::string node = ExampleNode(muster);
  const size_t lines = LogLines(muster);
  const size_t metrics = MetricsBytes(muster);
  const absl::Time begin = absl::Now();
  Codes reported, asked;
  std::atomic<int> next = 0;
  AtOnce(4, [&, channel = muster.ChannelAs("agent")](int) {
    for (int call = next++; call < kReports; call = next++) Report(channel, node, call, reported);
  });
  AtOnce(kAsking, [&, channel = muster.ChannelAs("tenant")](int thread) {
    for (int i = thread; i < kQuestions; i += kAsking) AskForPool(channel, i, asked);
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  target.Expect(reported.AreOfNothing(), "a report of another's Node is told more than NOT_FOUND");
  target.Expect(asked.AreOfNothing(), "who asks for another's pool is told more than NOT_FOUND");
  // Failed calls have a bound; the neighbour's changes, and all else, are far fewer.
  const auto most = static_cast<size_t>((seconds + 2) * 2 * rpc::kMaxFailureLinesPerSecond);
  const size_t logged = LogLines(muster) - lines;
  target.Expect(logged <= most, absl::StrCat(logged, " lines are logged"));
  target.Expect(MetricsBytes(muster) <= metrics + (16 << 10), "metrics grow by the names");
}

void PrepareTheNamed(MiniMuster& muster) {
  muster.ApplyExample();
  if (!muster.AwaitSettled(1)) throw std::runtime_error("the example does not settle");
}

}  // namespace

std::vector<Attack> NameAttacks() {
  MiniMuster::Options muster{.audit_books = false, .tls = true};
  muster.callers = {"tenant", "agent"};
  muster.bindings = {
      "- {role: editor, principals: [\"spiffe://muster.test/tenant\"], organizations: [mallory]}",
      "- {role: agent, principals: [\"spiffe://muster.test/agent\"], zones: [US-EAST-01A]}"};
  return {{.row = "1",
           .what = absl::StrCat(kReports * kNamesAReport, " names of others' Nodes, ", kQuestions,
                                " of their pools"),
           .before = "nobody had a name: all is told, all is changed",
           .load = {.requests = 100, .at_once = 4, .cpu = absl::Seconds(120)},
           .run = NameOthers,
           .muster = muster,
           .prepare = PrepareTheNamed}};
}

}  // namespace muster::testing
