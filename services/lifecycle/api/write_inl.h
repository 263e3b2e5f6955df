#pragma once

#include <memory>
#include <string>
#include <utility>

#include "services/lifecycle/api/handlers.h"
#include "services/lifecycle/core/grantable.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/rpc/write.h"

// What the mutations of lifecycle have in common. For the .cc files of Handlers.
namespace muster::lifecycle {

inline constexpr auto kDecide = [](StagedState<State>& staged, const auto& command,
                                   absl::Time now) { return Decide(staged, command, now); };

// What came of a command as its response; empty without a row.
struct RenderOutcome {
  void operator()(const Outcome& outcome, v1::Cluster& response) const {
    if (outcome.cluster) response = ToProto(*outcome.cluster, outcome.revision);
  }
  void operator()(const Outcome& outcome, v1::NodePool& response) const {
    if (!outcome.pool) return;
    response = ToProto(*outcome.pool, outcome.revision);
    const Pool& pool = *outcome.pool;
    const std::string warning =
        pool.deleting() ? "" : MaxNodesWarning(pool.spec, pool.status.grantable);
    if (!warning.empty()) response.add_warnings(warning);
  }
  void operator()(const Outcome& outcome, v1::Node& response) const {
    if (!outcome.node) return;
    response =
        ToProto(Versioned<Node>{std::make_shared<const Node>(*outcome.node), outcome.revision});
  }
};

// What the preview says of max_nodes is newer than what the status told last.
inline void RenderPreview(const Outcome& outcome, v1::NodePoolPreview preview,
                          v1::NodePool& response) {
  if (outcome.pool && preview.has_grantable_nodes()) {
    const std::string warning =
        MaxNodesWarning(outcome.pool->spec,
                        Grantable{preview.grantable_nodes(), preview.grantable_nodes_bound_by()});
    response.clear_warnings();
    if (!warning.empty()) response.add_warnings(warning);
  }
  *response.mutable_preview() = std::move(preview);
}

// Tries the command, takes it back, and answers with what it would do, as `advisor` sees it.
template <class Command>
void AnswerPreview(Lane& lane, rpc::Responder responder, std::shared_ptr<Advisor> advisor,
                   const rpc::WriteOptions& options, Command command, v1::NodePool* response) {
  const absl::Time deadline = responder.deadline();
  const auto decide = [command = std::move(command)](StagedState<State>& staged, absl::Time now) {
    return Try(staged, command, now);
  };
  rpc::Commit(lane, deadline, options, decide,
              [advisor = std::move(advisor), response,
               responder = std::move(responder)](absl::StatusOr<Tried> tried) mutable {
                if (!tried.ok() || !tried->dry_run)
                  return responder.Reply([&] { return tried.status(); });
                advisor->Preview(
                    std::move(*tried->dry_run), std::move(responder),
                    [outcome = std::move(tried->outcome), response](v1::NodePoolPreview preview) {
                      RenderOutcome()(outcome, *response);
                      RenderPreview(outcome, std::move(preview), *response);
                    });
              });
}

template <class Request, class Parse>
Handlers::Unary Handlers::WritePool(Context context, const Request& request, v1::NodePool* response,
                                    Parse parse) {
  std::shared_ptr<Advisor> asked = request.validate_only() ? advisor() : nullptr;
  if (asked == nullptr) {
    return rpc::Write(context, writer_, request, response, parse, kDecide, RenderOutcome());
  }
  return rpc::Unary(context, [&](rpc::Responder responder) {
    Faults faults;
    auto command = parse(request, faults);
    const rpc::WriteOptions options = rpc::OptionsOf(request, responder.caller().get(), faults);
    if (!faults.empty()) return responder.Finish(faults.status());
    AnswerPreview(lane_, std::move(responder), std::move(asked), options, std::move(command),
                  response);
  });
}

}  // namespace muster::lifecycle
