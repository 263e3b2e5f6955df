#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/mini_muster.h"
#include "tests/observability/fault_drill.h"
#include "tests/testing/past.h"
#include "tests/testing/patience.h"

namespace muster::testing {

// Real faults of servers, their database and their fleet, and who is paged for them: Debian's
// Prometheus with our rules, sixty times as fast (FasterRules). Each test has a stack of its own.
class ServerFaults : public ::testing::Test {
 protected:
  static MiniMuster::Options Fast() {
    MiniMuster::Options options;
    options.musterd_flags = {"--audit_interval=2s", "--orphan_interval=2s",
                             "--page_listen=127.0.0.1:0"};
    options.audit_books = false;
    return options;
  }
  // For faults in which no leader dies: the lease is too long to run out while a busy machine
  // stands still.
  static MiniMuster::Options Calm() {
    MiniMuster::Options options = Fast();
    options.musterd_flags.push_back("--lease_ttl=30s");  // of two the later one counts
    return options;
  }
  // Starts a stack with the catalogue only, without Prometheus.
  void StartEmpty(MiniMuster::Options options) {
    muster_ = std::make_unique<MiniMuster>(std::move(options));
    muster_->ApplyCatalogue();
  }
  // A healthy pool of three Nodes.
  void MakePool() {
    muster_->ApplyExample();
    ASSERT_TRUE(muster_->Resize(3).ok());
    ASSERT_TRUE(muster_->AwaitSettled(3));
  }
  void StartPrometheus() {
    std::vector<std::string> addresses;
    for (size_t process = 0; process < muster_->processes(); ++process)
      addresses.push_back(muster_->metrics_address(process));
    prometheus_ =
        std::make_unique<PrometheusProcess>(addresses, std::vector<std::string>{}, kDrillTimes);
    Until([&] { return prometheus_->api().TargetsUp("muster") == int(addresses.size()); },
          "all targets");
    Until(
        [&] { return prometheus_->api().Ask("sum(muster_lifecycle_leading) == 1").series() == 1; },
        "a leader");
  }
  void Start(MiniMuster::Options options) {
    StartEmpty(std::move(options));
    MakePool();
    StartPrometheus();
  }
  // Two replicas, of which the first leads: what the second has to do with lifecycle's history is
  // to follow it. The faults are the second's: nobody loses the lease.
  void StartWithFollower() {
    MiniMuster::Options options = Calm();
    options.processes = {"capacity,quota,lifecycle,configuration",
                         "capacity,quota,lifecycle,configuration"};
    Start(std::move(options));
    muster_->Kill(1);
    const auto leads = [&](size_t process, const char* how) {
      return prometheus_->api()
                 .Ask(absl::StrCat("muster_lifecycle_leading{instance=\"",
                                   muster_->metrics_address(process), "\"} == ", how))
                 .series() == 1;
    };
    Until([&] { return leads(0, "1"); }, "the first to lead");
    muster_->Start();
    Until([&] { return leads(1, "0"); }, "the second to follow");
  }
  void Run(const Fault& fault) {
    Desk desk;
    desk.ctl = [this](std::vector<std::string> words) {
      if (words.front() != "debug") words.push_back("--timeout=2s");
      return muster_->Ctl(std::move(words));
    };
    // Of a server that answers, if there is one.
    desk.page = [this] {
      const size_t last = muster_->processes() - 1;
      return muster_->page_address(muster_->Runs(0) ? 0 : last);
    };
    desk.log = [this] { return muster_->MusterdLogs(); };
    if (const auto pool = muster_->GetPool(); pool.ok()) names_["UID"] = pool->uid();
    names_["POOL_UID"] = names_["UID"];
    desk.names = [this] { return names_; };
    Drill(prometheus_->api(), fault, desk);
  }
  void TearDown() override {
    if (HasFailure() && muster_ != nullptr) std::cerr << muster_->LogEnds();
  }
  // Returns a function that resizes the pool, to 3 and 4 Nodes in turn.
  std::function<void()> Resizes() {
    return [this] { (void)muster_->Resize(3 + ++resizes_ % 2); };
  }
  // Returns a function that changes tables behind a server's back, while that does not run.
  std::function<void()> Tamper(const std::string& sql) {
    return [this, sql] {
      muster_->Kill();
      muster_->database().Execute(sql);
      muster_->Start();
    };
  }
  // Restarts the agents with another flag.
  void RestartFleet(const std::string& flag) {
    muster_->KillFleet();
    muster_->AddFleetFlag(flag);
    muster_->Start();
  }
  // Fails the test, with what musterctl said, when it refuses.
  void Ctl(const std::vector<std::string>& words) {
    const Finished said = muster_->Ctl(words);
    EXPECT_EQ(said.exit_code, 0) << said.output;
  }

  std::unique_ptr<MiniMuster> muster_;
  std::unique_ptr<PrometheusProcess> prometheus_;
  // What stands for words of the runbook.
  std::map<std::string, std::string> names_ = {{"NAME", "example-nodepool"},
                                               {"Z", "RNO2A"},
                                               {"T", "gd-8xa100-i128"},
                                               {"QUOTA", "RNO2A~gd-8xa100-i128~default"}};
  int resizes_ = 0;
};

}  // namespace muster::testing
