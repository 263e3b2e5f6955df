#include "services/rpc/stream_registry.h"

#include <utility>
#include <vector>

namespace muster::rpc {

std::optional<absl::Status> StreamRegistry::Add(const std::shared_ptr<OpenStream>& stream) {
  MutexLock lock(mutex_);
  if (!ended_) streams_[stream.get()] = stream;
  return ended_;
}

void StreamRegistry::Remove(const OpenStream* stream) {
  MutexLock lock(mutex_);
  streams_.erase(stream);
}

void StreamRegistry::EndAll(const absl::Status& status) {
  absl::flat_hash_map<const OpenStream*, std::weak_ptr<OpenStream>> streams;
  {
    MutexLock lock(mutex_);
    ended_ = status;
    streams = std::exchange(streams_, {});
  }
  for (const auto& [key, weak] : streams) {
    if (const auto stream = weak.lock()) stream->End(status);
  }
}

void StreamRegistry::EndThoseOf(const std::function<bool(const access::Caller&)>& such,
                                const absl::Status& status) {
  std::vector<std::shared_ptr<OpenStream>> streams;
  {
    MutexLock lock(mutex_);
    for (const auto& [key, weak] : streams_) {
      if (auto stream = weak.lock()) streams.push_back(std::move(stream));
    }
  }
  for (const auto& stream : streams) {
    const access::Caller* caller = stream->caller();
    if (caller != nullptr && such(*caller)) stream->End(status);
  }
}

size_t StreamRegistry::size() const {
  MutexLock lock(mutex_);
  return streams_.size();
}

}  // namespace muster::rpc
