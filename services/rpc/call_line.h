#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/common/log.h"

// What the log line of a call says, and at which level. Pure.
namespace muster::rpc {

enum class CallKind { kRead, kMutation };

// Judged by the verb that the method's name begins with: any that is not a read's is a mutation's.
// `method`: `/package.Service/Method`.
CallKind KindOf(absl::string_view method);

// A mutation is always told, done or refused; a read only if something went wrong. That a resource
// is not there, or that the caller has gone, is an ordinary end of a read. A fault of the server is
// a warning.
log::Level LevelOf(CallKind kind, grpc::StatusCode code);

// Whether a request is only tried: its `validate_only` is set.
bool IsOnlyTried(const google::protobuf::Message& request);

// What a request is about: resource names, or pool uids where it has no names.
struct Subjects {
  std::vector<std::string> first = {};  // at most kMaxSubjectsTold
  size_t count = 0;                     // of all
};
Subjects SubjectsOf(const google::protobuf::Message& request);

}  // namespace muster::rpc
