// More calls than a server can answer, by one caller who does not wait for answers.
#include <cstdint>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "tests/hostile/meter.h"
#include "tests/hostile/target.h"
#include "tests/integration/child.h"

namespace muster::testing {
namespace {

constexpr int kPeakCalls = 512;
// So many times the peak is asked for, with so many calls under way at most.
constexpr double kFloodTimes = 10;
constexpr int kFloodCalls = 3'200;

// What came of the calls of hostile_flood, a process of its own.
struct Answered {
  int64_t asked = 0;
  int64_t sent = 0;  // the others found kFloodCalls under way
  int64_t ok = 0;
  int64_t exhausted = 0;
  int64_t late = 0;   // after their deadline of one second
  int64_t other = 0;  // refused otherwise, or cut off
  double seconds = 0;
  double refused = 0;  // within how many milliseconds 99 of 100 of the exhausted ones were answered

  double Rate(int64_t calls) const { return static_cast<double>(calls) / seconds; }
  double Percent(int64_t calls) const {
    return 100.0 * static_cast<double>(calls) / static_cast<double>(sent);
  }
};

// `rpc`: get or sync. `rate` 0: as fast as answers come.
Answered Ask(MiniMuster& muster, const std::string& rpc, int calls, double rate, int seconds) {
  const Authority& authority = *muster.authority();
  const Finished flood =
      RunProgram({Binary("hostile_flood"), muster.address(), authority.authority(),
                  authority.certificate("flooder"), authority.key("flooder"), rpc,
                  absl::StrCat(calls), absl::StrCat(rate), absl::StrCat(seconds)});
  std::istringstream in(flood.output);
  Answered answered;
  if (!(in >> answered.asked >> answered.sent >> answered.ok >> answered.exhausted >>
        answered.late >> answered.other >> answered.seconds >> answered.refused)) {
    throw std::runtime_error("hostile_flood: " + flood.output);
  }
  return answered;
}

void Flood(Target& target, const std::string& rpc) {
  MiniMuster& muster = target.muster();
  const Answered before = Ask(muster, rpc, kPeakCalls, 0, 3);
  const double peak = before.Rate(before.ok);
  double quiet = 0;
  {
    Neighbour neighbour(OwnChannel(muster));
    absl::SleepFor(absl::Seconds(5));
    quiet = absl::ToDoubleMilliseconds(neighbour.Percentile(0.99));
  }
  Answered flood;
  double beside = 0;
  int calls = 0, failed = 0;
  {
    Neighbour neighbour(OwnChannel(muster));
    flood = Ask(muster, rpc, kFloodCalls, kFloodTimes * peak, 5);
    beside = absl::ToDoubleMilliseconds(neighbour.Percentile(0.99));
    calls = neighbour.calls();
    failed = neighbour.failed();
  }
  const Answered after = Ask(muster, rpc, kPeakCalls, 0, 3);
  const double rate = flood.Rate(flood.ok);
  std::cout << absl::StrFormat(
      "  peak %.0f/s; flood of %.0f/s, %.0f/s of it sent: %.0f OK/s (%.2f of the peak), %.0f%% "
      "told to wait (p99 %.1f ms), %.0f%% late, %d otherwise; neighbour p99 %.1f -> %.1f ms, %d of "
      "%d failed; after it %.0f/s (%.2f)\n",
      peak, flood.Rate(flood.asked), flood.Rate(flood.sent), rate, rate / peak,
      flood.Percent(flood.exhausted), flood.refused, flood.Percent(flood.late), flood.other, quiet,
      beside, failed, calls, after.Rate(after.ok), after.Rate(after.ok) / peak);
  target.Expect(rate >= 0.8 * peak, absl::StrFormat("goodput %.2f of the peak", rate / peak));
  target.Expect(failed == 0, "a neighbour failed beside the flood");
  target.Expect(beside <= 3 * quiet, absl::StrFormat("neighbour p99 %.1f x", beside / quiet));
}

Attack FloodOf(const std::string& what, const std::string& rpc,
               const std::vector<std::string>& flags, const std::string& before) {
  MiniMuster::Options muster{.musterd_flags = flags, .audit_books = false, .tls = true};
  muster.callers = {"flooder"};
  for (const char* role : {"operator", "service"}) {
    muster.bindings.push_back(absl::StrCat(
        "- {role: ", role, ", principals: [\"spiffe://muster.test/flooder\"], everywhere: true}"));
  }
  return {.row = "9",
          .what = what,
          .before = before,
          .load = {.bytes = int64_t{600} << 20, .cpu = absl::Seconds(60)},
          .run = [rpc](Target& target) { Flood(target, rpc); },
          .muster = muster,
          .outage = true};  // its neighbour is asked for within
}

}  // namespace

std::vector<Attack> FloodAttacks() {
  const std::string get = "0.37 of the peak, after it 0.15; 97 of 134 failed";
  const std::string sync = "0.62 of the peak, after it 0.48; 87 of 136 failed";
  return {FloodOf("open loop of GetQuota by one caller", "get", {}, get),
          FloodOf("the same, 500 calls under way", "get", {"--max_calls_per_caller=500"}, get),
          FloodOf("open loop of SyncHolding by one caller", "sync", {}, sync),
          FloodOf("the same, 500 calls under way", "sync", {"--max_calls_per_caller=500"}, sync)};
}

}  // namespace muster::testing
