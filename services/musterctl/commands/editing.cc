#include "services/musterctl/commands/editing.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/history/field_changes.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/objects.h"

namespace muster::musterctl {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using lifecycle::v1::NodePool;
using lifecycle::v1::NodePoolSpec;

constexpr int kTries = 10;

std::string EtagOf(const Item& item) {
  return std::visit(
      [](const auto& message) -> std::string {
        if constexpr (requires { message.etag(); }) return message.etag();
        return "";
      },
      item);
}

void SetEtag(const std::string& etag, Resource& resource) {
  std::visit(
      [&](auto& message) {
        if constexpr (requires { message.set_etag(etag); }) message.set_etag(etag);
      },
      resource);
}

bool HasUnknownFields(const Message& message);

bool HasUnknownFields(const Message& message, const FieldDescriptor& field) {
  if (field.message_type() == nullptr) return false;
  const google::protobuf::Reflection& in = *message.GetReflection();
  if (!field.is_repeated()) return HasUnknownFields(in.GetMessage(message, &field));
  for (int i = 0; i < in.FieldSize(message, &field); ++i)
    if (HasUnknownFields(in.GetRepeatedMessage(message, &field, i))) return true;
  return false;
}

// Whether the message has fields that this program does not know.
bool HasUnknownFields(const Message& message) {
  const google::protobuf::Reflection& in = *message.GetReflection();
  if (!in.GetUnknownFields(message).empty()) return true;
  std::vector<const FieldDescriptor*> fields;
  in.ListFields(message, &fields);
  return absl::c_any_of(fields,
                        [&](const auto* field) { return HasUnknownFields(message, *field); });
}

// Refuses to send a resource back as a whole if it has fields that are unknown here: they would be
// lost.
absl::Status CheckKnown(bool unknown, const Item& item) {
  if (!unknown) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(KindWord(KindOf(item)), " ", IdOf(item),
                   " has fields that this musterctl does not know and would clear; take one as new "
                   "as the server."));
}

// The paths of the spec's fields that differ, for UpdateNodePool: a change within a list or map
// writes the whole field.
std::vector<std::string> ChangedPaths(const NodePoolSpec& before, const NodePoolSpec& after) {
  std::set<std::string> paths;
  for (const history::FieldChange& change : history::FieldChangesOf(before, after)) {
    const bool in_list = absl::StrContains(change.path, "[");
    paths.insert(absl::StrCat(
        "spec.", in_list ? change.path.substr(0, change.path.find_first_of(".[")) : change.path));
  }
  return {paths.begin(), paths.end()};
}

// Whether a path of the one list is the same as, above or below a path of the other.
bool Overlap(const std::vector<std::string>& paths, const std::vector<std::string>& others) {
  const auto is_below = [](const std::string& path, const std::string& whole) {
    return absl::StartsWith(absl::StrCat(path, "."), absl::StrCat(whole, "."));
  };
  return absl::c_any_of(paths, [&](const std::string& path) {
    return absl::c_any_of(others, [&](const std::string& other) {
      return is_below(path, other) || is_below(other, path);
    });
  });
}

// Whether a field that is sent as a whole has unknown fields in it. A path to a part of a field
// (`spec.prefill.enabled`) has none.
bool HasUnknownParts(const NodePoolSpec& spec, const std::vector<std::string>& paths) {
  return absl::c_any_of(paths, [&](absl::string_view path) {
    absl::ConsumePrefix(&path, "spec.");
    const auto* field = spec.GetDescriptor()->FindFieldByName(std::string(path));
    return field != nullptr && HasUnknownFields(spec, *field);
  });
}

absl::StatusOr<Applied> SendWhole(Session& session, Resource resource, const Item& item) {
  std::string etag = EtagOf(item);
  const nlohmann::json read = OwnersPart(item);
  for (int tries = 0;; ++tries) {
    SetEtag(etag, resource);
    if (etag.empty()) {
      // Without an etag the server overwrites whatever is there: look at least once more that it is
      // as it was read.
      ASSIGN_OR_RETURN(const Item now, session.api.Get(KindOf(item), NameOf(item)));
      if (OwnersPart(now) != read)
        return absl::AbortedError(absl::StrCat(NameOf(item), " was changed meanwhile"));
    }
    absl::StatusOr<Applied> applied = session.api.Apply(resource, ModeOf(session.line));
    if (!absl::IsAborted(applied.status()) || tries == kTries) return applied;
    ASSIGN_OR_RETURN(const Item now, session.api.Get(KindOf(item), NameOf(item)));
    // ABORTED may mean that our own change was made, and its answer lost.
    const std::optional<Item> sent = ItemOf(resource);
    if (sent && OwnersPart(now)["spec"] == OwnersPart(*sent)["spec"])
      return Applied{.outcome = Outcome::kConfigured};
    if (OwnersPart(now) != read) return applied;
    etag = EtagOf(now);
  }
}

absl::StatusOr<Applied> SendFields(Session& session, NodePool changed, NodePool read,
                                   const std::vector<std::string>& paths, Conflict conflict) {
  for (int tries = 0;; ++tries) {
    changed.set_etag(read.etag());
    changed.set_generation(read.generation());
    const absl::StatusOr<Applied> applied =
        session.api.UpdateNodePool(changed, paths, ModeOf(session.line));
    if (!absl::IsAborted(applied.status()) || tries == kTries) return applied;
    ASSIGN_OR_RETURN(const Item item, session.api.Get(Kind::kNodePool, read.name()));
    const auto& now = std::get<NodePool>(item);
    if (now.uid() != read.uid()) return applied;  // another one of that name
    const std::vector<std::string> others = ChangedPaths(read.spec(), now.spec());
    if (conflict == Conflict::kAny ? !others.empty() : Overlap(paths, others)) return applied;
    read = now;
  }
}

absl::StatusOr<Applied> SendPool(Session& session, const NodePool& changed, const Item& item,
                                 Conflict conflict) {
  const auto& read = std::get<NodePool>(item);
  // Compare with what was shown, which has the defaults of fields that are not set.
  ASSIGN_OR_RETURN(const Manifest shown, ReadChanged(OwnersPart(item), item, NameOf(item)));
  const std::vector<std::string> paths =
      ChangedPaths(std::get<NodePool>(shown.resource).spec(), changed.spec());
  if (paths.empty()) return Applied{};
  RETURN_IF_ERROR(CheckKnown(HasUnknownParts(read.spec(), paths), item));
  absl::StatusOr<Applied> applied = SendFields(session, changed, read, paths, conflict);
  if (!absl::IsUnimplemented(applied.status())) return applied;
  // An older server, which has no UpdateNodePool.
  RETURN_IF_ERROR(CheckKnown(HasUnknownFields(read.spec()), item));
  return SendWhole(session, changed, item);
}

}  // namespace

WriteMode ModeOf(const CommandLine& line) {
  return {.dry_run = line.Has("dry-run"), .must_fit = line.Has("must-fit")};
}

Scope ScopeOf(const Item& item) {
  const std::vector<std::string> parts = absl::StrSplit(NameOf(item), '/');
  Scope scope;
  if (parts.size() > 1 && parts[0] == "organizations") scope.organization = parts[1];
  if (parts.size() > 3 && parts[2] == "clusters") scope.cluster = parts[3];
  return scope;
}

std::string ResourceName(const Resource& resource) {
  const std::optional<Item> item = ItemOf(resource);
  return item ? NameOf(*item) : "";
}

std::optional<Item> ItemOf(const Resource& resource) {
  return std::visit(
      [](const auto& message) -> std::optional<Item> {
        if constexpr (std::is_constructible_v<Item, decltype(message)>) return Item(message);
        return std::nullopt;
      },
      resource);
}

std::string OutcomeWord(Outcome outcome, bool dry_run) {
  const std::string would = dry_run ? "would be " : "";
  switch (outcome) {
    case Outcome::kCreated:
      return would + "created";
    case Outcome::kConfigured:
      return would + "configured";
    case Outcome::kUnchanged:
      return would + "unchanged";
  }
  return "";
}

absl::Span<const Kind> WrittenKinds() {
  static constexpr Kind kKinds[] = {Kind::kNodePool, Kind::kCluster,      Kind::kQuota,
                                    Kind::kZone,     Kind::kInstanceType, Kind::kMachine};
  return kKinds;
}

nlohmann::json OwnersPart(const Item& item) {
  nlohmann::json object = ToObject(item);
  object.erase("status");
  for (const char* set_by_server :
       {"uid", "generation", "resourceVersion", "creationTimestamp", "deletionTimestamp", "cell"})
    object["metadata"].erase(set_by_server);
  return object;
}

absl::StatusOr<Manifest> ReadChanged(const nlohmann::json& changed, const Item& item,
                                     const std::string& file) {
  ASSIGN_OR_RETURN(std::vector<Manifest> manifests,
                   ParseManifests(file, changed.dump(2), ScopeOf(item)));
  if (manifests.size() != 1 || ResourceName(manifests[0].resource) != NameOf(item)) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": must still be ", KindWord(KindOf(item)),
                                                   " ", IdOf(item),
                                                   ": what its name is made of cannot be changed"));
  }
  return std::move(manifests[0]);
}

absl::StatusOr<Applied> SendChanged(Session& session, Manifest manifest, const Item& item,
                                    Conflict conflict) {
  if (const auto* pool = std::get_if<NodePool>(&manifest.resource))
    return SendPool(session, *pool, item, conflict);
  RETURN_IF_ERROR(
      CheckKnown(std::visit([](const auto& it) { return HasUnknownFields(it); }, item), item));
  return SendWhole(session, std::move(manifest.resource), item);
}

}  // namespace muster::musterctl
