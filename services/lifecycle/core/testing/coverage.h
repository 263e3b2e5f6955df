#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

// For tests: which test first saw which event and which condition. Random ones do not count: what
// they see is nobody's promise. coverage_test.cc prints it and demands all of the reference.
namespace muster::lifecycle {

class Coverage {
 public:
  static Coverage& Get() {
    static auto* const coverage = new Coverage();
    return *coverage;
  }

  void SawEvent(bool on_node, absl::string_view reason) {
    Saw(absl::StrCat(on_node ? "Node " : "NodePool ", reason));
  }
  void SawCondition(absl::string_view type, absl::string_view reason) {
    Saw(absl::StrCat(type, "/", reason));
  }
  // `NodePool CWDrainNode`, `Validated/Valid` -> `Suite.Test`.
  const std::map<std::string, std::string>& seen() const { return seen_; }

 private:
  void Saw(std::string what) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    if (test == nullptr || absl::EndsWith(test->test_suite_name(), "Property")) return;
    const auto [it, fresh] = seen_.try_emplace(std::move(what));
    if (fresh) it->second = absl::StrCat(test->test_suite_name(), ".", test->name());
  }

  std::map<std::string, std::string> seen_;
};

}  // namespace muster::lifecycle
