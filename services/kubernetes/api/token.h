#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"

namespace muster::kubernetes {

// Whether the text can be a token in a header; white space around it does not count.
bool IsToken(absl::string_view text);

// Whether the text can be the value of a header as it is: no control characters, and no white space
// around it, which would not arrive. An empty text can.
bool IsHeaderText(absl::string_view text);

// The bearer token of an endpoint. A file is read at every request, which costs microseconds: one
// that was renewed counts at once. Thread-safe.
class TokenSource {
 public:
  // `file` wins over `token`; both empty: there is none.
  TokenSource(absl::string_view token, std::string file);
  // The token as it is now, empty without one. A file that cannot be read right now: the last one
  // read; UNAUTHENTICATED if there never was one.
  absl::StatusOr<std::string> Current();

 private:
  const std::string file_;
  Mutex mutex_;
  std::string token_ MUSTER_GUARDED_BY(mutex_);  // the last one
};

}  // namespace muster::kubernetes
