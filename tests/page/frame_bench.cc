// How long a picture of the page takes while a large fleet changes: muster_page_bench
// [--machines=100000] [--changes=1000] [--seconds=10]. Prints a table; tests nothing.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/page/browser.h"
#include "tests/page/made_up_fleet.h"

ABSL_FLAG(int, machines, 100'000, "Machines on the map.");
ABSL_FLAG(int, changes, 1000, "Changes a second.");
ABSL_FLAG(int, seconds, 10, "How long each line is measured.");

namespace muster::testing {
namespace {

// Times between pictures, and of the work for each, in milliseconds, for some seconds.
constexpr char kMeasure[] = R"(new Promise((done) => {
  const between = [], work = [], end = performance.now() + 1000 * SECONDS;
  const draw = muster.draw;
  muster.draw = function () {
    const start = performance.now();
    draw.call(muster);
    work.push(performance.now() - start);
  };
  let last = performance.now();
  const frames = muster.frames;
  const next = (now) => {
    between.push(now - last);
    last = now;
    if (now < end) return requestAnimationFrame(next);
    delete muster.draw;
    done({ between: between.slice(1), work, frames: muster.frames - frames });
  };
  requestAnimationFrame(next);
}))";

double At(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<size_t>(share * static_cast<double>(values.size())))];
}

void Report(Browser& browser, const std::string& name) {
  std::string script = kMeasure;
  script.replace(script.find("SECONDS"), 7, absl::StrCat(absl::GetFlag(FLAGS_seconds)));
  const nlohmann::json measured = browser.Evaluate(script);
  const std::vector<double> between = measured["between"];
  const std::vector<double> work = measured["work"];
  std::cout << absl::StrFormat("%-28s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9d\n", name,
                               At(between, 0.5), At(between, 0.99), At(between, 1), At(work, 0.5),
                               At(work, 0.99), At(work, 1), measured["frames"].get<int>())
            << std::flush;
}

// Changes at a steady rate until it goes.
class Changes {
 public:
  Changes(MadeUpFleet& fleet, int rate)
      : thread_([this, &fleet, rate] {
          const auto begin = std::chrono::steady_clock::now();
          for (int tick = 1; !over_; ++tick) {
            fleet.Change(rate / 100);
            std::this_thread::sleep_until(begin + tick * std::chrono::milliseconds(10));
          }
        }) {}
  ~Changes() {
    over_ = true;
    thread_.join();
  }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

void Run() {
  MadeUpFleet fleet;
  const int machines = absl::GetFlag(FLAGS_machines);
  fleet.AddMachines(machines);
  Browser browser;
  const auto begin = std::chrono::steady_clock::now();
  browser.Open(fleet.url());
  browser.Await(absl::StrCat("muster.store.caughtUp && muster.view.viewOf.size === ", machines));
  std::cout << "all machines shown after "
            << std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::steady_clock::now() - begin)
                   .count()
            << " ms\n"
            << absl::StrFormat("%-28s %9s %9s %9s %9s %9s %9s %9s\n", "milliseconds", "frame p50",
                               "p99", "max", "work p50", "p99", "max", "messages");
  Report(browser, "at rest");
  const Changes changes(fleet, absl::GetFlag(FLAGS_changes));
  const std::string rate = absl::StrCat(absl::GetFlag(FLAGS_changes), " changes/s");
  Report(browser, rate);
  browser.Evaluate("document.getElementById('by-profile').click()");
  Report(browser, absl::StrCat(rate, ", by profile"));
  browser.Evaluate("location.hash = '#/pools'");
  Report(browser, absl::StrCat(rate, ", other view"));
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  muster::testing::Run();
}
