#pragma once

#include <grpcpp/grpcpp.h>
#include <muster/type/v1/watch.pb.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/rpc/client/bundle.h"
#include "services/rpc/status.h"
#include "tests/linearizability/watch_bytes.h"
#include "tests/linearizability/watch_check.h"

namespace muster::linearizability {

// How a watcher watches.
struct WatchPlan {
  std::string name = {};  // for people
  WatchFilter filter = {};
  bool bundle = false;
  bool from_snapshot = true;  // at first; false: from revision 0
};

// Begins a stream at a replica.
template <class Response>
using OpenWatch = std::function<std::unique_ptr<grpc::ClientReader<Response>>(
    grpc::ClientContext*, size_t replica, const type::v1::WatchStart&)>;

// One watcher. It leaves its streams at random moments and comes back to one replica or the other:
// where it left, some revisions before, or with a new snapshot.
template <class Response>
class WatchClient {
 public:
  WatchClient(WatchPlan plan, unsigned seed, OpenWatch<Response> open)
      : plan_(std::move(plan)), random_(seed), open_(std::move(open)) {}

  // Watches until it has reached revision `end`, which is kNotYet while there is more to come.
  Watched Run(const std::atomic<int64_t>& end) {
    Watched watched{plan_.name, plan_.filter};
    int last_streams = 0;
    while (have_.value_or(-1) < end && last_streams < kMostLastStreams) {
      last_streams += end == kNotYet ? 0 : 1;
      watched.sessions.push_back(Stream(end));
    }
    return watched;
  }

  static constexpr int64_t kNotYet = std::numeric_limits<int64_t>::max();

 private:
  static constexpr int kMostLastStreams = 10;
  static constexpr int kReplicas = 2;

  int Pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  // Where the next stream begins; nullopt: with a snapshot.
  std::optional<int64_t> Where(bool last) {
    if (lost_) return std::nullopt;
    if (!have_.has_value()) return plan_.from_snapshot ? std::nullopt : std::optional<int64_t>(0);
    const int percent = last ? 99 : Pick(0, 99);
    if (percent < 15) return std::nullopt;
    if (percent < 50) return std::max<int64_t>(0, *have_ - Pick(1, 60));
    return have_;
  }

  WatchSession Stream(const std::atomic<int64_t>& end) {
    const bool last = end != kNotYet;
    const size_t most = last ? kNotYet : static_cast<size_t>(Pick(1, 100));
    WatchSession session{.after = Where(last)};
    type::v1::WatchStart start;
    if (session.after.has_value()) {
      start.set_after_revision(*session.after);
      start.set_incarnation(incarnation_);
    }
    start.set_bundle(plan_.bundle);
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    const absl::Duration patience =
        last ? absl::Seconds(5) : absl::Milliseconds(Pick(1, 20) * Pick(1, 20));
    context.set_deadline(absl::ToChronoTime(absl::Now() + patience));
    const auto reader = open_(&context, static_cast<size_t>(Pick(0, kReplicas - 1)), start);
    Response response;
    bool open = true;
    for (size_t steps = 0; open && steps < most && have_.value_or(-1) < end;) {
      open = reader->Read(&response);
      if (!open) break;
      rpc::ForEachMessage(response, [&](const Response& message) {
        session.messages.push_back(ToMessage(message));
        if (!message.incarnation().empty()) incarnation_ = message.incarnation();
        steps += Take(session.messages.back()) ? 1 : 0;
      });
    }
    if (open) context.TryCancel();
    session.end = EndOf(reader->Finish());
    lost_ = session.end == absl::StatusCode::kOutOfRange;
    return session;
  }

  // Whether the message moves it on.
  bool Take(const WatchMessage& message) {
    if (message.type == WatchMessage::Type::kSnapshot) return false;
    if (message.type == WatchMessage::Type::kSnapshotEnd) {
      have_ = message.revision;
    } else {
      have_ = std::max(have_.value_or(0), message.revision);
    }
    return true;
  }

  static WatchMessage ToMessage(const Response& response) {
    WatchMessage message{.revision = response.revision(), .key = response.key()};
    if (response.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT)
      message.type = WatchMessage::Type::kSnapshot;
    if (response.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END)
      message.type = WatchMessage::Type::kSnapshotEnd;
    if (response.type() == type::v1::WATCH_EVENT_TYPE_CHANGED)
      message.type = WatchMessage::Type::kChanged;
    if (response.type() == type::v1::WATCH_EVENT_TYPE_DELETED)
      message.type = WatchMessage::Type::kDeleted;
    if (const auto* resource = ResourceOf(response)) message.bytes = BytesOf(*resource);
    return message;
  }

  // What bears no details of ours comes from the connection.
  static absl::StatusCode EndOf(const grpc::Status& status) {
    if (status.ok()) return absl::StatusCode::kOk;
    const absl::StatusCode code = rpc::FromGrpcStatus(status).code();
    const bool connection = status.error_details().empty() && code == absl::StatusCode::kUnknown;
    return connection ? absl::StatusCode::kUnavailable : code;
  }

  const WatchPlan plan_;
  std::mt19937 random_;
  const OpenWatch<Response> open_;
  std::optional<int64_t> have_;  // it has seen everything up to this revision
  bool lost_ = false;            // the journal no longer reaches back
  std::string incarnation_;      // of the history, as it was told last
};

// Watchers beside a history's clients, a thread each.
class Watchers {
 public:
  explicit Watchers(unsigned seed) : seed_(seed) {}
  ~Watchers() {
    End([](const WatchFilter&) { return 0; });
  }
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  template <class Response>
  void Add(const WatchPlan& plan, OpenWatch<Response> open) {
    ones_.push_back(std::make_unique<One>());
    One* one = ones_.back().get();
    one->filter = plan.filter;
    one->thread = std::thread(
        [one, client = WatchClient<Response>(plan, ++seed_, std::move(open))]() mutable {
          one->watched = client.Run(one->end);
        });
  }

  // The history is over: each watcher goes on until it has reached the revision `end(filter)`.
  // Returns what they saw.
  std::vector<Watched> End(const std::function<int64_t(const WatchFilter&)>& end) {
    for (const auto& one : ones_) one->end = end(one->filter);
    std::vector<Watched> all;
    for (const auto& one : ones_) {
      one->thread.join();
      all.push_back(std::move(one->watched));
    }
    ones_.clear();
    return all;
  }

 private:
  struct One {
    WatchFilter filter = {};
    std::atomic<int64_t> end = std::numeric_limits<int64_t>::max();
    Watched watched = {};
    std::thread thread = {};
  };

  unsigned seed_;
  std::vector<std::unique_ptr<One>> ones_;
};

}  // namespace muster::linearizability
