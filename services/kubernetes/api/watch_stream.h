#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/kubernetes/api/client_options.h"

namespace muster::kubernetes {

struct WatchEvent {
  std::string type = {};  // `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`
  Json object = {};
};

// The longest event that is read. etcd keeps no object of more than 1.5 MiB; JSON's escapes add to
// it.
inline constexpr size_t kMaxEventBytes = size_t{16} << 20;

// Puts a watch's events together from the bytes as they come: one JSON object a line, split
// anywhere. Not thread-safe.
class WatchStream {
 public:
  void Append(absl::string_view bytes) { buffer_.append(bytes.data(), bytes.size()); }
  // The next whole event; nullopt until there is one. UNKNOWN for what is no event, or is longer
  // than kMaxEventBytes: nothing after it can be trusted.
  std::optional<absl::StatusOr<WatchEvent>> Next();
  // Whether the bytes so far end with a whole event.
  bool whole() const;

 private:
  std::string buffer_;
  size_t begin_ = 0;    // of what was not handed out
  size_t scanned_ = 0;  // no line ends before it
};

}  // namespace muster::kubernetes
