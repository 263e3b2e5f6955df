#pragma once

#include <memory>
#include <utility>

#include "services/common/status_macros.h"
#include "services/lifecycle/handlers.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/rpc/unary.h"

// How every mutation goes to the lane and its answer back. For the .cc files of Handlers.
namespace muster::lifecycle {

inline void Render(const Outcome& outcome, v1::Cluster& response) {
  if (!outcome.cluster) return;
  response = ToProto(*outcome.cluster, outcome.revision);
}

inline void Render(const Outcome& outcome, v1::NodePool& response) {
  if (!outcome.pool) return;
  response = ToProto(*outcome.pool, outcome.revision);
}

inline void Render(const Outcome& outcome, v1::Node& response) {
  if (!outcome.node) return;
  response =
      ToProto(Versioned<Node>{std::make_shared<const Node>(*outcome.node), outcome.revision});
}

template <class Command, class Response>
Handlers::Unary Handlers::Submit(Context context, absl::StatusOr<Command> command,
                                 Response* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!command.ok()) return void(responder.Finish(command.status()));
    auto outcome = std::make_shared<Outcome>();
    const absl::Time deadline = responder.deadline();
    lane_.Submit(
        [command = *std::move(command), outcome](Overlay<State>& overlay,
                                                 absl::Time now) -> absl::Status {
          ASSIGN_OR_RETURN(*outcome, Decide(overlay, command, now));
          return absl::OkStatus();
        },
        [outcome, response, responder = std::move(responder)](const absl::Status& status,
                                                              int64_t) mutable {
          responder.Reply([&] {
            if (status.ok()) Render(*outcome, *response);
            return status;
          });
        },
        deadline);
  });
}

// What a trial must know that the command says and a taken-back row does not show.
template <class Command>
void MarkVictims(std::vector<Node>&, const Command&) {}
inline void MarkVictims(std::vector<Node>& nodes, const ResizeNodePool& command) {
  const auto& named = command.remove_machines;
  for (Node& node : nodes) {
    node.removal_requested = std::find(named.begin(), named.end(), node.machine) != named.end();
  }
}

// What stands before a mutation that is only tried.
template <class Command>
Advisor::Trial TrialOf(const State& state, const Command& command) {
  Advisor::Trial trial;
  const Versioned<Pool>* pool = state.table<Pool>().FindVersioned(command.name);
  if (pool != nullptr) trial.before = pool->row;
  const auto* cluster =
      state.table<Cluster>().FindVersioned(std::string(ClusterNameOf(command.name)));
  if (cluster != nullptr) trial.cluster = cluster->row;
  for (const Node* node : state.NodesOf(command.name)) trial.nodes.push_back(*node);
  MarkVictims(trial.nodes, command);
  return trial;
}

template <class Command>
Handlers::Unary Handlers::SubmitPool(Context context, absl::StatusOr<Command> command,
                                     v1::NodePool* response) {
  const std::shared_ptr<Advisor> asked = advisor();
  if (!command.ok() || !command->validate_only || asked == nullptr) {
    return Submit(context, std::move(command), response);
  }
  return rpc::Unary(context, [&](rpc::Responder responder) {
    auto outcome = std::make_shared<Outcome>();
    auto trial = std::make_shared<Advisor::Trial>();
    const absl::Time deadline = responder.deadline();
    lane_.Submit(
        [command = *std::move(command), outcome, trial](Overlay<State>& overlay,
                                                        absl::Time now) -> absl::Status {
          *trial = TrialOf(overlay.state(), command);
          ASSIGN_OR_RETURN(*outcome, Decide(overlay, command, now));
          return absl::OkStatus();
        },
        [outcome, trial, response, asked, deadline,
         shared = std::make_shared<rpc::Responder>(std::move(responder))](
            const absl::Status& status, int64_t) {
          if (!status.ok() || !outcome->pool || trial->cluster == nullptr) {
            shared->Finish(status);
            return;
          }
          trial->after = *outcome->pool;
          asked->Preview(std::move(*trial), deadline,
                         [outcome, response, shared](v1::NodePoolPreview preview) {
                           shared->Reply([&] {
                             Render(*outcome, *response);
                             *response->mutable_preview() = std::move(preview);
                           });
                         });
        },
        deadline);
  });
}

}  // namespace muster::lifecycle
