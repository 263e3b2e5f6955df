#include "storage/postgres/commit_authors.h"

#include <algorithm>

namespace muster::storage {
namespace {

// As callers of their own services are named (access::kSelf).
const std::string& kItself = *new std::string("self");

using Indices = absl::flat_hash_map<std::string, int32_t>;

int32_t IndexOf(const std::string& name, Indices& known,
                google::protobuf::RepeatedPtrField<std::string>& names) {
  const auto [it, is_new] = known.try_emplace(name, names.size());
  if (is_new) *names.Add() = name;
  return it->second;
}

std::string At(const google::protobuf::RepeatedPtrField<std::string>& names, int32_t index) {
  return index >= 0 && index < names.size() ? names[index] : "";
}

}  // namespace

void CommitAuthors::Add(int64_t last_revision, const Author& author, const TraceContext& trace) {
  type::v1::ChangeAuthors::Command& command = *message_.add_commands();
  command.set_last_revision(last_revision);
  const std::string& name = author.principal.empty() ? kItself : author.principal;
  command.set_principal(IndexOf(name, principals_, *message_.mutable_principals()));
  command.set_method(IndexOf(author.method, methods_, *message_.mutable_methods()));
  command.set_request_id(author.request_id);
  if (trace.valid()) command.set_trace_id(trace.TraceId());
  command.set_reason(author.reason);
}

Author CommitAuthors::Find(absl::string_view encoded, int64_t revision) {
  type::v1::ChangeAuthors message;
  if (!message.ParseFromArray(encoded.data(), static_cast<int>(encoded.size()))) return {};
  const auto& commands = message.commands();
  const auto command = std::lower_bound(
      commands.begin(), commands.end(), revision,
      [](const auto& candidate, int64_t sought) { return candidate.last_revision() < sought; });
  if (command == commands.end()) return {};
  return {.principal = At(message.principals(), command->principal()),
          .method = At(message.methods(), command->method()),
          .request_id = command->request_id(),
          .reason = command->reason(),
          .trace_id = command->trace_id()};
}

}  // namespace muster::storage
