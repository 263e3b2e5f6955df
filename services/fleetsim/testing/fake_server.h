#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "muster/capacity/v1/capacity_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/mutex.h"
#include "services/fleetsim/testing/nodes.h"

namespace muster::fleetsim {

// A lifecycle with a journal, and capacity's registration, over real gRPC. It can be told to
// misbehave.
class FakeServer final : public lifecycle::v1::LifecycleService::Service,
                         public capacity::v1::CapacityService::Service {
 public:
  FakeServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<lifecycle::v1::LifecycleService::Service*>(this));
    builder.RegisterService(static_cast<capacity::v1::CapacityService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~FakeServer() override {
    {
      MutexLock lock(mutex_);
      closing_ = true;
    }
    changed_.SignalAll();
    server_->Shutdown();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // The changed Node gets the next revision.
  void Put(const lifecycle::v1::Node& node) {
    MutexLock lock(mutex_);
    PutLocked(node);
  }
  void Delete(const std::string& name) {
    MutexLock lock(mutex_);
    nodes_.erase(name);
    journal_.push_back({name, std::nullopt});
    changed_.SignalAll();
  }

  void Publish(const capacity::v1::InstanceType& type) {
    MutexLock lock(mutex_);
    types_.push_back(type);
  }
  // Blocks until all types were read so many times.
  void WaitForTypesRead(int times) {
    MutexLock lock(mutex_);
    while (types_read_ < times) changed_.Wait(mutex_);
  }

  // Each watch is cut after this many messages; 0: never.
  void CutWatchesAfter(int messages) {
    MutexLock lock(mutex_);
    cut_after_ = messages;
  }
  // Watches from a revision are refused so many times with OUT_OF_RANGE.
  void Compact(int times) {
    MutexLock lock(mutex_);
    compacted_ = times;
  }
  void SendTwice() {
    MutexLock lock(mutex_);
    twice_ = true;
  }
  // The next calls of ReportNodes fail: `before` of them before they do anything, then `after` of
  // them once they have done it.
  void FailReports(int before, int after) {
    MutexLock lock(mutex_);
    fail_before_ = before;
    fail_after_ = after;
  }
  // Calls with a report of that Node, or with that machine, are taken for malformed.
  void TakeForMalformed(const std::string& name) {
    MutexLock lock(mutex_);
    malformed_ = name;
  }
  void FailRegistrations(int times) {
    MutexLock lock(mutex_);
    fail_registrations_ = times;
  }

  // Blocks until there are just so many Nodes, all in that state; for ever, if that does not come.
  void WaitForAll(lifecycle::v1::Node::State state, size_t nodes) {
    MutexLock lock(mutex_);
    while (!AllIn(state, nodes)) changed_.Wait(mutex_);
  }
  void WaitForMachines(size_t machines) {
    MutexLock lock(mutex_);
    while (machines_.size() < machines) changed_.Wait(mutex_);
  }
  // These block until so many watches were opened; were opened for a snapshot; or reports came.
  void WaitForWatches(int watches) {
    MutexLock lock(mutex_);
    while (watches_ < watches) changed_.Wait(mutex_);
  }
  void WaitForSnapshots(int snapshots) {
    MutexLock lock(mutex_);
    while (snapshots_ < snapshots) changed_.Wait(mutex_);
  }
  void WaitForReports(int reports) {
    MutexLock lock(mutex_);
    while (reports_ < reports) changed_.Wait(mutex_);
  }
  // Calls of ReportNodes wait until LetReportsGo.
  void HoldReports() {
    MutexLock lock(mutex_);
    hold_ = true;
  }
  void WaitForHeldReports(int calls) {
    MutexLock lock(mutex_);
    while (calls_ < calls) changed_.Wait(mutex_);
  }
  void LetReportsGo() {
    MutexLock lock(mutex_);
    hold_ = false;
    changed_.SignalAll();
  }
  int most_calls() const {
    MutexLock lock(mutex_);
    return most_calls_;
  }
  size_t largest_report() const {
    MutexLock lock(mutex_);
    return largest_report_;
  }
  std::vector<lifecycle::v1::Node> nodes() const {
    MutexLock lock(mutex_);
    std::vector<lifecycle::v1::Node> nodes;
    for (const auto& [name, item] : nodes_) nodes.push_back(item.first);
    return nodes;
  }

  grpc::Status WatchLifecycle(
      grpc::ServerContext*, const lifecycle::v1::WatchLifecycleRequest* request,
      grpc::ServerWriter<lifecycle::v1::WatchLifecycleResponse>* writer) override {
    std::vector<lifecycle::v1::WatchLifecycleResponse> out;
    size_t at = 0;
    int sent = 0;
    if (grpc::Status status = Open(*request, out, at); !status.ok()) return status;
    while (true) {
      for (const auto& message : out) {
        if (!writer->Write(message)) return grpc::Status::CANCELLED;
        if (CutAt(++sent)) return {grpc::StatusCode::UNAVAILABLE, "cut"};
      }
      out.clear();
      MutexLock lock(mutex_);
      while (at == journal_.size() && !closing_) changed_.Wait(mutex_);
      if (closing_) return {grpc::StatusCode::UNAVAILABLE, "closing"};
      for (; at < journal_.size(); ++at) {
        out.push_back(Change(at));
        if (twice_) out.push_back(Change(at));
      }
    }
  }

  grpc::Status ReportNodes(grpc::ServerContext*, const lifecycle::v1::ReportNodesRequest* request,
                           lifecycle::v1::ReportNodesResponse* response) override {
    MutexLock lock(mutex_);
    most_calls_ = std::max(most_calls_, ++calls_);
    changed_.SignalAll();
    while (hold_ && !closing_) changed_.Wait(mutex_);
    --calls_;
    largest_report_ = std::max(largest_report_, static_cast<size_t>(request->reports_size()));
    for (const lifecycle::v1::NodeReport& report : request->reports()) {
      if (report.node() == malformed_)
        return {grpc::StatusCode::INVALID_ARGUMENT, "an observation that is not known"};
    }
    if (fail_before_ > 0) {
      --fail_before_;
      return {grpc::StatusCode::UNAVAILABLE, "the database is away"};
    }
    reports_ += request->reports_size();
    for (const auto& report : request->reports()) {
      const auto it = nodes_.find(report.node());
      google::rpc::Code code = google::rpc::NOT_FOUND;
      if (it != nodes_.end()) {
        lifecycle::v1::Node node = it->second.first;
        code = ApplyReport(node, report, absl::Now());
        if (code == google::rpc::OK) PutLocked(node);
      }
      response->add_results()->set_code(code);
    }
    if (fail_after_ > 0) {
      --fail_after_;
      return {grpc::StatusCode::UNAVAILABLE, "the answer is lost"};
    }
    return grpc::Status::OK;
  }

  // Answers with pages of one type each.
  grpc::Status ListInstanceTypes(grpc::ServerContext*,
                                 const capacity::v1::ListInstanceTypesRequest* request,
                                 capacity::v1::ListInstanceTypesResponse* response) override {
    MutexLock lock(mutex_);
    const size_t at = request->page_token().size();
    if (at < types_.size()) *response->add_instance_types() = types_[at];
    if (at + 1 < types_.size()) response->set_next_page_token(std::string(at + 1, '.'));
    if (at + 1 >= types_.size()) ++types_read_;
    changed_.SignalAll();
    return grpc::Status::OK;
  }

  grpc::Status BatchRegisterMachines(grpc::ServerContext*,
                                     const capacity::v1::BatchRegisterMachinesRequest* request,
                                     capacity::v1::BatchRegisterMachinesResponse*) override {
    MutexLock lock(mutex_);
    if (fail_registrations_ > 0) {
      --fail_registrations_;
      return {grpc::StatusCode::FAILED_PRECONDITION, "UNKNOWN_ZONE"};
    }
    for (const auto& machine : request->machines()) {
      if (machine.name() == malformed_)
        return {grpc::StatusCode::INVALID_ARGUMENT, "a slot that is no number"};
    }
    EXPECT_LE(request->machines_size(), 500);
    for (const auto& machine : request->machines()) machines_.insert(machine.name());
    changed_.SignalAll();
    return grpc::Status::OK;
  }

 private:
  struct Entry {
    std::string name = {};
    std::optional<lifecycle::v1::Node> node = {};
  };

  void PutLocked(const lifecycle::v1::Node& node) {
    journal_.push_back({node.name(), node});
    nodes_[node.name()] = {node, static_cast<int64_t>(journal_.size())};
    changed_.SignalAll();
  }
  bool AllIn(lifecycle::v1::Node::State state, size_t nodes) const {
    size_t in_state = 0;
    for (const auto& [name, item] : nodes_) in_state += item.first.state() == state ? 1 : 0;
    return in_state == nodes && nodes_.size() == nodes;
  }
  bool CutAt(int sent) {
    MutexLock lock(mutex_);
    return closing_ || (cut_after_ > 0 && sent >= cut_after_);
  }
  lifecycle::v1::WatchLifecycleResponse Change(size_t at) const {
    lifecycle::v1::WatchLifecycleResponse message;
    message.set_type(journal_[at].node ? type::v1::WATCH_EVENT_TYPE_CHANGED
                                       : type::v1::WATCH_EVENT_TYPE_DELETED);
    message.set_revision(static_cast<int64_t>(at) + 1);
    message.set_key(journal_[at].name);
    if (journal_[at].node) *message.mutable_node() = *journal_[at].node;
    return message;
  }
  // The first messages of a stream, and where in the journal it goes on.
  grpc::Status Open(const lifecycle::v1::WatchLifecycleRequest& request,
                    std::vector<lifecycle::v1::WatchLifecycleResponse>& out, size_t& at) {
    MutexLock lock(mutex_);
    ++watches_;
    changed_.SignalAll();
    if (request.start().has_after_revision()) {
      if (compacted_ > 0) {
        --compacted_;
        return {grpc::StatusCode::OUT_OF_RANGE, "compacted"};
      }
      at = static_cast<size_t>(request.start().after_revision());
      return grpc::Status::OK;
    }
    ++snapshots_;
    for (const auto& [name, item] : nodes_) {
      auto& message = out.emplace_back();
      message.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT);
      message.set_key(name);
      message.set_revision(item.second);
      *message.mutable_node() = item.first;
    }
    at = journal_.size();
    auto& end = out.emplace_back();
    end.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
    end.set_revision(static_cast<int64_t>(at));
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool closing_ = false;
  std::map<std::string, std::pair<lifecycle::v1::Node, int64_t>> nodes_;
  std::vector<Entry> journal_;
  std::set<std::string> machines_;
  std::vector<capacity::v1::InstanceType> types_;
  int types_read_ = 0;
  int cut_after_ = 0;
  int compacted_ = 0;
  bool twice_ = false;
  int fail_before_ = 0;
  std::string malformed_ MUSTER_GUARDED_BY(mutex_);
  int fail_after_ = 0;
  int fail_registrations_ = 0;
  size_t largest_report_ = 0;
  bool hold_ = false;
  int calls_ = 0;  // of ReportNodes, under way
  int most_calls_ = 0;
  int watches_ = 0;
  int snapshots_ = 0;
  int reports_ = 0;
};

}  // namespace muster::fleetsim
