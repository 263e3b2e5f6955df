#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/time/time.h"

namespace muster::simulation {

// Chance that follows from the seed alone, on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // 0 to n - 1, each as likely.
  int Uniform(int n) { return static_cast<int>(engine_() % static_cast<uint64_t>(n)); }
  bool OneIn(int n) { return Uniform(n) == 0; }
  bool Percent(int chance) { return Uniform(100) < chance; }
  // `all` must not be empty.
  template <class T>
  const T& Pick(const std::vector<T>& all) {
    return all[static_cast<size_t>(Uniform(static_cast<int>(all.size())))];
  }
  absl::Duration UpTo(absl::Duration most) {
    return absl::Milliseconds(Uniform(static_cast<int>(absl::ToInt64Milliseconds(most)) + 1));
  }

 private:
  std::mt19937_64 engine_;
};

// How unkind a seed is: each kind of fault is left out in some seeds, so that others have their
// turn. In percent.
struct Weather {
  int lost_call = 0;      // a call to another service never arrives
  int lost_answer = 0;    // it is carried out, and seems to have failed
  int late_call = 0;      // it seems to have failed, and arrives later
  int repeated = 0;       // what arrives, arrives again
  int late_commit = 0;    // a plan is carried out later
  int death = 0;          // a replica dies between two steps
  int frozen = 0;         // a replica does nothing for long while it believes to lead
  int cut_off = 0;        // it cannot commit, or not beat, for some time; in a thousand
  int lost_report = 0;    // of an agent
  int late_report = 0;    // arrives again later
  int failing_boot = 0;   // also fails when it registers
  int hanging_boot = 0;   // never ends
  int work = 0;           // comes to idle Nodes
  int sick = 0;           // Nodes turn unhealthy
  int marks = 0;          // autoscalers mark Nodes, users cordon them
  int trouble = 0;        // configurations cannot be staged, Nodes not be removed at first
  int blocked_drain = 0;  // by disruption budgets
  int admin = 0;          // limits, machines, zones and releases move
  int callers = 0;        // pools are made, changed and deleted
  int questions = 0;      // explanations and previews
  int reboots = 0;        // of what callers do: about what Nodes boot
  int clock = 0;          // of a database is set, in a thousand
  int restores = 0;       // of a service to its past, in a thousand

  static Weather Of(Random& random) {
    const auto some = [&](int most) { return random.OneIn(3) ? 0 : random.Uniform(most) + 1; };
    Weather w;
    w.lost_call = some(15);
    w.lost_answer = some(15);
    w.late_call = some(15);
    w.repeated = some(40);
    w.late_commit = some(10);
    w.death = some(3);
    w.frozen = some(20);
    w.cut_off = some(20);
    w.lost_report = some(30);
    w.late_report = some(40);
    w.failing_boot = some(30);
    w.hanging_boot = some(20);
    w.work = some(50);
    w.blocked_drain = some(60);
    w.sick = some(10);
    w.marks = some(5);
    w.trouble = some(20);
    w.admin = some(10);
    w.questions = some(10);
    w.callers = 1 + some(5);
    if (random.OneIn(4)) {
      w.reboots = 50 + random.Uniform(40);
      w.callers += 5;
    }
    if (random.OneIn(3)) w.clock = 1 + random.Uniform(4);
    if (random.OneIn(2)) w.restores = 1 + random.Uniform(6);
    return w;
  }
  // No fault at all, nothing comes any more.
  static Weather Calm() { return {}; }
};

}  // namespace muster::simulation
