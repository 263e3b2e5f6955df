#include "tests/bench/cpu.h"

#include <unistd.h>

#include "tests/bench/usage.h"

namespace muster::bench {

CpuUse& CpuUse::operator+=(const CpuUse& more) {
  server_s += more.server_s;
  postgres_s += more.postgres_s;
  client_s += more.client_s;
  return *this;
}

CpuCost CostOf(const CpuUse& used, int64_t operations) {
  if (operations <= 0) return {};
  const auto each = [&](double seconds) { return seconds * 1e6 / static_cast<double>(operations); };
  return {each(used.server_s), each(used.postgres_s), each(used.client_s)};
}

CpuUse UseOf(const Processes& processes) {
  return {processes.server == 0 ? 0 : CpuSeconds(processes.server),
          processes.postmaster == 0 ? 0 : TreeCpuSeconds(processes.postmaster),
          TreeCpuSeconds(getpid())};
}

void CpuMeter::End() {
  const CpuUse now = read_();
  used_ += {now.server_s - begun_.server_s, now.postgres_s - begun_.postgres_s,
            now.client_s - begun_.client_s};
}

}  // namespace muster::bench
