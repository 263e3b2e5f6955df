#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <utility>

// The CPU that a measurement uses, by program. On a machine that others use, too, it varies less
// than a rate.
namespace muster::bench {

// Seconds of CPU.
struct CpuUse {
  double server_s = 0;
  double postgres_s = 0;  // all its processes
  double client_s = 0;    // this program and what it ran (pgbench)

  CpuUse& operator+=(const CpuUse& more);
};

// Microseconds of CPU an operation; 0: not known.
struct CpuCost {
  double server_us = 0;
  double postgres_us = 0;
  double client_us = 0;
};

CpuCost CostOf(const CpuUse& used, int64_t operations);

// Who is measured, beside this program; 0: not known.
struct Processes {
  pid_t server = 0;
  pid_t postmaster = 0;
};

// What they have used since they were started.
CpuUse UseOf(const Processes& processes);

// Adds up what is used between each Begin and its End. `read` says what was used ever.
class CpuMeter {
 public:
  explicit CpuMeter(std::function<CpuUse()> read) : read_(std::move(read)) {}

  void Begin() { begun_ = read_(); }
  void End();
  const CpuUse& used() const { return used_; }

 private:
  const std::function<CpuUse()> read_;
  CpuUse begun_ = {};
  CpuUse used_ = {};
};

}  // namespace muster::bench
