#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {

// Debian's Chromium without a window, with one tab, driven by the DevTools protocol over a pipe.
// What fails throws. Not thread-safe.
class Browser {
 public:
  Browser();
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  void SetSize(int width, int height);
  // `dark` or `light`.
  void SetScheme(const std::string& scheme);
  void Open(const std::string& url);
  // The value of a JavaScript expression; of a promise, what it comes to.
  nlohmann::json Evaluate(const std::string& expression);
  // Waits until the expression is true.
  void Await(const std::string& expression);
  // The text of the first element that the CSS selector finds, in one line; empty: there is none.
  std::string Text(const std::string& selector);
  // Waits until that text contains `part`.
  void AwaitText(const std::string& selector, const std::string& part);
  // How many elements the selector finds.
  int Count(const std::string& selector);
  // A picture of the window, as PNG.
  void Screenshot(const std::string& path);
  // Exceptions, console errors, and loads that failed or that the content security policy refused,
  // since the last call.
  std::vector<std::string> TakeErrors() { return std::exchange(errors_, {}); }

 private:
  void Start();
  nlohmann::json Call(const std::string& method,
                      nlohmann::json parameters = nlohmann::json::object());
  // The next message; events are taken note of.
  nlohmann::json Read();
  void Note(const nlohmann::json& event);

  // Deleted last: Chromium's helper processes end by themselves, and may still write there.
  const TempFolder folder_;
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string received_;
  int last_id_ = 0;
  std::string session_;
  std::vector<std::string> errors_;
};

// Where the pictures go: $MUSTER_SCREENSHOTS, which ctest sets to a folder of the build.
std::string ScreenshotFile(absl::string_view name);

}  // namespace muster::testing
