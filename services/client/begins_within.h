#pragma once

#include <grpcpp/client_context.h>

#include <atomic>
#include <thread>

#include "absl/time/time.h"
#include "services/common/stopper.h"

namespace muster::client {

// Cancels a stream, which has no deadline of its own, unless it begins in time.
class BeginsWithin {
 public:
  BeginsWithin(absl::Duration limit, grpc::ClientContext& context)
      : thread_([this, limit, &context] {
          if (!begun_.Sleep(limit)) return;
          late_ = true;
          context.TryCancel();
        }) {}
  ~BeginsWithin() {
    begun_.Stop();
    thread_.join();
  }
  BeginsWithin(const BeginsWithin&) = delete;
  BeginsWithin& operator=(const BeginsWithin&) = delete;

  void Begun() { begun_.Stop(); }
  bool late() const { return late_; }

 private:
  Stopper begun_;
  std::atomic<bool> late_ = false;
  std::thread thread_;
};

}  // namespace muster::client
