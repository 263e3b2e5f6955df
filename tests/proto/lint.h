#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <memory>
#include <string>
#include <vector>

namespace muster::proto_lint {

// The files of `set` (made with --include_imports --include_source_info), linked. Null and `error`
// when they do not fit.
std::unique_ptr<google::protobuf::DescriptorPool> Link(
    const google::protobuf::FileDescriptorSet& set, std::string* error);

// The API as it was built, with all that it imports.
struct BuiltApi {
  std::unique_ptr<google::protobuf::DescriptorPool> pool = {};
  std::vector<const google::protobuf::FileDescriptor*> files = {};
};
// Throws when the file at `path` is no such set.
BuiltApi LoadApi(const std::string& path);

// Whether an RPC changes something, by its verb.
bool Changes(const google::protobuf::MethodDescriptor& rpc);

// What is wrong with a file: `file:line: element: rule`. Every element has a comment; buf's
// STANDARD rules, except that an RPC may answer with a resource of its package or with
// google.protobuf.Empty (AIP-131 to 136); what changes something can be tried first, by
// `validate_only` (AIP-163), but for a list of RPCs with their reasons.
std::vector<std::string> Lint(const google::protobuf::FileDescriptor& file);

// Everything that a client of this file relies on, a line each, sorted: fields with number and
// type, enum values, RPCs.
std::vector<std::string> Surface(const google::protobuf::FileDescriptor& file);

// The lines of `golden` that are not in `now`: what was removed, renumbered or retyped.
std::vector<std::string> Broken(const std::vector<std::string>& golden,
                                const std::vector<std::string>& now);

}  // namespace muster::proto_lint
