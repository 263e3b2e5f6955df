#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/page/browser.h"

namespace muster::testing {

// Tests that share one browser, which takes seconds to start. Each must leave no error behind.
class BrowserTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { browser_owner_ = std::make_unique<Browser>(); }
  static void TearDownTestSuite() { browser_owner_.reset(); }

  BrowserTest() : browser_(*browser_owner_) {
    browser_.SetSize(1440, 900);
    browser_.SetScheme("dark");
  }
  ~BrowserTest() override {
    EXPECT_THAT(browser_.TakeErrors(), ::testing::IsEmpty());
    // What a page keeps for its tab another test's would find if it had the same port.
    browser_.Evaluate("try { sessionStorage.clear() } catch {}");
    browser_.Open("about:blank");
    browser_.TakeErrors();
  }

  Browser& browser_;

 private:
  static inline std::unique_ptr<Browser> browser_owner_;
};

}  // namespace muster::testing
