#include "services/musterctl/commands/editing.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/objects.h"

namespace muster::musterctl {
namespace {

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

// Whether the server sent what this program does not know.
bool HasUnknownFields(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& in = *message.GetReflection();
  if (!in.GetUnknownFields(message).empty()) return true;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  in.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated() && HasUnknownFields(in.GetMessage(message, field))) return true;
    for (int i = 0; field->is_repeated() && i < in.FieldSize(message, field); ++i)
      if (HasUnknownFields(in.GetRepeatedMessage(message, field, i))) return true;
  }
  return false;
}

// All of it is sent back: what is not known here would be lost.
absl::Status CheckKnown(const Item& item) {
  const auto* pool = std::get_if<lifecycle::v1::NodePool>(&item);
  const bool unknown = pool != nullptr
                           ? HasUnknownFields(pool->spec())
                           : std::visit([](const auto& it) { return HasUnknownFields(it); }, item);
  if (!unknown) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(KindWord(KindOf(item)), " ", IdOf(item),
                   " has fields that this musterctl does not know and would clear; take one as new "
                   "as the server."));
}

}  // namespace

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

absl::Span<const Kind> WrittenKinds() {
  static constexpr Kind kKinds[] = {Kind::kNodePool, Kind::kCluster,      Kind::kQuota,
                                    Kind::kZone,     Kind::kInstanceType, Kind::kMachine};
  return kKinds;
}

nlohmann::json OwnersPart(const Item& item) {
  nlohmann::json object = ToObject(item);
  object.erase("status");
  for (const char* set_by_server :
       {"uid", "generation", "resourceVersion", "creationTimestamp", "deletionTimestamp"})
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

absl::StatusOr<Applied> SendChanged(Session& session, Manifest manifest, const Item& item) {
  RETURN_IF_ERROR(CheckKnown(item));
  const bool dry_run = session.line.Has("dry-run");
  std::string etag = EtagOf(item);
  const nlohmann::json read = OwnersPart(item);
  for (int tries = 0;; ++tries) {
    SetEtag(etag, manifest.resource);
    absl::StatusOr<Applied> applied = session.api.Apply(manifest.resource, dry_run);
    if (!absl::IsAborted(applied.status()) || tries == kTries) return applied;
    ASSIGN_OR_RETURN(const Item now, session.api.Get(KindOf(item), NameOf(item)));
    // The first answer may have been lost.
    const std::optional<Item> sent = ItemOf(manifest.resource);
    if (sent && OwnersPart(now)["spec"] == OwnersPart(*sent)["spec"])
      return Applied{.outcome = Outcome::kConfigured};
    if (OwnersPart(now) != read) return applied;
    etag = EtagOf(now);
  }
}

}  // namespace muster::musterctl
