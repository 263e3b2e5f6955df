#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/failure_scenarios.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr char kFirst[] = "first";
constexpr char kSecond[] = "second";

// Who is in the way of whom at each turn of a life.
using Stir = std::function<void(AdapterStack& stack, std::mt19937& random)>;

struct Plague {
  std::string name = {};
  Misbehaviour all_along = {};
  Stir at_every_turn = [](AdapterStack&, std::mt19937&) {};
};

// Every request of these kinds, and how it may go wrong, one after the other.
void FailEverything(AdapterStack& stack, std::mt19937& random, bool is_carried_out) {
  std::vector<Failure> failures;
  const std::pair<const char*, const char*> kinds[] = {{"LIST", kNodePoolsPath},
                                                       {"LIST", kNodesPath},
                                                       {"LIST", kPodsPath},
                                                       {"LIST", "/api/v1/namespaces"},
                                                       {"LIST", "/apis/events"},
                                                       {"WATCH", kNodePoolsPath},
                                                       {"WATCH", kNodesPath},
                                                       {"WATCH", kPodsPath},
                                                       {"GET", kNodePoolsPath},
                                                       {"GET", kNodesPath},
                                                       {"PATCH", kNodePoolsPath},
                                                       {"PATCH", kNodesPath},
                                                       {"PATCH", "/api/v1/namespaces"},
                                                       {"DELETE", kNodesPath},
                                                       {"DELETE", "/api/v1/namespaces"},
                                                       {"POST", "/api/v1/namespaces"},
                                                       {"POST", "/apis/events"},
                                                       {"PATCH", "/apis/events"},
                                                       {"PUT", "/apis/coordination"}};
  const std::vector<Failure> ways = {
      {.code = 409}, {.code = 410}, {.code = 429}, {.code = 429, .retry_after = 1}, {.code = 500}};
  size_t next = random();
  for (const auto& [verb, path] : kinds) {
    const bool reads = verb[0] == 'L' || verb[0] == 'W' || verb[0] == 'G';
    if (reads && is_carried_out) continue;
    // Each time others, so that over the turns of a life each has its turn.
    for (int i = 0; i < 2; ++i) {
      Failure failure = ways[next++ % ways.size()];
      failure.verb = verb;
      failure.path_prefix = path;
      failure.is_carried_out = is_carried_out;
      failures.push_back(std::move(failure));
    }
  }
  std::shuffle(failures.begin(), failures.end(), random);
  for (const Failure& failure : failures) stack.server().fake_or_null()->FailNext(failure);
  // Those that watch see it too.
  stack.server().fake_or_null()->CompactHistory();
}

void Compact(AdapterStack& stack, std::mt19937&) {
  stack.server().fake_or_null()->CompactHistory();
}

// Of each pool one Node is gone by the time that it is to be changed.
void DeleteDuringPatches(AdapterStack& stack, std::mt19937& random) {
  for (const char* pool : {kFirst, kSecond}) {
    const std::vector<std::string> nodes = NodesOf(stack, pool);
    if (nodes.empty()) continue;
    stack.server().fake_or_null()->DeleteDuringNextPatch(
        absl::StrCat(kNodesPath, "/", nodes[random() % nodes.size()]));
  }
}

std::vector<Plague> Plagues() {
  return {
      {"StaleListsAndNoHistory", {.stale_lists = 8}, &Compact},
      {"RepeatedAndReorderedEvents", {.repeat_events = 0.5, .reorder_events = 0.5}},
      {"StreamsCutEverySecond", {.cut_streams = absl::Seconds(1)}},
      {"StreamsCutAtOnce", {.cut_streams = absl::Milliseconds(50)}},
      {"Errors",
       {},
       [](AdapterStack& stack, std::mt19937& random) { FailEverything(stack, random, false); }},
      {"ErrorsOfWhatWasDone",
       {},
       [](AdapterStack& stack, std::mt19937& random) { FailEverything(stack, random, true); }},
      {"ObjectsGoneDuringPatches", {}, &DeleteDuringPatches},
  };
}

class MisbehavingServer : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    const char* assets = std::getenv("KUBEBUILDER_ASSETS");
    if (assets != nullptr && *assets != '\0')
      GTEST_SKIP() << "a real API server does not misbehave on command";
  }

  void Begin(const Plague& plague) {
    plague_ = &plague;
    stack_ = std::make_unique<AdapterStack>();
    stack_->server().fake_or_null()->Set(plague.all_along);
  }
  void Turn() { plague_->at_every_turn(*stack_, random_); }

  void Create(const std::string& pool, int64_t nodes) {
    RetryUntilOk([&] {
      const absl::Status status =
          stack_->client().Create(kNodePoolsPath, WorkingPool(pool, nodes)).status();
      return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
    });
  }
  void Patch(const std::string& pool, const Json& spec) {
    RetryUntilOk([&] {
      return stack_->client()
          .Patch(kubernetes::PatchType::kMerge, absl::StrCat(kNodePoolsPath, "/", pool),
                 {{"spec", spec}})
          .status();
    });
  }
  void Delete(const std::string& pool) {
    RetryUntilOk([&] {
      const absl::Status status = stack_->client().Delete(absl::StrCat(kNodePoolsPath, "/", pool));
      return absl::IsNotFound(status) ? absl::OkStatus() : status;
    });
  }
  void ExpectHealthy(int64_t first, int64_t second) {
    EXPECT_TRUE(stack_->AwaitHealthy(kFirst, first)) << Describe(*stack_);
    EXPECT_TRUE(stack_->AwaitHealthy(kSecond, second)) << Describe(*stack_);
  }

  const Plague* plague_ = nullptr;
  std::unique_ptr<AdapterStack> stack_;
  std::mt19937 random_{20260118};
};

TEST_P(MisbehavingServer, LetsTwoPoolsLiveAndDie) {
  const std::vector<Plague> plagues = Plagues();
  ASSERT_NO_FATAL_FAILURE(Begin(plagues[GetParam()]));
  Turn();
  Create(kFirst, 2);
  Create(kSecond, 1);
  ExpectHealthy(2, 1);
  Turn();
  Patch(kFirst, {{"targetNodes", 3}});
  Patch(kSecond, {{"nodeLabels", {{"tier", "gold"}}}, {"targetNodes", 2}});
  ExpectHealthy(3, 2);
  EXPECT_TRUE(stack_->Await(kNodesPath, [](const AdapterStack::Objects& nodes) {
    return std::count_if(nodes.begin(), nodes.end(), [](const auto& node) {
             return node.second["metadata"]["labels"].value("tier", "") == "gold";
           }) == 2;
  })) << Describe(*stack_);

  BlockDrains(*stack_);
  for (const std::string& node : NodesOf(*stack_, kFirst)) FillNode(*stack_, node);
  Turn();
  Patch(kFirst, {{"targetNodes", 1}});
  AllowDrains(*stack_);
  ExpectHealthy(1, 2);
  EXPECT_TRUE(stack_->Await(kNodesPath, [](const auto& nodes) { return nodes.size() == 3; }));
  EXPECT_EQ(AwaitEvents(*stack_), "");
  EXPECT_EQ(AwaitQuiet(*stack_), "");

  Turn();
  Delete(kFirst);
  Delete(kSecond);
  EXPECT_TRUE(stack_->Await(kNodePoolsPath, [](const auto& pools) { return pools.empty(); }))
      << Describe(*stack_);
  EXPECT_TRUE(stack_->Await(kNodesPath, [](const auto& nodes) { return nodes.empty(); }))
      << Describe(*stack_);
  EXPECT_EQ(AwaitEvents(*stack_), "");
  EXPECT_EQ(AwaitQuiet(*stack_), "");
  EXPECT_EQ(stack_->muster().CheckBooks(0), "");
}

INSTANTIATE_TEST_SUITE_P(With, MisbehavingServer, ::testing::Range(size_t{0}, Plagues().size()),
                         [](const auto& each) { return Plagues()[each.param].name; });

}  // namespace
}  // namespace muster::testing
