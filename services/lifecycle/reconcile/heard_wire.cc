#include "services/lifecycle/reconcile/heard_wire.h"

#include <map>
#include <string>

#include "absl/hash/hash.h"

namespace muster::lifecycle {
namespace {

namespace cv1 = capacity::v1;

HeardStock::Use UseOf(const cv1::Machine& machine) {
  using Use = HeardStock::Use;
  const bool spot = machine.compute_class() == type::v1::COMPUTE_CLASS_SPOT;
  switch (static_cast<int>(machine.state())) {
    case cv1::Machine::STATE_FREE:
      return Use::kFree;
    case cv1::Machine::STATE_HELD:
      return spot ? Use::kLent : Use::kHeld;
    case cv1::Machine::STATE_RECLAIMING:
      return Use::kReclaimed;
  }
  return Use::kNone;  // out of service, or a word of a newer capacity service
}

}  // namespace

HeardStock::Machine StockOf(const cv1::Machine& machine) {
  HeardStock::Machine stock{machine.zone(), machine.instance_type()};
  if (machine.state() != cv1::Machine::STATE_RETIRED) {
    const std::map<std::string, std::string> labels(machine.labels().begin(),
                                                    machine.labels().end());
    stock.print = absl::HashOf(labels, machine.state() == cv1::Machine::STATE_IN_REPAIR) | 1;
  }
  stock.use = UseOf(machine);
  stock.claim = machine.claim();
  return stock;
}

}  // namespace muster::lifecycle
