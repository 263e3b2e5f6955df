// Nothing comes back: pools are deleted while explanations, previews and copies of their own
// requests are under way, which arrive late and more than once. Afterwards the books of all four
// services are equal.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/rpc/client/calls.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

namespace lv1 = lifecycle::v1;
namespace qv1 = quota::v1;
namespace cv1 = capacity::v1;
namespace fv1 = configuration::v1;

using ::testing::IsEmpty;
using Life = lv1::LifecycleService::Stub;
using Quota = qv1::QuotaService::Stub;
using Capacity = cv1::CapacityService::Stub;
using Configuration = fv1::ConfigurationService::Stub;

constexpr char kQuota[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
constexpr int kSurvivors = 5;
constexpr int kDeleters = 10;

// Pools that are deleted: MUSTER_GHOST_POOLS, 200 unless it is set.
int PoolsToDelete() {
  const char* given = std::getenv("MUSTER_GHOST_POOLS");
  int pools = 200;
  if (given != nullptr && !absl::SimpleAtoi(given, &pools))
    throw std::runtime_error("MUSTER_GHOST_POOLS is no number");
  return pools;
}

// One process of Muster as its callers see it.
struct Replica {
  explicit Replica(const std::shared_ptr<grpc::Channel>& channel)
      : life(lv1::LifecycleService::NewStub(channel)),
        quota(qv1::QuotaService::NewStub(channel)),
        capacity(cv1::CapacityService::NewStub(channel)),
        configuration(fv1::ConfigurationService::NewStub(channel)) {}
  std::unique_ptr<Life> life;
  std::unique_ptr<Quota> quota;
  std::unique_ptr<Capacity> capacity;
  std::unique_ptr<Configuration> configuration;
};

template <class Stub, class Request, class Response>
absl::StatusOr<Response> Ask(Stub& stub,
                             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
                             const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
  context.set_wait_for_ready(true);
  return rpc::Call(context, stub, method, request);
}

// A pool, and what lifecycle asks of the others for it: the messages that may come late.
struct Pool {
  std::string name = {};
  qv1::SyncHoldingRequest holding = {};
  cv1::SyncClaimRequest claim = {};
  fv1::SyncPoolConfigurationRequest configuration = {};
};

// How often each kind of call got which answer. Thread-safe.
class Tally {
 public:
  void Add(const std::string& call, const absl::Status& status) {
    const auto detail = error::DetailOf(status);
    const std::string word = status.ok() ? "OK"
                             : detail    ? detail->reason
                                         : absl::StatusCodeToString(status.code());
    std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[call][word];
  }
  int Of(const std::string& call, const std::string& word) {
    std::lock_guard<std::mutex> lock(mutex_);
    return counts_[call][word];
  }
  int All(const std::string& call) {
    std::lock_guard<std::mutex> lock(mutex_);
    int all = 0;
    for (const auto& [word, count] : counts_[call]) all += count;
    return all;
  }
  std::string Text() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string text;
    for (const auto& [call, words] : counts_) {
      absl::StrAppend(&text, call, ":");
      for (const auto& [word, count] : words) absl::StrAppend(&text, " ", word, " ", count);
      absl::StrAppend(&text, "\n");
    }
    return text;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, int>> counts_;
};

class Ghosts {
 public:
  explicit Ghosts(MiniMuster::Options options) : muster_(std::move(options)) {
    muster_.ApplyCatalogue();
    for (size_t process = 0; process < muster_.processes(); ++process)
      replicas_.push_back(std::make_unique<Replica>(muster_.channel(process)));
    qv1::UpdateQuotaRequest quota;
    quota.mutable_quota()->set_name(kQuota);
    quota.mutable_quota()->set_limit(100'000);
    EXPECT_THAT(Ask(*replicas_[0]->quota, &Quota::UpdateQuota, quota), IsOk());
  }

  MiniMuster& muster() { return muster_; }
  Tally& tally() { return tally_; }
  int gone() const { return gone_; }

  // So many pools of one Node each: more than there are machines, so that most wait in the queue
  // and take what others leave.
  void Create(int count) {
    for (int i = 0; i < count; ++i) pools_.push_back({.name = NameOf(i)});
    Parallel(count, [&](int i) {
      lv1::ApplyNodePoolRequest request;
      lv1::NodePool& pool = *request.mutable_node_pool();
      pool.set_name(NameOf(i));
      pool.mutable_spec()->set_instance_type("gd-8xa100-i128");
      pool.mutable_spec()->set_target_nodes(1);
      const auto applied = Ask(*Any(i).life, &Life::ApplyNodePool, request);
      ASSERT_THAT(applied, IsOk());
      Capture(applied->uid(), pools_[static_cast<size_t>(i)]);
    });
  }

  // Deletes the pools from `first` on, many at a time; each is explained, tried out and asked for
  // all the while, and a few times more when it is gone.
  void DeleteFrom(int first) {
    Parallel(static_cast<int>(pools_.size()) - first, [&](int i) {
      const Pool& pool = pools_[static_cast<size_t>(first + i)];
      std::atomic<bool> is_gone = false;
      std::thread heckler([&] {
        while (!is_gone) Heckle(pool, i);
        Heckle(pool, i);
        Heckle(pool, i + 1);
      });
      Delete(pool, i);
      is_gone = true;
      heckler.join();
      ++gone_;
    });
  }

  // What the books of the four services say of pools that are not there; empty: nothing.
  std::string Leftovers() {
    std::string wrong;
    const auto expect = [&](const char* what, const std::string& sql, int value) {
      const std::string is = muster_.database().QueryValue(sql);
      if (is != absl::StrCat(value)) absl::StrAppend(&wrong, is, " ", what, ", not ", value, "; ");
    };
    const auto without_pool = [](const char* table, const char* uid) {
      return absl::StrCat("SELECT count(*) FROM ", table, " x WHERE x.", uid,
                          " NOT IN (SELECT uid FROM lifecycle.node_pool)");
    };
    expect("pools", "SELECT count(*) FROM lifecycle.node_pool", kSurvivors);
    expect("holdings of no pool", without_pool("quota.holding", "pool_uid"), 0);
    expect("claims of no pool", without_pool("capacity.claim", "pool_uid"), 0);
    expect("configurations of no pool",
           without_pool("configuration.pool_configuration", "pool_uid"), 0);
    expect("machines held by no pool",
           absl::StrCat(without_pool("capacity.machine", "claim"), " AND x.claim IS NOT NULL"), 0);
    expect("Nodes charged", "SELECT sum(nodes) FROM quota.holding", kSurvivors);
    expect("machines held", "SELECT count(*) FROM capacity.machine WHERE claim IS NOT NULL",
           kSurvivors);
    expect("configurations", "SELECT count(*) FROM configuration.pool_configuration", kSurvivors);
    expect("Nodes", "SELECT count(*) FROM lifecycle.node", kSurvivors);
    return wrong;
  }
  // What is left over once all had time to settle.
  std::string AwaitBooks(absl::Duration patience) {
    std::string left;
    for (const absl::Time give_up = absl::Now() + patience; absl::Now() < give_up;) {
      left = Leftovers();
      if (left.empty()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return left;
  }

 private:
  static std::string NameOf(int pool) {
    return absl::StrCat("organizations/acme/clusters/example/nodePools/pool-", pool);
  }
  Replica& Any(int which) { return *replicas_[static_cast<size_t>(which) % replicas_.size()]; }

  template <class Do>
  static void Parallel(int count, Do act) {
    std::atomic<int> next = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kDeleters; ++i) {
      threads.emplace_back([&] {
        for (int at = next++; at < count; at = next++) act(at);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // What lifecycle sends for a pool of this uid, as it stands in the others' books.
  void Capture(const std::string& uid, Pool& pool) {
    Replica& replica = Any(0);
    cv1::GetClaimRequest get_claim;
    get_claim.set_name(absl::StrCat("claims/", uid));
    qv1::GetHoldingRequest get_holding;
    get_holding.set_name(absl::StrCat(kQuota, "/holdings/", uid));
    fv1::GetPoolConfigurationRequest get_configuration;
    get_configuration.set_name(absl::StrCat("poolConfigurations/", uid));
    for (const absl::Time give_up = absl::Now() + absl::Minutes(2); absl::Now() < give_up;) {
      const auto claim = Ask(*replica.capacity, &Capacity::GetClaim, get_claim);
      const auto holding = Ask(*replica.quota, &Quota::GetHolding, get_holding);
      const auto configuration =
          Ask(*replica.configuration, &Configuration::GetPoolConfiguration, get_configuration);
      if (claim.ok() && holding.ok() && configuration.ok() && holding->nodes() == 1) {
        qv1::HoldingRequest& held = *pool.holding.mutable_holding();
        held.set_name(get_holding.name());
        held.set_nodes(1);
        held.set_generation(holding->generation());
        cv1::ClaimRequest& claimed = *pool.claim.mutable_claim();
        claimed.set_pool_uid(uid);
        claimed.set_generation(claim->generation());
        claimed.set_organization(claim->organization());
        claimed.set_zone("RNO2A");
        claimed.set_instance_type("gd-8xa100-i128");
        claimed.set_nodes(1);
        fv1::ConfigurationRequest& configured = *pool.configuration.mutable_configuration();
        configured.set_pool_uid(uid);
        configured.set_generation(configuration->generation());
        *configured.mutable_spec() = configuration->spec();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ADD_FAILURE() << uid << " was never asked for";
  }

  // One of each: an explanation, two previews, and the pool's own requests come late.
  void Heckle(const Pool& pool, int which) {
    Replica& one = Any(which);
    Replica& other = Any(which + 1);
    lv1::ExplainNodePoolRequest explain;
    explain.set_name(pool.name);
    tally_.Add("explanations", Ask(*one.life, &Life::ExplainNodePool, explain).status());
    tally_.Add("late holdings", Ask(*other.quota, &Quota::SyncHolding, pool.holding).status());
    tally_.Add("late claims", Ask(*one.capacity, &Capacity::SyncClaim, pool.claim).status());
    tally_.Add("late configurations",
               Ask(*other.configuration, &Configuration::SyncPoolConfiguration, pool.configuration)
                   .status());
    lv1::ResizeNodePoolRequest resize;
    resize.set_name(pool.name);
    resize.set_target_nodes(3);
    resize.set_validate_only(true);
    tally_.Add("previews", Ask(*other.life, &Life::ResizeNodePool, resize).status());
    lv1::DeleteNodePoolRequest remove;
    remove.set_name(pool.name);
    remove.set_validate_only(true);
    tally_.Add("previews", Ask(*one.life, &Life::DeleteNodePool, remove).status());
  }

  // Until it is gone, whichever replica dies meanwhile.
  void Delete(const Pool& pool, int which) {
    lv1::DeleteNodePoolRequest remove;
    remove.set_name(pool.name);
    remove.set_allow_missing(true);
    lv1::GetNodePoolRequest get;
    get.set_name(pool.name);
    const absl::Time give_up = absl::Now() + absl::Minutes(5);
    bool asked = false;
    for (int round = which; absl::Now() < give_up; ++round) {
      Replica& replica = Any(round);
      if (!asked) asked = Ask(*replica.life, &Life::DeleteNodePool, remove).ok();
      if (absl::IsNotFound(Ask(*replica.life, &Life::GetNodePool, get).status())) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ADD_FAILURE() << pool.name << " does not go";
  }

  MiniMuster muster_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<Pool> pools_;
  std::atomic<int> gone_ = 0;
  Tally tally_;
};

void ExpectNoGhosts(Ghosts& ghosts, int pools) {
  EXPECT_EQ(ghosts.AwaitBooks(absl::Seconds(60)), "") << ghosts.muster().LogEnds();
  EXPECT_EQ(ghosts.muster().CompareStates(), "");
  std::cout << ghosts.tally().Text();
  EXPECT_GE(ghosts.tally().All("explanations"), pools);
  EXPECT_GE(ghosts.tally().All("previews"), pools);
  for (const char* late : {"late holdings", "late claims", "late configurations"}) {
    EXPECT_GE(ghosts.tally().All(late), pools);
    EXPECT_GE(ghosts.tally().Of(late, "POOL_RELEASED"), pools) << late;
  }
}

TEST(GhostsTest, NothingComesBackOnOneReplica) {
  const int pools = PoolsToDelete();
  Ghosts ghosts({});
  ghosts.Create(kSurvivors + pools);
  ASSERT_FALSE(::testing::Test::HasFailure()) << ghosts.muster().LogEnds();
  ghosts.DeleteFrom(kSurvivors);
  EXPECT_EQ(ghosts.gone(), pools);
  ExpectNoGhosts(ghosts, pools);
}

TEST(GhostsTest, NothingComesBackOnTwoReplicasThatAreKilled) {
  const int pools = PoolsToDelete();
  Ghosts ghosts({.processes = {"capacity,quota,lifecycle,configuration",
                               "capacity,quota,lifecycle,configuration"}});
  ghosts.Create(kSurvivors + pools);
  ASSERT_FALSE(::testing::Test::HasFailure()) << ghosts.muster().LogEnds();
  // Each in turn, while deletions are under way. (A program dies with the thread that started it.)
  std::thread deleter([&] { ghosts.DeleteFrom(kSurvivors); });
  for (int kill = 1; kill <= 4; ++kill) {
    while (ghosts.gone() < pools * kill / 6)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ghosts.muster().Kill(static_cast<size_t>(kill % 2));
    ghosts.muster().Start();
  }
  deleter.join();
  EXPECT_EQ(ghosts.gone(), pools);
  ExpectNoGhosts(ghosts, pools);
}

}  // namespace
}  // namespace muster::testing
