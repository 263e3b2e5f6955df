#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <utility>

#include "services/rpc/unary.h"

namespace muster::rpc {

// Serves an Audit RPC: has `auditor` (storage::Auditor) audit once and fills in `revision`,
// `resources` and `violations`.
template <class Auditor, class Response>
grpc::ServerUnaryReactor* Audit(grpc::CallbackServerContext* context, Auditor& auditor,
                                Response* response) {
  return Unary(context, [&](Responder responder) {
    const auto waiting = std::make_shared<Responder>(std::move(responder));
    const auto done = [response, waiting](const auto& report) {
      waiting->Reply([&] {
        if (!report.ok()) return report.status();
        response->set_revision(report->revision);
        waiting->ShowRevision(report->revision);
        response->set_resources(report->resources);
        for (const auto& violation : report->violations) response->add_violations(violation);
        return report.status();
      });
    };
    auditor.Run(done, [waiting] { return waiting->gone(); });
  });
}

}  // namespace muster::rpc
