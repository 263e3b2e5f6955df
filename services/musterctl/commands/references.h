#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "services/musterctl/client/api_types.h"
#include "services/musterctl/manifest/resources.h"

// How a command line names resources, as kubectl's users do: `KIND NAME...`, `KIND,KIND`, `KIND/NAME...`, and whole
// resource names. Pure, but for ForEach.
namespace muster::musterctl {

struct Session;

// What the arguments from the first on say. No `named`: all of the kinds.
struct Asked {
  std::vector<Kind> kinds = {};        // as they were said; of `named` each once
  std::vector<ResourceId> named = {};  // in their order
};
// Wrong use where nothing is said, a kind is none, or KIND/NAME and KIND NAME are mixed.
absl::StatusOr<Asked> ReadAsked(const std::string& command, absl::Span<const std::string> words);

// One or more resources of one of the kinds. `usage` is what is said where there are none, or others.
absl::StatusOr<std::vector<ResourceId>> ReadNamed(absl::Span<const std::string> words,
                                                  absl::Span<const Kind> kinds,
                                                  const std::string& usage);
// Exactly one.
absl::StatusOr<ResourceId> ReadOne(absl::Span<const std::string> words,
                                   absl::Span<const Kind> kinds, const std::string& usage);

// `POOL/MACHINE`, or a Node's whole name, as the pool (its id or whole name) and the machine. Wrong use, with `usage`.
struct NodeName {
  std::string pool = {};
  std::string machine = {};
};
absl::StatusOr<NodeName> SplitNodeName(const std::string& id, const std::string& usage);

// `nodepool/train`, `node/train/g1`: what answers say.
std::string Label(const ResourceId& id);
// The same of a resource of that whole name, in the words that every command takes: with that name where it is not in the scope.
std::string Label(Kind kind, const std::string& name, const Scope& scope);
std::string Label(const Item& item, const Scope& scope);
// Whether that is the name of what is where the scope says, or of what is nobody's in particular.
bool IsInScope(Kind kind, const std::string& name, const Scope& scope);

// Does one thing to each, as orders of their own (Api::BeginOrder). An error of one does not keep the others from being done, unless
// no server answers: all errors but the last are printed, the last is returned.
absl::Status ForEach(Session& session, absl::Span<const ResourceId> all,
                     absl::FunctionRef<absl::Status(const ResourceId&)> what);

// "; did you mean X?", or nothing: of the words the one that differs by little.
std::string DidYouMean(absl::string_view said, absl::Span<const std::string> words);

// Wrong use: there is no such kind.
absl::Status UnknownKind(absl::string_view word);

}  // namespace muster::musterctl
