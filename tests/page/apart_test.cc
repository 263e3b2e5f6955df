// The page of services that run apart: it shows those whose addresses it has, says which it hears
// nothing of, and goes on when they are back.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/integration/mini_muster.h"
#include "tests/page/browser_test_base.h"

namespace muster::testing {
namespace {

constexpr size_t kOthers = 0;
constexpr size_t kLifecycle = 1;

class ApartTest : public BrowserTest {
 protected:
  static MiniMuster::Options MakeOptions() {
    MiniMuster::Options options;
    options.processes = {"capacity,quota,configuration", "lifecycle"};
    options.musterd_flags = {"--page_listen=127.0.0.1:0"};
    options.audit_books = false;  // nothing is held
    return options;
  }

  void Open(size_t process, const std::string& view) {
    browser_.Open(absl::StrCat("http://", muster_.page_address(process), "/#/", view));
    AwaitState("live");
  }
  void AwaitState(const std::string& state) {
    browser_.Await(
        absl::StrCat("document.getElementById('connection').dataset.state === '", state, "'"));
  }

  MiniMuster muster_{MakeOptions()};
};

TEST_F(ApartTest, ShowsWhatItHears) {
  muster_.ApplyCatalogue();
  Open(kOthers, "health");
  browser_.AwaitText("[data-service=lifecycle]", "no address");
  browser_.AwaitText("[data-service=capacity]", "ready");
  browser_.Await("muster.store.machines === 214");

  Open(kLifecycle, "health");
  browser_.AwaitText("[data-service=lifecycle]", "this one, epoch");
  browser_.AwaitText("[data-service=quota]", "runs elsewhere");
  browser_.Await("muster.store.machines === 214");

  muster_.Kill(kOthers);
  AwaitState("stale");
  browser_.AwaitText("#connection", "no news of capacity, quota, configuration");
  // What was known last stays.
  EXPECT_EQ(browser_.Evaluate("muster.store.machines"), 214);
  browser_.Screenshot(ScreenshotFile("apart-no-news"));
  muster_.Start();
  AwaitState("live");
}

}  // namespace
}  // namespace muster::testing
