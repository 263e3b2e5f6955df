// Orders to one Node: cordon, uncordon, drain, reboot.
#include "absl/strings/string_view.h"
#include "services/lifecycle/api/handlers.h"
#include "services/lifecycle/api/write_inl.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/wire/lifecycle_wire.h"

namespace muster::lifecycle {
namespace {

using Verb = OrderNode::Verb;

void ReadOrder(const v1::CordonNodeRequest&, OrderNode& order, Faults&) {
  order.verb = Verb::kCordon;
}

void ReadOrder(const v1::UncordonNodeRequest&, OrderNode& order, Faults&) {
  order.verb = Verb::kUncordon;
}

void ReadOrder(const v1::DrainNodeRequest& request, OrderNode& order, Faults&) {
  order.verb = Verb::kDrain;
  order.force = request.force();
}

void ReadOrder(const v1::RebootNodeRequest& request, OrderNode& order, Faults& faults) {
  order.verb = Verb::kReboot;
  order.reboot = RebootOf(request.mode()).value_or(Reboot::kNone);
  faults.Require(order.reboot != Reboot::kNone, "mode",
                 "must be REBOOT_WHEN_IDLE, REBOOT_DRAINED or REBOOT_FORCED");
}

constexpr auto kParseOrder = [](const auto& request, Faults& faults) {
  faults.Require(ParseNodeName(request.name()).has_value(), "name", kNodeNameShape);
  OrderNode order{request.name(), request.etag()};
  ReadOrder(request, order, faults);
  return order;
};

}  // namespace

Handlers::Unary Handlers::CordonNode(Context context, const v1::CordonNodeRequest* request,
                                     v1::Node* response) {
  return WriteNode(context, *request, response, kParseOrder);
}

Handlers::Unary Handlers::UncordonNode(Context context, const v1::UncordonNodeRequest* request,
                                       v1::Node* response) {
  return WriteNode(context, *request, response, kParseOrder);
}

Handlers::Unary Handlers::DrainNode(Context context, const v1::DrainNodeRequest* request,
                                    v1::Node* response) {
  return WriteNode(context, *request, response, kParseOrder);
}

Handlers::Unary Handlers::RebootNode(Context context, const v1::RebootNodeRequest* request,
                                     v1::Node* response) {
  return WriteNode(context, *request, response, kParseOrder);
}

}  // namespace muster::lifecycle
