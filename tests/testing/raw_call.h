#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace muster::testing {

struct RawCallOptions {
  absl::Duration deadline = absl::Seconds(30);
  // Called with each answer. True: no more are wanted; the call is cancelled, and counts as OK.
  std::function<bool(const std::string& answer)> enough = {};
  // Filled with the trailing metadata of a call that ended by itself; null: not wanted.
  std::multimap<std::string, std::string>* trailer = nullptr;
};

// Sends `bytes`, whatever they are, as the one request of `method` (`/package.Service/Method`),
// reads answers until the call ends, and returns its status. Header only: link gRPC.
inline grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& method, const std::string& bytes,
                            const RawCallOptions& options = {}) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options.deadline));
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const grpc::Slice slice(bytes);
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  bool left = false;
  if (next()) {
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
    next();
    for (grpc::ByteBuffer answer; !left;) {
      call->Read(&answer, nullptr);
      if (!next()) break;
      grpc::Slice text;
      (void)answer.DumpToSingleSlice(&text);
      left = options.enough &&
             options.enough({reinterpret_cast<const char*>(text.begin()), text.size()});
    }
  }
  if (left) context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
  if (options.trailer != nullptr && !left) {
    for (const auto& [key, value] : context.GetServerTrailingMetadata())
      options.trailer->emplace(std::string(key.data(), key.size()),
                               std::string(value.data(), value.size()));
  }
  return left ? grpc::Status::OK : status;
}

}  // namespace muster::testing
