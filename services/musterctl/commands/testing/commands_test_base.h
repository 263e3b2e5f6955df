#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "services/common/error.h"
#include "services/common/steady_clock.h"
#include "services/common/testing/fake_clock.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/client/testing/fake_api.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/testing/pools.h"

namespace muster::musterctl {

// A NodePool as a file has it.
inline constexpr char kTrainManifest[] =
    "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: train}\n"
    "spec: {instanceType: t, targetNodes: 1}\n";

// For tests: command lines against a FakeApi, ten minutes after the reference's pool came to be.
class CommandsTest : public ::testing::Test {
 protected:
  // Runs a command line; its output is then in out() and err().
  int RunLine(const std::vector<std::string>& args, const std::string& input = "") {
    in_.str(input);
    in_.clear();
    out_.str("");
    err_.str("");
    progress_.str("");
    ProcessEnv env{.in = input_ != nullptr ? *input_ : in_,
                   .out = out_,
                   .err = err_,
                   .environment = [this](const std::string& name) -> std::optional<std::string> {
                     const auto it = environment_.find(name);
                     if (it == environment_.end()) return std::nullopt;
                     return it->second;
                   },
                   .connect =
                       [this](const ApiOptions& options) {
                         options_ = options;
                         const auto at = servers_.find(options.server);
                         return std::shared_ptr<Api>(std::shared_ptr<Api>(),
                                                     at == servers_.end() ? &api_ : at->second);
                       },
                   .clock = clock_,
                   .steady = steady_,
                   .sleep =
                       [this](absl::Duration duration) {
                         steady_.Advance(duration);
                         clock_.Advance(duration + clock_step_);
                       },
                   .terminal = terminal_at_,
                   .progress = is_watched_ ? &progress_ : nullptr,
                   .execute = execute_};
    return musterctl::Run(args, env);
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }
  std::string progress() const { return progress_.str(); }

  FakeApi api_;
  std::map<std::string, FakeApi*> servers_;  // by address; all others are api_
  FakeClock clock_{absl::FromUnixSeconds(TimestampOf("2025-06-09T14:58:54Z").seconds())};
  FakeSteadyClock steady_;
  absl::Duration clock_step_;  // the time of day is set by so much at every sleep
  std::map<std::string, std::string> environment_;
  ApiOptions options_;
  std::istream* input_ = nullptr;  // in place of the line's own
  Terminal* terminal_at_ = nullptr;
  bool is_watched_ = false;  // how far things are
  std::function<int(const std::string& command)> execute_;
  std::ostringstream out_;

 private:
  std::istringstream in_;
  std::ostringstream err_;
  std::ostringstream progress_;
};

// For tests: the reference's pool, of which the server says that it is Ready, or what else.
inline lifecycle::v1::NodePool SummedUpPool(const std::string& status = "True",
                                            const std::string& reason = "Ready",
                                            const std::string& message = "") {
  lifecycle::v1::NodePool pool = ReferencePool();
  auto& ready = *pool.mutable_status()->add_conditions();
  ready.set_type("Ready");
  ready.set_status(status);
  ready.set_reason(reason);
  ready.set_message(message);
  ready.set_observed_generation(1);
  return pool;
}

// For tests: somebody's, 80 columns wide.
class NarrowTerminal final : public Terminal {
 public:
  Size size() const override { return {.width = 80, .height = 24}; }
  void Enter() override {}
  void Leave() override {}
  std::vector<Key> Await(absl::Duration) override { return {}; }
};

// INVALID_ARGUMENT as the server says it.
inline absl::Status BadField(const std::string& field, const std::string& what) {
  return FromServer(error::Make(absl::StatusCode::kInvalidArgument, "",
                                {.reason = "INVALID_ARGUMENT", .fields = {{field, what}}}));
}

}  // namespace muster::musterctl
