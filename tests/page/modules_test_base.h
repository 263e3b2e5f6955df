#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/page/browser_test_base.h"
#include "tests/page/made_up_fleet.h"

namespace muster::testing {

// Tests of the page's scripts, in the browser that runs them.
class ModulesTest : public BrowserTest {
 protected:
  ModulesTest() {
    browser_.Open(fleet_.url());
    browser_.Await("muster.store.caughtUp");
  }

  // What `body`, with the named things of a module at hand, returns.
  nlohmann::json Run(const std::string& module, const std::string& names, const std::string& body) {
    return browser_.Evaluate(
        absl::StrCat("import('/", module, "').then(({", names, "}) => {", body, "})"));
  }

  MadeUpFleet fleet_;
};

}  // namespace muster::testing
