#include "tests/bench/work.h"

#include <memory>
#include <utility>

namespace muster::bench {

Work ClosedLoop(std::string name, std::vector<std::string> yardsticks, size_t in_flight,
                CallerFactory make, std::function<absl::Status()> set_up) {
  auto callers = std::make_shared<Callers>();
  const auto measure = [callers, make = std::move(make), in_flight](
                           absl::Duration measured, CpuMeter& meter) -> absl::StatusOr<Rate> {
    while (callers->size() < in_flight) callers->push_back(make(callers->size()));
    return RunClosedLoop(*callers, absl::Seconds(1), measured, meter);
  };
  return {std::move(name), std::move(yardsticks), std::move(set_up), measure};
}

}  // namespace muster::bench
