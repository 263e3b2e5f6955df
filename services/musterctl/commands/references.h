#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "services/musterctl/client/api_types.h"
#include "services/musterctl/manifest/resources.h"

// How a command line names resources, as kubectl's users do: `KIND NAME...`, `KIND,KIND`,
// `KIND/NAME...`, and whole resource names. Pure.
namespace muster::musterctl {

// What the arguments ask for. Without `named`: all resources of the kinds.
struct Asked {
  std::vector<Kind> kinds = {};        // in the order of the line; with `named` each once
  std::vector<ResourceId> named = {};  // in the order of the line
};
// Wrong use: there are no arguments, a word is no kind, or KIND/NAME and KIND NAME are mixed.
absl::StatusOr<Asked> ReadAsked(const std::string& command, absl::Span<const std::string> words);

// Reads one or more resources, each of one of `kinds`. Wrong use, with the text `usage`: there is
// none, or one of another kind.
absl::StatusOr<std::vector<ResourceId>> ReadNamed(absl::Span<const std::string> words,
                                                  absl::Span<const Kind> kinds,
                                                  const std::string& usage);
// Exactly one.
absl::StatusOr<ResourceId> ReadOne(absl::Span<const std::string> words,
                                   absl::Span<const Kind> kinds, const std::string& usage);

// Splits `POOL/MACHINE`, or a Node's whole name, into the pool (id or whole name) and the machine.
// Wrong use, with `usage`: it is neither.
struct NodeName {
  std::string pool = {};
  std::string machine = {};
};
absl::StatusOr<NodeName> SplitNodeName(const std::string& id, const std::string& usage);

// The label of a resource in output: `nodepool/train`, `node/train/g1`.
std::string Label(const ResourceId& id);
// The resource as the next command has to say it: with its whole name where that was said.
std::string WordsFor(const ResourceId& id);
// The label of the resource of that whole name, as every command takes it: KIND/ID in the scope,
// KIND/NAME with the whole name elsewhere.
std::string Label(Kind kind, const std::string& name, const Scope& scope);
std::string Label(const Item& item, const Scope& scope);
// Whether the name is of a resource in the scope, or of one that belongs to no organization.
bool IsInScope(Kind kind, const std::string& name, const Scope& scope);

// "; did you mean X?" with the word that differs least from `said`, or nothing if none is close.
std::string DidYouMean(absl::string_view said, absl::Span<const std::string> words);

// Wrong use: there is no such kind.
absl::Status UnknownKind(absl::string_view word);

}  // namespace muster::musterctl
