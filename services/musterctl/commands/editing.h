#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/objects.h"

// What edit, patch, apply and diff share: shows a resource as its owner writes it, and sends it
// back changed.
namespace muster::musterctl {

// The resource's object without the fields that the server sets, but with the etag (which `apply`
// ignores).
nlohmann::json OwnersPart(const Item& item);

// Reads a changed object back. It must be the same resource as `item`, and gets its etag, so that
// the server takes it only if the resource is still as it was read. `file`: the name used in
// errors.
absl::StatusOr<Manifest> ReadChanged(const nlohmann::json& changed, const Item& item,
                                     const std::string& file);

// Which changes of others, made meanwhile, are a conflict.
enum class Conflict {
  kAny,        // every change of what the owner writes
  kSameField,  // for a NodePool: only a change of a field that is changed here, too
};

// Sends the change with the etag of `item`; for a NodePool only the changed fields. If others
// changed the resource meanwhile without a conflict, it is sent again with the new etag. ABORTED: a
// conflict.
absl::StatusOr<Applied> SendChanged(Session& session, Manifest manifest, const Item& item,
                                    Conflict conflict);

// The write mode that --dry-run and --must-fit ask for.
WriteMode ModeOf(const CommandLine& line);

// The scope (organization and cluster) that the item is in.
Scope ScopeOf(const Item& item);
// The resource name of what a manifest holds; empty for a MachineSet.
std::string ResourceName(const Resource& resource);
// The same as an Item; nullopt: a MachineSet.
std::optional<Item> ItemOf(const Resource& resource);

// The outcome of a manifest in words: `created`, with `dry_run` `would be created`.
std::string OutcomeWord(Outcome outcome, bool dry_run);

// The kinds that have manifests.
absl::Span<const Kind> WrittenKinds();
// The kinds that `delete` takes, in the order in which it deletes those of files: each before what
// it needs.
absl::Span<const Kind> DeletedKinds();

}  // namespace muster::musterctl
