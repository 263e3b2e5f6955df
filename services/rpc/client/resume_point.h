#pragma once

#include <muster/type/v1/watch.pb.h>

#include <cstdint>
#include <optional>
#include <string>

#include "services/rpc/client/bundle.h"

namespace muster::rpc {

// Where the client of a watch goes on when the stream breaks. Not thread-safe.
class ResumePoint {
 public:
  // Takes in a message of the stream, with its bundle.
  template <class Response>
  void Take(const Response& message) {
    ForEachMessage(message, [this](const Response& one) { TakeOne(one); });
  }
  // To be called when the server no longer knows it (OUT_OF_RANGE): the next stream begins with a
  // snapshot.
  void Forget() { *this = ResumePoint(); }
  // Whether there is nothing to go on from.
  bool empty() const { return !revision_.has_value(); }
  void WriteTo(type::v1::WatchStart& start) const {
    if (empty()) return;
    start.set_after_revision(*revision_);
    start.set_incarnation(incarnation_);
    start.set_view(view_);
  }

 private:
  template <class Response>
  void TakeOne(const Response& message) {
    // A snapshot that was cut short cannot be resumed: only its end has a revision to go on from.
    if (message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT) return;
    revision_ = message.revision();
    if (!message.incarnation().empty()) incarnation_ = message.incarnation();
    if (!message.view().empty()) view_ = message.view();
  }

  std::optional<int64_t> revision_;
  std::string incarnation_;
  std::string view_;
};

}  // namespace muster::rpc
