#include "services/access/method_access.h"

#include <google/protobuf/field_mask.pb.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::access {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using type::v1::Access;

constexpr char kUpdateMask[] = "update_mask";

absl::Status Fault(const MethodDescriptor& method, absl::string_view what) {
  return error::InvalidField(method.full_name(), what);
}

std::optional<Verb> VerbOf(Access::Verb verb) {
  if (verb < Access::VERB_READ || verb > Access::VERB_DEBUG) return std::nullopt;
  return kVerbs[verb - Access::VERB_READ];
}

// Calls f(text) for each value of the field that `path` leads to, until one returns false, and
// returns that.
bool ForEachText(const Message& message, absl::Span<const FieldDescriptor* const> path,
                 absl::FunctionRef<bool(const std::string&)> f) {
  const auto* field = path.front();
  const auto& reflection = *message.GetReflection();
  const bool last = path.size() == 1;
  std::string scratch;
  if (field->is_repeated()) {
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      const bool go_on =
          last ? f(reflection.GetRepeatedStringReference(message, field, i, &scratch))
               : ForEachText(reflection.GetRepeatedMessage(message, field, i), path.subspan(1), f);
      if (!go_on) return false;
    }
    return true;
  }
  if (last) return f(reflection.GetStringReference(message, field, &scratch));
  return ForEachText(reflection.GetMessage(message, field), path.subspan(1), f);
}

// The text of the field that `path` leads to; the path goes through no list.
std::string TextOf(const Message& message, absl::Span<const FieldDescriptor* const> path) {
  std::string text;
  ForEachText(message, path, [&](const std::string& found) {
    text = found;
    return true;
  });
  return text;
}

// Whether the field that `path` leads to is set.
bool IsSet(const Message& message, absl::Span<const FieldDescriptor* const> path) {
  const auto& reflection = *message.GetReflection();
  if (path.front()->is_repeated()) return reflection.FieldSize(message, path.front()) > 0;
  if (!reflection.HasField(message, path.front())) return false;
  return path.size() == 1 || IsSet(reflection.GetMessage(message, path.front()), path.subspan(1));
}

}  // namespace

Access::Verb ToProto(Verb verb) {
  return static_cast<Access::Verb>(static_cast<int>(verb) + Access::VERB_READ);
}

Place PlaceOfName(absl::string_view name) { return {.name = std::string(name)}; }

Place NotingState::operator()(absl::string_view name) {
  Place place = place_of_(name);
  by_state_ = by_state_ || place.name != name || caller_.rights->Of(Verb::kRead).has_zones();
  return place;
}

absl::StatusOr<MethodAccess> MethodAccess::Of(const MethodDescriptor& method) {
  if (!method.options().HasExtension(type::v1::access))
    return Fault(method, "has no option muster.type.v1.access: nobody is let in.");
  const Access& option = method.options().GetExtension(type::v1::access);
  MethodAccess access(method);
  access.reach_ = option.reach();
  access.creates_ = option.creates();
  for (const int verb : option.verbs()) {
    const auto known = VerbOf(static_cast<Access::Verb>(verb));
    if (!known) return Fault(method, "asks for a verb that is none.");
    access.verbs_.push_back(*known);
  }
  if (access.verbs_.empty() != (option.reach() == Access::REACH_CALLER))
    return Fault(method, "must ask for a verb, unless it is about the caller.");
  if (option.reach() == Access::REACH_UNSPECIFIED) return Fault(method, "does not say its reach.");
  if (option.resource().empty() != (option.reach() != Access::REACH_RESOURCE))
    return Fault(method, "must name its resource's field with REACH_RESOURCE, and only then.");
  if (!option.resource().empty()) {
    ASSIGN_OR_RETURN(access.resource_, Resolve(*method.input_type(), option.resource()));
    if (access.resource_.back()->type() != FieldDescriptor::TYPE_STRING)
      return Fault(method, absl::StrCat(option.resource(), " is no string."));
  }
  RETURN_IF_ERROR(access.ReadCreated(option));
  for (const Access::Field& field : option.fields()) {
    FieldRule rule{.name = field.path()};
    ASSIGN_OR_RETURN(rule.path, Resolve(*method.input_type(), field.path()));
    const auto verb = VerbOf(field.verb());
    if (!verb) return Fault(method, absl::StrCat(field.path(), " asks for a verb that is none."));
    rule.verb = *verb;
    access.fields_.push_back(std::move(rule));
  }
  return access;
}

absl::StatusOr<MethodAccess::Path> MethodAccess::Resolve(const Descriptor& type,
                                                         absl::string_view path) {
  Path fields;
  const Descriptor* message = &type;
  for (const absl::string_view part : absl::StrSplit(path, '.')) {
    const auto* field = message == nullptr ? nullptr : message->FindFieldByName(std::string(part));
    if (field == nullptr)
      return error::InvalidField(path, absl::StrCat("leads nowhere in ", type.full_name(), "."));
    fields.push_back(field);
    message = field->message_type();
  }
  return fields;
}

absl::StatusOr<MethodAccess::Path> MethodAccess::ResolveText(const Descriptor& type,
                                                             absl::string_view path) {
  ASSIGN_OR_RETURN(Path fields, Resolve(type, path));
  const bool in_list = std::any_of(fields.begin(), fields.end(),
                                   [](const auto* field) { return field->is_repeated(); });
  if (in_list || fields.back()->type() != FieldDescriptor::TYPE_STRING)
    return error::InvalidField(path, "is not one string.");
  return fields;
}

absl::Status MethodAccess::ReadCreated(const Access& option) {
  if (option.child().empty() && option.zone().empty()) return absl::OkStatus();
  const bool names = option.reach() == Access::REACH_RESOURCE;
  if (!names || !option.creates()) return Fault(*method_, "makes nothing whose place counts.");
  if (!option.child().empty()) {
    const std::pair<std::string, std::string> child =
        absl::StrSplit(option.child(), absl::MaxSplits('/', 1));
    collection_ = child.first;
    ASSIGN_OR_RETURN(child_, ResolveText(*method_->input_type(), child.second));
  }
  if (!option.zone().empty()) {
    ASSIGN_OR_RETURN(zone_, ResolveText(*method_->input_type(), option.zone()));
  }
  return absl::OkStatus();
}

std::string MethodAccess::NameIn(const Message& request, const std::string& name) const {
  if (child_.empty()) return name;
  return absl::StrCat(name, "/", collection_, "/", TextOf(request, child_));
}

std::vector<Place> MethodAccess::PlacesIn(const Message& request, const std::string& name,
                                          const PlaceOf& place_of) const {
  Place place = place_of(NameIn(request, name));
  const std::string zone = zone_.empty() ? "" : TextOf(request, zone_);
  if (place.zone.empty()) place.zone = zone;
  if (zone.empty() || place.zone == zone) return {place};
  return {place, {NameIn(request, name), zone}};
}

bool MethodAccess::Holds(const Caller& caller, const Place* place) const {
  return std::any_of(verbs_.begin(), verbs_.end(), [&](Verb verb) {
    const Scope& scope = caller.rights->Of(verb);
    return scope.everywhere() || (place != nullptr && scope.Covers(*place));
  });
}

bool MethodAccess::HoldsSomewhere(const Caller& caller) const {
  return std::any_of(verbs_.begin(), verbs_.end(),
                     [&](Verb verb) { return !caller.rights->Of(verb).empty(); });
}

std::string MethodAccess::VerbNames() const {
  return absl::StrJoin(verbs_, " or ",
                       [](std::string* out, Verb verb) { absl::StrAppend(out, VerbName(verb)); });
}

absl::Status MethodAccess::Refuse(const Caller& caller, absl::string_view why) const {
  return Refusal(caller, method_->name(), why, VerbNames());
}

absl::Status MethodAccess::AdmitResource(const Caller& caller, const std::string& name,
                                         const Place& place) const {
  if (Holds(caller, &place)) return absl::OkStatus();
  const bool seen = caller.rights->Of(Verb::kRead).Covers(place);
  if (!creates_ && !seen) return error::NotFound(name);
  return Refuse(caller, absl::StrCat(" at ", name, ": it takes a role with ", VerbNames(), "."));
}

bool MethodAccess::IsWritten(const FieldRule& rule, const Message& request) const {
  const auto* mask_field = request.GetDescriptor()->FindFieldByName(kUpdateMask);
  if (mask_field == nullptr) return IsSet(request, rule.path);
  const auto& mask = static_cast<const google::protobuf::FieldMask&>(
      request.GetReflection()->GetMessage(request, mask_field));
  // Masks are relative to the resource, which is the path's first part.
  const std::string name = rule.name.substr(rule.name.find('.') + 1);
  return std::any_of(mask.paths().begin(), mask.paths().end(),
                     [&](const std::string& path) { return path == name || path == "*"; });
}

absl::Status MethodAccess::AdmitFields(const Caller& caller, const Message& request,
                                       const PlaceOf& place_of) const {
  for (const FieldRule& rule : fields_) {
    const Scope& scope = caller.rights->Of(rule.verb);
    if (scope.everywhere() || !IsWritten(rule, request)) continue;
    const bool covered = ForEachText(request, resource_, [&](const std::string& name) {
      const std::vector<Place> places = PlacesIn(request, name, place_of);
      return std::all_of(places.begin(), places.end(),
                         [&](const Place& place) { return scope.Covers(place); });
    });
    if (covered) continue;
    return Refuse(caller, absl::StrCat(" with ", rule.name, ": it takes a role with ",
                                       VerbName(rule.verb), "."));
  }
  return absl::OkStatus();
}

absl::Status MethodAccess::Admit(Caller& caller, const Message& request,
                                 const PlaceOf& place_of) const {
  if (reach_ == Access::REACH_CALLER) return absl::OkStatus();
  if (!HoldsSomewhere(caller))
    return Refuse(caller, absl::StrCat(": it takes a role with ", VerbNames(), "."));
  switch (reach_) {
    case Access::REACH_SHARED:
      return absl::OkStatus();
    case Access::REACH_NARROWED:
      if (!Holds(caller, nullptr)) caller.narrowed_to = caller.ScopeOf(verbs_.front());
      return absl::OkStatus();
    case Access::REACH_RESOURCE: {
      if (!Holds(caller, nullptr)) {
        absl::Status status;
        ForEachText(request, resource_, [&](const std::string& name) {
          // An empty name is left for the method to refuse.
          if (name.empty()) return true;
          for (const Place& place : PlacesIn(request, name, place_of)) {
            if (status.ok()) status = AdmitResource(caller, NameIn(request, name), place);
          }
          return status.ok();
        });
        RETURN_IF_ERROR(status);
      }
      return AdmitFields(caller, request, place_of);
    }
    default:
      if (Holds(caller, nullptr)) return absl::OkStatus();
      return Refuse(caller, absl::StrCat(": it takes a role with ", VerbNames(), " everywhere."));
  }
}

absl::Status MethodAccess::AdmitAt(const Caller& caller, absl::string_view resource,
                                   const PlaceOf& place_of) const {
  if (reach_ == Access::REACH_RESOURCE && HoldsSomewhere(caller) && !Holds(caller, nullptr))
    return AdmitResource(caller, std::string(resource), place_of(resource));
  Caller asked = caller;
  const auto nothing =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(method_->input_type());
  return Admit(asked, *nothing, place_of);
}

}  // namespace muster::access
