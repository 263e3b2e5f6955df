#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/fleetsim/fleet_model.h"
#include "services/fleetsim/testing/nodes.h"

namespace muster::fleetsim {

inline constexpr char kHistory[] = "history";

// Plays the server for one FleetModel, in virtual time.
class World {
 public:
  explicit World(const FleetOptions& options)
      : options_(options), model_(std::make_unique<FleetModel>(options)) {}

  lifecycle::v1::Node& Add(const lifecycle::v1::Node& node) { return nodes_[node.name()] = node; }
  void Show(const lifecycle::v1::Node& node) { model_->Observe(node, now_); }
  void ShowAll() {
    for (const auto& [name, node] : nodes_) Show(node);
  }

  // Lets everything happen that is due within `duration`.
  void Run(absl::Duration duration) {
    const absl::Time end = now_ + duration;
    while (model_->NextDue().value_or(absl::InfiniteFuture()) <= end) {
      now_ = std::max(now_, *model_->NextDue());
      for (const FleetModel::Due& due : model_->TakeDue(now_, 100)) Deliver(due);
    }
    now_ = end;
  }

  // fleetsim dies; a new one sees the Nodes as they are.
  void Restart() {
    model_ = std::make_unique<FleetModel>(options_);
    model_->BeginSnapshot();
    ShowAll();
    model_->EndSnapshot(now_, kHistory);
  }

  FleetModel& model() { return *model_; }
  std::map<std::string, lifecycle::v1::Node>& nodes() { return nodes_; }
  lifecycle::v1::Node& node() { return nodes_.begin()->second; }
  absl::Time now() const { return now_; }
  // What was reported of each Node and when, since the start.
  const std::map<std::string, std::vector<std::string>>& log() const { return log_; }

 private:
  void Deliver(const FleetModel::Due& due) {
    lifecycle::v1::Node& node = nodes_[due.node];
    for (const lifecycle::v1::NodeReport& report : due.reports) {
      EXPECT_EQ(report.node_create_time().seconds(), node.create_time().seconds());
      EXPECT_EQ(ApplyReport(node, report, now_), google::rpc::OK) << report.ShortDebugString();
      log_[node.machine()].push_back(
          absl::StrCat(lifecycle::v1::NodeReport::Observation_Name(report.observation()).substr(12),
                       "@", absl::ToInt64Milliseconds(now_ - kStart)));
    }
    model().Answered(due, FleetModel::Outcome::kAccepted, now_);
    Show(node);
  }

  const FleetOptions options_;
  std::unique_ptr<FleetModel> model_;
  std::map<std::string, lifecycle::v1::Node> nodes_;
  std::map<std::string, std::vector<std::string>> log_;
  absl::Time now_ = kStart;
};

// Times without spread.
inline FleetOptions Exact() {
  return {.boot_time = absl::Seconds(3),
          .ready_time = absl::Seconds(1),
          .drain_time = absl::Seconds(5),
          .terminate_time = absl::Seconds(2),
          .spread = 0};
}

}  // namespace muster::fleetsim
