#pragma once

#include <memory>
#include <string>

#include "services/access/policy_file.h"
#include "services/rpc/guard.h"

namespace muster::testing {

// A server's guard by the policy `text`. Throws if that is no valid policy. Header only: link
// `rpc`.
class TestPolicy {
 public:
  explicit TestPolicy(const std::string& text)
      : file_(access::PolicyFile::Create({.fixed = access::Policy::Parse(text).value()}).value()),
        guard_(file_.get()) {}

  const rpc::Guard* guard() const { return &guard_; }

 private:
  const std::unique_ptr<access::PolicyFile> file_;
  const rpc::Guard guard_;
};

}  // namespace muster::testing
