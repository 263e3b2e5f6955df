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

// By the verb that a method's name begins with: what is none of the verbs of reads is a mutation.
// `method`: `/package.Service/Method`.
CallKind KindOf(absl::string_view method);

// A mutation is told, done or refused; a read only where something is wrong with it. What is not there,
// and a caller who goes, are ordinary answers to a read. A server's fault is a warning.
log::Level LevelOf(CallKind kind, grpc::StatusCode code);

// Whether a request only tries: its `validate_only` is set.
bool IsOnlyTried(const google::protobuf::Message& request);

// What a request is about: resource names, or pool uids where it has no names.
struct Subjects {
  std::vector<std::string> first = {};  // at most kMaxSubjectsTold
  size_t count = 0;                     // of all
};
Subjects SubjectsOf(const google::protobuf::Message& request);

}  // namespace muster::rpc
