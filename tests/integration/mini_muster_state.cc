#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <stdexcept>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/mini_muster.h"

// What a MiniMuster's services say of its pool and of their books.
namespace muster::testing {
namespace {

constexpr absl::Duration kAnswerPatience = absl::Seconds(20);
constexpr absl::Duration kSettlePatience = absl::Seconds(90);
// Between two looks.
constexpr std::chrono::milliseconds kRest{50};

absl::Status ToStatus(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

void SetTimeout(grpc::ClientContext& context) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + kAnswerPatience));
}

}  // namespace

bool IsHealthy(const lifecycle::v1::NodePool& pool, int64_t nodes) {
  const std::map<std::string, std::string> wanted = {
      {"Validated", "Valid"},
      {"Capacity", "Sufficient"},
      {"Quota", "Under"},
      {"AtTarget", "TargetMet"},
      {"NodeReconfigurationRequired", "AllNodesUpToDate"},
      {"Ready", "Ready"}};
  size_t met = 0;
  for (const auto& condition : pool.status().conditions()) {
    // Told of a pool that may have all that it wants.
    if (condition.type() == "MaxNodesUnreachable") continue;
    const auto it = wanted.find(condition.type());
    if (it == wanted.end() || it->second != condition.reason() ||
        condition.observed_generation() != pool.generation())
      return false;
    ++met;
  }
  return met == wanted.size() && pool.spec().target_nodes() == nodes &&
         pool.status().current_nodes() == nodes && pool.status().in_progress() == 0 &&
         pool.status().queued_nodes() == 0;
}

absl::StatusOr<lifecycle::v1::NodePool> MiniMuster::GetPool() const {
  grpc::ClientContext context;
  SetTimeout(context);
  lifecycle::v1::GetNodePoolRequest request;
  request.set_name(kPool);
  lifecycle::v1::NodePool pool;
  const auto stub = lifecycle::v1::LifecycleService::NewStub(channel(LifecycleProcess()));
  if (const grpc::Status status = stub->GetNodePool(&context, request, &pool); !status.ok())
    return ToStatus(status);
  return pool;
}

absl::StatusOr<lifecycle::v1::NodePool> MiniMuster::Resize(int64_t nodes) const {
  grpc::ClientContext context;
  SetTimeout(context);
  context.set_wait_for_ready(true);
  lifecycle::v1::ResizeNodePoolRequest request;
  request.set_name(kPool);
  request.set_target_nodes(nodes);
  lifecycle::v1::NodePool pool;
  const auto stub = lifecycle::v1::LifecycleService::NewStub(channel(LifecycleProcess()));
  if (const grpc::Status status = stub->ResizeNodePool(&context, request, &pool); !status.ok())
    return ToStatus(status);
  return pool;
}

std::vector<lifecycle::v1::Event> MiniMuster::Events() const {
  std::vector<lifecycle::v1::Event> events;
  const auto stub = lifecycle::v1::LifecycleService::NewStub(channel(LifecycleProcess()));
  lifecycle::v1::ListEventsRequest request;
  request.set_parent("organizations/acme/clusters/example");
  request.set_page_size(1000);
  do {
    grpc::ClientContext context;
    SetTimeout(context);
    lifecycle::v1::ListEventsResponse response;
    const grpc::Status status = stub->ListEvents(&context, request, &response);
    if (!status.ok()) throw std::runtime_error(status.error_message());
    events.insert(events.end(), response.events().begin(), response.events().end());
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return events;
}

bool MiniMuster::AwaitPool(const std::string& name,
                           const std::function<bool(const lifecycle::v1::NodePool*)>& wanted,
                           absl::Duration patience) const {
  const absl::Time give_up = absl::Now() + patience;
  const auto stub = lifecycle::v1::LifecycleService::NewStub(channel(LifecycleProcess()));
  while (absl::Now() < give_up) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(give_up));
    context.set_wait_for_ready(true);
    lifecycle::v1::WatchLifecycleRequest request;
    request.add_kinds(lifecycle::v1::WatchLifecycleRequest::KIND_NODE_POOL);
    request.set_name_prefix(name);
    const auto stream = stub->WatchLifecycle(&context, request);
    lifecycle::v1::WatchLifecycleResponse message;
    bool there = false;
    while (stream->Read(&message)) {
      if (message.has_node_pool()) {
        there = true;
        if (!wanted(&message.node_pool())) continue;
      } else if (there && message.type() != type::v1::WATCH_EVENT_TYPE_DELETED) {
        continue;
      } else if (!wanted(nullptr)) {
        continue;
      }
      context.TryCancel();
      stream->Finish();
      return true;
    }
    stream->Finish();
    // A server that ends the stream at once, as one that shuts down, is not asked again at once.
    std::this_thread::sleep_for(kRest);
  }
  return false;
}

bool MiniMuster::AwaitSettled(int64_t nodes) const {
  // Status is published before the last machine is given back: the books are closed when capacity
  // and quota agree too.
  const absl::Time give_up = absl::Now() + kSettlePatience;
  if (!Await([&](const auto* pool) { return pool != nullptr && IsHealthy(*pool, nodes); },
             kSettlePatience))
    return false;
  while (absl::Now() < give_up) {
    if (database_->QueryValue(
            "SELECT (SELECT count(*) FROM capacity.machine WHERE claim IS NOT NULL) || ' ' ||"
            " (SELECT count(*) FROM lifecycle.node WHERE state = 'PRODUCTION') || ' ' || (SELECT "
            "coalesce(sum(nodes), 0) FROM "
            "quota.holding)") == absl::StrCat(nodes, " ", nodes, " ", nodes)) {
      return true;
    }
    std::this_thread::sleep_for(kRest);
  }
  return false;
}

std::string MiniMuster::CheckBooks(int64_t nodes) const {
  std::string wrong;
  const auto expect = [&](absl::string_view what, const std::string& sql,
                          const std::string& value) {
    const std::string is = database_->QueryValue(sql);
    if (is != value) absl::StrAppend(&wrong, what, " is ", is, ", not ", value, "\n");
  };
  const std::string count = absl::StrCat(nodes);
  expect("machines held", "SELECT count(*) FROM capacity.machine WHERE state = 'HELD'", count);
  expect("Nodes", "SELECT count(*) FROM lifecycle.node", count);
  expect("the holding", "SELECT coalesce(sum(nodes), 0) FROM quota.holding", count);
  expect("machines without their Node or Nodes without their machine",
         "SELECT count(*) FROM (SELECT id FROM capacity.machine WHERE state = 'HELD') m"
         " FULL JOIN (SELECT machine FROM lifecycle.node) n ON n.machine = m.id WHERE n.machine IS "
         "NULL OR m.id IS NULL",
         "0");
  for (const char* schema : {"capacity", "quota", "lifecycle", "configuration"}) {
    expect(
        absl::StrCat("whether the journal of ", schema, " has no gap"),
        absl::StrCat(
            "SELECT count(*) = coalesce(max(revision), 0) AND coalesce(min(revision), 1) = 1 FROM ",
            schema, ".journal"),
        "t");
  }
  return wrong + CompareStates();
}

std::string MiniMuster::AuditBooks(absl::Duration patience) const {
  const auto stub = debug::v1::DebugService::NewStub(operator_channel(LifecycleProcess()));
  for (const absl::Time give_up = absl::Now() + patience;;) {
    grpc::ClientContext context;
    SetTimeout(context);
    context.set_wait_for_ready(true);
    debug::v1::AuditBooksRequest request;
    request.mutable_settle();  // one snapshot, as it is
    debug::v1::AuditBooksResponse books;
    std::string wrong;
    if (const grpc::Status status = stub->AuditBooks(&context, request, &books); !status.ok())
      wrong = absl::StrCat("AuditBooks: ", status.error_message(), "\n");
    for (const auto& difference : books.differences()) {
      absl::StrAppend(&wrong, difference.kind(), " ", difference.pool_uid(), " ",
                      difference.node_pool(), " ", difference.subject(), ": ", difference.message(),
                      "\n");
    }
    if (wrong.empty() || absl::Now() > give_up) return wrong;
    std::this_thread::sleep_for(kRest);
  }
}

std::string MiniMuster::CompareStates() const {
  std::string wrong;
  for (size_t process = 0; process < musterds_.size(); ++process) {
    grpc::ClientContext context;
    SetTimeout(context);
    context.set_wait_for_ready(true);
    debug::v1::CompareStateResponse response;
    const grpc::Status status = debug::v1::DebugService::NewStub(operator_channel(process))
                                    ->CompareState(&context, {}, &response);
    if (!status.ok()) absl::StrAppend(&wrong, "CompareState: ", status.error_message(), "\n");
    for (const auto& comparison : response.comparisons()) {
      if (!comparison.whole_journal())
        absl::StrAppend(&wrong, comparison.service(), ": the journal was not compared whole\n");
      for (const std::string& difference : comparison.differences()) {
        absl::StrAppend(&wrong, comparison.service(), ": ", difference, "\n");
      }
    }
  }
  return wrong;
}

}  // namespace muster::testing
