#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "services/common/fake_clock.h"
#include "services/musterctl/client/fake_api.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/test_pools.h"

namespace muster::musterctl {

// For tests: command lines against a FakeApi, ten minutes after the reference's pool came to be.
class CommandsTest : public ::testing::Test {
 protected:
  // Runs a command line; its output is then in out() and err().
  int RunLine(const std::vector<std::string>& args, const std::string& input = "") {
    in_.str(input);
    in_.clear();
    out_.str("");
    err_.str("");
    World world{.in = in_,
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
                      return std::shared_ptr<Api>(std::shared_ptr<Api>(), &api_);
                    },
                .clock = clock_,
                .sleep = [this](absl::Duration duration) { clock_.Advance(duration); }};
    return musterctl::Run(args, world);
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  FakeApi api_;
  FakeClock clock_{absl::FromUnixSeconds(TimestampOf("2025-06-09T14:58:54Z").seconds())};
  std::map<std::string, std::string> environment_;
  ApiOptions options_;

 private:
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// INVALID_ARGUMENT as the server says it.
inline absl::Status BadField(const std::string& field, const std::string& what) {
  google::rpc::Status status;
  status.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field(field);
  bad.mutable_field_violations(0)->set_description(what);
  status.add_details()->PackFrom(bad);
  return FromRpcStatus(status);
}

}  // namespace muster::musterctl
