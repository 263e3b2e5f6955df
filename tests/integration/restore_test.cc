// The whole database goes back to a moment in the midst of a scaling, as an operator restores it to
// a point in time, while agents and clients live on in the future that is lost:
// deploy/after-a-restore.md.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "services/rpc/status.h"
#include "tests/integration/follower.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

namespace lv1 = lifecycle::v1;
using ::testing::AllOf;
using ::testing::IsSupersetOf;
using Life = lv1::LifecycleService::Stub;

constexpr char kOther[] = "organizations/acme/clusters/example/nodePools/other";
constexpr const char* kSchemas[] = {"capacity", "quota", "lifecycle", "configuration"};
constexpr absl::Duration kSettles = absl::Seconds(90);

// Restores: MUSTER_RESTORES, 2 unless it is set.
int Restores() {
  const char* given = std::getenv("MUSTER_RESTORES");
  int restores = 2;
  if (given != nullptr && (!absl::SimpleAtoi(given, &restores) || restores < 1))
    throw std::runtime_error("MUSTER_RESTORES is no number above 0");
  return restores;
}

// Nodes of the two pools.
struct Targets {
  int64_t example = 0;
  int64_t other = 0;

  int64_t all() const { return example + other; }
};

// Numbers by schema.
using BySchema = std::map<std::string, int64_t>;

// What a restore takes, as it was before.
struct Loss {
  std::set<std::string> nodes = {};
  int64_t reports = 0;  // of Nodes that were not known
  std::string revisions = {};
  std::set<std::string> replaced = {};                       // schemas whose history is another one
  std::map<std::string, std::vector<int64_t>> reloads = {};  // of replicas that run on, by schema
};

MiniMuster::Options TwoReplicas() {
  const std::string all = "capacity,quota,lifecycle,configuration";
  MiniMuster::Options options;
  options.processes = {all, all};
  // Each Node takes its own time, so that there are many moments; and has work now and then, of
  // which agents tell.
  options.fleetsim_flags = {
      "--boot_time=800ms", "--ready_time=300ms", "--drain_time=500ms",    "--terminate_time=300ms",
      "--spread=1",        "--work_arrival=2s",  "--work_duration=300ms", "--interruptible_share=1",
      "--seed=7"};
  options.own_cluster = true;
  return options;
}

// Looks over and over, on a thread of its own, for what may be at no time.
class Lookout {
 public:
  // `look` says what it finds; empty: nothing.
  explicit Lookout(std::function<std::string()> look)
      : look_(std::move(look)), thread_([this] { Run(); }) {}
  ~Lookout() { End(); }
  // The first that it found.
  std::string End() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
    return found_;
  }

 private:
  void Run() {
    while (!over_ && found_.empty()) {
      try {
        found_ = look_();
      } catch (const std::exception& error) {
        found_ = error.what();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  const std::function<std::string()> look_;
  std::atomic<bool> over_ = false;
  std::string found_;
  std::thread thread_;
};

class RestoreTest : public ::testing::Test {
 protected:
  RestoreTest() : muster_(TwoReplicas()) {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    lv1::ApplyNodePoolRequest request;
    request.mutable_node_pool()->set_name(kOther);
    request.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
    request.mutable_node_pool()->mutable_spec()->set_target_nodes(1);
    EXPECT_THAT(Ask(&Life::ApplyNodePool, request), IsOk());
  }
  void TearDown() override {
    followers_.clear();
    if (HasFailure()) std::cerr << muster_.LogEnds();
  }

  template <class Request>
  absl::Status Ask(grpc::Status (Life::*method)(grpc::ClientContext*, const Request&,
                                                lv1::NodePool*),
                   const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    context.set_wait_for_ready(true);
    lv1::NodePool pool;
    return rpc::FromGrpcStatus((lv1::LifecycleService::NewStub(muster_.channel()).get()->*method)(
        &context, request, &pool));
  }
  void Resize(const Targets& targets) {
    for (const auto& [name, nodes] :
         {std::pair(MiniMuster::kPool, targets.example), std::pair(kOther, targets.other)}) {
      lv1::ResizeNodePoolRequest request;
      request.set_name(name);
      request.set_target_nodes(nodes);
      absl::Status resized;
      Until(
          [&] {
            resized = Ask(&Life::ResizeNodePool, request);
            return !absl::IsUnavailable(resized);
          },
          "an answer");
      ASSERT_THAT(resized, IsOk());
    }
  }

  std::string Value(const std::string& sql) { return muster_.database().QueryValue(sql); }
  BySchema Heads() {
    BySchema heads;
    for (const char* schema : kSchemas) {
      EXPECT_TRUE(absl::SimpleAtoi(
          Value(absl::StrCat("SELECT revision FROM ", schema, ".journal_head")), &heads[schema]));
    }
    return heads;
  }
  // Node by Node how far the pools are from where they were, four steps a Node that comes or goes.
  int64_t Way(const Targets& from) {
    int64_t way = 0;
    for (const auto& [name, nodes] :
         {std::pair(MiniMuster::kPool, from.example), std::pair(kOther, from.other)}) {
      int64_t steps = 0;
      EXPECT_TRUE(absl::SimpleAtoi(
          Value(
              absl::StrCat("SELECT coalesce(sum(CASE state WHEN 'PRODUCTION' THEN 4 WHEN "
                           "'REGISTERED' THEN 3 WHEN 'CORDONED' THEN 3 WHEN 'BOOTING' THEN 2 WHEN "
                           "'DRAINING' THEN 2 WHEN 'DELETED' THEN 0 ELSE 1 END), 0) FROM "
                           "lifecycle.node WHERE pool_name = '",
                           name, "'")),
          &steps));
      way += std::abs(steps - 4 * nodes);
    }
    return way;
  }
  std::set<std::string> NodeNames() {
    std::set<std::string> names;
    for (const auto& row : muster_.database().Query("SELECT name FROM lifecycle.node"))
      names.insert(*row[0]);
    return names;
  }

  // What is there twice; empty: nothing.
  std::string Doubles() {
    return Value(
        "SELECT coalesce(string_agg(machine, ' '), '') FROM (SELECT machine FROM lifecycle.node "
        "WHERE state IN ('ASSIGNED', 'BOOTING', 'REGISTERED', 'PRODUCTION', 'CORDONED', "
        "'DRAINING', 'TRIAGE', 'RECONFIGURING') GROUP BY machine HAVING count(*) > 1) twice");
  }
  // What is still wrong once all had time to settle; empty: nothing is.
  std::string AwaitBooks(const Targets& targets) {
    for (const auto& [name, nodes] :
         {std::pair(MiniMuster::kPool, targets.example), std::pair(kOther, targets.other)}) {
      const bool is_healthy = muster_.AwaitPool(
          name,
          [&, wanted = nodes](const lv1::NodePool* pool) {
            return pool != nullptr && IsHealthy(*pool, wanted);
          },
          kSettles);
      if (!is_healthy) return absl::StrCat(name, " does not become healthy with ", nodes, " Nodes");
    }
    std::string wrong;
    for (const absl::Time give_up = absl::Now() + kSettles; absl::Now() < give_up;) {
      wrong = muster_.CheckBooks(targets.all());
      if (wrong.empty()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return wrong.empty() ? muster_.AuditBooks() : wrong;
  }

  // The sum over both replicas.
  int64_t Metric(const std::string& series) {
    int64_t sum = 0;
    for (size_t process = 0; process < muster_.processes(); ++process)
      sum += Metric(process, series);
    return sum;
  }
  int64_t Metric(size_t process, const std::string& series) {
    const std::string page =
        HttpGet(muster_.metrics_address(process), "/metrics", absl::Minutes(1));
    for (absl::string_view line : absl::StrSplit(page, '\n')) {
      double value = 0;
      if (absl::ConsumePrefix(&line, series + " ") && absl::SimpleAtod(line, &value))
        return static_cast<int64_t>(value);
    }
    ADD_FAILURE() << "no metric " << series;
    return 0;
  }
  int64_t UnknownReports() {
    return Metric("muster_lifecycle_reports_total{result=\"unknown_node\"}");
  }
  int64_t Reloads(size_t process, const std::string& schema) {
    return Metric(process,
                  absl::StrCat("muster_lane_history_replaced_total{service=\"", schema, "\"}"));
  }

  // Follows all services at both replicas.
  void Follow() {
    followers_.clear();
    for (size_t process = 0; process < muster_.processes(); ++process) {
      const auto channel = muster_.channel(process);
      const auto follow = [&](const char* service, auto stub, auto method) {
        followers_.push_back(std::make_unique<Follower>(
            service, StreamBy(std::shared_ptr(std::move(stub)), method)));
      };
      follow("capacity", capacity::v1::CapacityService::NewStub(channel),
             &capacity::v1::CapacityService::Stub::WatchCapacity);
      follow("quota", quota::v1::QuotaService::NewStub(channel),
             &quota::v1::QuotaService::Stub::WatchQuotas);
      follow("lifecycle", lv1::LifecycleService::NewStub(channel), &Life::WatchLifecycle);
      follow("configuration", configuration::v1::ConfigurationService::NewStub(channel),
             &configuration::v1::ConfigurationService::Stub::WatchConfigurations);
    }
    Until(
        [&] {
          return std::all_of(followers_.begin(), followers_.end(),
                             [](const auto& follower) { return follower->is_level(); });
        },
        "all snapshots");
  }
  // Of the schemas whose history is another one.
  int ExpectTold(const std::set<std::string>& replaced) {
    int told = 0;
    for (const auto& follower : followers_) {
      if (!replaced.contains(follower->service())) continue;
      Until([&] { return follower->end().has_value(); }, "the end of " + follower->service());
      EXPECT_THAT(*follower->end(),
                  AllOf(StatusIs(absl::StatusCode::kOutOfRange), HasReason("HISTORY_REPLACED")))
          << follower->service();
      ++told;
    }
    return told;
  }

  // To a moment in the midst of the way from these targets to those: `number` of `all`.
  void Restore(int number, int all, const Targets& from, const Targets& to);
  // What comes after a moment whose heads these are: it will be lost, and lives on.
  Loss LiveOn(const BySchema& kept, const Targets& to, bool runs_on);
  // Back to `point`, under replicas that run on, or as the runbook has it.
  void GoBack(const std::string& point, bool runs_on);
  // How many Nodes of the lost future the past does not have, which is told of.
  size_t ExpectUnknown(const Loss& loss);

  MiniMuster muster_;
  std::vector<std::unique_ptr<Follower>> followers_;
};

void RestoreTest::GoBack(const std::string& point, bool runs_on) {
  for (size_t process = 0; !runs_on && process < muster_.processes(); ++process)
    muster_.Kill(process);
  muster_.cluster().RestoreTo(point);
  if (runs_on) return;
  const Finished named = RunProgram({Binary("musterd"), "migrate", "--new_history",
                                     absl::StrCat("--db_conninfo=", muster_.database().conninfo()),
                                     absl::StrCat("--migrations_dir=", MigrationsDir())});
  ASSERT_EQ(named.exit_code, 0) << named.output;
  muster_.Start();
}

Loss RestoreTest::LiveOn(const BySchema& kept, const Targets& to, bool runs_on) {
  const Targets beyond{to.example + 2, to.other + 1};
  Resize(beyond);
  EXPECT_EQ(AwaitBooks(beyond), "");
  Loss loss{.nodes = NodeNames(), .reports = runs_on ? UnknownReports() : 0};
  const BySchema heads = Heads();
  std::vector<std::string> revisions;
  for (const char* schema : kSchemas) {
    const int64_t lost = heads.at(schema) - kept.at(schema);
    revisions.push_back(absl::StrCat(schema, " ", lost));
    if (!runs_on || lost > 0) loss.replaced.insert(schema);
    for (size_t process = 0; runs_on && process < muster_.processes(); ++process)
      loss.reloads[schema].push_back(Reloads(process, schema));
  }
  loss.revisions = absl::StrJoin(revisions, ", ");
  EXPECT_THAT(loss.replaced, IsSupersetOf({"capacity", "quota", "lifecycle"}));
  return loss;
}

size_t RestoreTest::ExpectUnknown(const Loss& loss) {
  std::vector<std::string> unknown;
  const std::set<std::string> now = NodeNames();
  std::set_difference(loss.nodes.begin(), loss.nodes.end(), now.begin(), now.end(),
                      std::back_inserter(unknown));
  EXPECT_GE(unknown.size(), 3u) << "so many were there beyond what is wanted now";
  Until([&] { return UnknownReports() > loss.reports; }, "reports of Nodes of the lost future");
  return unknown.size();
}

void RestoreTest::Restore(int number, int all, const Targets& from, const Targets& to) {
  const bool runs_on = (number / 2 + number) % 2 == 0;
  const std::string point = absl::StrCat("moment_", number);
  muster_.cluster().BackUp();
  Follow();
  Resize(to);
  const int64_t steps = 4 * (std::abs(to.example - from.example) + std::abs(to.other - from.other));
  Until([&] { return Way(from) * (all + 1) >= steps * (number + 1); }, "the moment");
  const int64_t way = Way(from);
  Value(absl::StrCat("SELECT pg_create_restore_point('", point, "')"));
  const Loss loss = LiveOn(Heads(), to, runs_on);
  if (HasFailure()) return;

  GoBack(point, runs_on);
  Lookout twice([this] { return Doubles(); });
  const int told = ExpectTold(loss.replaced);
  ASSERT_EQ(AwaitBooks(to), "");
  EXPECT_EQ(twice.End(), "") << "machines that were two Nodes at a time";
  for (const auto& [schema, before] : loss.reloads) {
    if (!loss.replaced.contains(schema)) continue;
    for (size_t process = 0; process < before.size(); ++process)
      EXPECT_GT(Reloads(process, schema), before[process]) << schema;
  }
  const size_t unknown = ExpectUnknown(loss);
  std::cout << "restore " << number + 1 << " of " << all << ": after " << way << " of " << steps
            << " steps, replicas " << (runs_on ? "ran on" : "were stopped")
            << "; revisions lost: " << loss.revisions << "; watches told: " << told
            << "; Nodes of the lost future: " << unknown
            << ", reports of such: " << UnknownReports() - loss.reports << std::endl;
}

TEST_F(RestoreTest, InTheMidstOfAScalingNothingIsDoubleAndAllAreTold) {
  const Targets less{2, 11};
  const Targets more{11, 2};
  Resize(less);
  ASSERT_EQ(AwaitBooks(less), "");
  const int all = Restores();
  for (int number = 0; number < all && !HasFailure(); ++number) {
    SCOPED_TRACE(absl::StrCat("restore ", number + 1));
    const bool grows = number % 2 == 0;
    Restore(number, all, grows ? less : more, grows ? more : less);
  }
}

}  // namespace
}  // namespace muster::testing
