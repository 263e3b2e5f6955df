// Linked into every test program: repeats the first failures at the very end, in a few lines, so
// that the tail of a long output still shows why it failed.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace muster::testing {
namespace {

constexpr size_t kMost = 3;
constexpr size_t kMostBytes = 600;

class LastWords final : public ::testing::EmptyTestEventListener {
 public:
  // googletest calls it for one thread at a time.
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    ++count_;
    if (first_.size() == kMost) return;
    first_.push_back(std::string(result.file_name() == nullptr ? "?" : result.file_name()) + ":" +
                     std::to_string(result.line_number()) + ": " + result.message());
  }

  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    if (count_ == 0) return;
    std::cout << "Of " << count_ << " failures the first were:\n";
    for (std::string& failure : first_) {
      std::replace(failure.begin(), failure.end(), '\n', ' ');
      std::cout << "  " << failure.substr(0, kMostBytes) << "\n";
    }
    std::cout << std::flush;
  }

 private:
  size_t count_ = 0;
  std::vector<std::string> first_;
};

[[maybe_unused]] const bool kListens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new LastWords);
  return true;
}();

}  // namespace
}  // namespace muster::testing
