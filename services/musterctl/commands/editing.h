#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/objects.h"

// What edit, patch, apply and diff share: a resource as its owner writes it, and back to the server.
namespace muster::musterctl {

// Its object without what the server sets; with the etag, which `apply` does not read.
nlohmann::json OwnersPart(const Item& item);

// What the object, changed, says for the server: of the same resource, and to be taken only if that is as `item` was.
// `file`: what is named where something is wrong.
absl::StatusOr<Manifest> ReadChanged(const nlohmann::json& changed, const Item& item,
                                     const std::string& file);

// Which changes of others, made meanwhile, are a conflict.
enum class Conflict {
  kAny,        // all of what its owner writes
  kSameField,  // of a NodePool: those of a field that is changed here, too
};

// Sends it under the etag that it was read with: of a NodePool the fields alone that are changed. Where others changed what is no
// conflict it is sent again. ABORTED: a conflict.
absl::StatusOr<Applied> SendChanged(Session& session, Manifest manifest, const Item& item,
                                    Conflict conflict);

// What --dry-run and --must-fit say.
WriteMode ModeOf(const CommandLine& line);

// Where it is: manifests do not say it.
Scope ScopeOf(const Item& item);
// The whole name of what a manifest holds; of a MachineSet none.
std::string ResourceName(const Resource& resource);
// The same as an Item; nullopt: a MachineSet.
std::optional<Item> ItemOf(const Resource& resource);

// What became of a manifest, or would: `created`, `would be configured`.
std::string OutcomeWord(Outcome outcome, bool dry_run);

// The kinds that have manifests.
absl::Span<const Kind> WrittenKinds();
// What `delete` takes, in the order in which those of files go: each before what it needs.
absl::Span<const Kind> DeletedKinds();

}  // namespace muster::musterctl
