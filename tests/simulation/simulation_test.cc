#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/simulation/options.h"

namespace muster::simulation {
namespace {

std::string& Program() {
  static auto& program = *new std::string;
  return program;
}

std::string Describe(const Options& options, const Report& report) {
  std::string replay =
      absl::StrCat(Program(), " --seed=", options.seed, " --steps=", options.steps, " --trace");
  if (options.bug != Bug::kNone) absl::StrAppend(&replay, " --bug=", NameOf(options.bug));
  return absl::StrCat("seed ", options.seed, ", step ", report.step, ": ", report.failure,
                      "\nreplay it: ", replay);
}

// What came of many seeds.
struct Summary {
  int64_t plans = 0;
  std::map<std::string, int64_t> happened = {};
  Counts seen = NoCounts();
  std::map<uint64_t, std::string> failures = {};  // by seed
};

void Print(const Summary& summary) {
  std::cout << summary.plans << " plans carried out\n";
  for (const auto& [event, times] : summary.happened) std::cout << times << " " << event << "\n";
  for (const auto& [kind, times] : summary.seen) std::cout << times << " " << kind << "\n";
}

// Worlds of one thread each, as many at a time as there are processors, until one fails.
Summary RunSeeds(uint64_t first, uint64_t last, int steps) {
  Summary summary;
  std::mutex mutex;
  std::atomic<uint64_t> next = first;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    for (uint64_t seed = next++; seed <= last && !failed; seed = next++) {
      const Options options{.seed = seed, .steps = steps};
      const Report report = RunWorld(options);
      const std::lock_guard lock(mutex);
      summary.plans += report.plans;
      for (const auto& [event, times] : report.happened) summary.happened[event] += times;
      for (const auto& [kind, times] : report.seen) summary.seen[kind] += times;
      if (report.failure.empty()) continue;
      failed = true;
      summary.failures[seed] = Describe(options, report);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = std::max(1U, std::thread::hardware_concurrency()); i > 0; --i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
  return summary;
}

// Of what can happen, each kind happens at least so often.
constexpr int64_t kOften = 5;

TEST(Simulation, EverySeedKeepsItsBooksAndComesToRest) {
  const Summary summary = RunSeeds(1, 2000, 1000);
  for (const auto& [seed, failure] : summary.failures) ADD_FAILURE() << failure;
  Print(summary);
  // Everything did happen.
  for (const char* event : {"CWNodeAssigned",
                            "CWNodeConfigStaged",
                            "CWNodeConfigStagingFailed",
                            "CWNodeDeleted",
                            "a Node that never came",
                            "CWNodeDrainingForceDelete",
                            "CWNodeDrainingPDBViolation",
                            "CWNodePoolDeleted",
                            "CWNodePoolNodesRemoveError",
                            "CWNodePoolScaledDown",
                            "CWNodePoolScaledUp",
                            "CWNodeBootFailed",
                            "CWNodeUncordoned",
                            "CWNodeTainted",
                            "CWNodeUntainted",
                            "CWNodeUnhealthy",
                            "CWOverQuota",
                            "CWReconfigureRebooted",
                            "Preemption pending",
                            "Preemption in progress",
                            "Deleted for preemption",
                            "CWInsufficientCapacity"}) {
    EXPECT_GT(summary.happened.count(event), 0U) << event;
  }
  for (const auto& [kind, times] : summary.seen) {
    EXPECT_GE(times, kOften) << kind;
  }
}

TEST(Simulation, ASeedAlwaysGivesTheSame) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Report one = RunWorld({.seed = seed});
    const Report two = RunWorld({.seed = seed});
    EXPECT_EQ(one.plans, two.plans);
    EXPECT_EQ(one.happened, two.happened);
  }
}

// Mistakes that are planted are found, each within so many seeds.
constexpr uint64_t kSeedsABug = 1000;

TEST(Simulation, EveryPlantedBugIsFound) {
  for (int i = 1; i < kBugs; ++i) {
    const auto bug = static_cast<Bug>(i);
    Report report;
    uint64_t seed = 0;
    while (report.failure.empty() && seed < kSeedsABug) {
      report = RunWorld({.seed = ++seed, .bug = bug});
    }
    EXPECT_FALSE(report.failure.empty()) << NameOf(bug) << " was not found";
    std::cout << NameOf(bug) << " | " << seed << " seeds | "
              << report.failure.substr(0, report.failure.find('\n')) << "\n";
  }
}

std::optional<Bug> ParseBug(absl::string_view name) {
  for (int i = 0; i < kBugs; ++i) {
    if (NameOf(static_cast<Bug>(i)) == name) return static_cast<Bug>(i);
  }
  return std::nullopt;
}

// --- replaying by hand ---

struct Arguments {
  bool replay = false;
  uint64_t first = 0;
  uint64_t last = 0;
  Options options = {};
};

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    bool good = true;
    if (absl::ConsumePrefix(&arg, "--seed=")) {
      good = absl::SimpleAtoi(arg, &out.options.seed);
      out.replay = true;
    } else if (absl::ConsumePrefix(&arg, "--seeds=")) {
      const size_t dash = arg.find('-');
      good = dash != absl::string_view::npos && absl::SimpleAtoi(arg.substr(0, dash), &out.first) &&
             absl::SimpleAtoi(arg.substr(dash + 1), &out.last);
    } else if (absl::ConsumePrefix(&arg, "--steps=")) {
      good = absl::SimpleAtoi(arg, &out.options.steps);
    } else if (absl::ConsumePrefix(&arg, "--bug=")) {
      const std::optional<Bug> bug = ParseBug(arg);
      good = bug.has_value();
      out.options.bug = bug.value_or(Bug::kNone);
    } else {
      good = arg == "--trace";
      out.options.trace = good;
    }
    if (!good) {
      std::cerr << "usage: simulation_test [--seed=N | --seeds=A-B] [--steps=N] [--bug=NAME] "
                   "[--trace]\n";
      return std::nullopt;
    }
  }
  return out;
}

int Main(int argc, char** argv) {
  Program() = argv[0];
  const std::optional<Arguments> arguments = Parse(argc, argv);
  if (!arguments) return 2;
  if (arguments->replay) {
    const Report report = RunWorld(arguments->options);
    std::cout << (report.failure.empty() ? "nothing failed" : Describe(arguments->options, report))
              << "\n";
    return report.failure.empty() ? 0 : 1;
  }
  if (arguments->last > 0) {
    const Summary summary = RunSeeds(arguments->first, arguments->last, arguments->options.steps);
    for (const auto& [seed, failure] : summary.failures) std::cout << failure << "\n";
    Print(summary);
    return summary.failures.empty() ? 0 : 1;
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace muster::simulation

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return muster::simulation::Main(argc, argv);
}
