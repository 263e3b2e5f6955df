#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <muster/type/v1/access.pb.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/access/caller.h"
#include "services/access/scope.h"

namespace muster::access {

// Returns where a resource is, by the state as it is now.
using PlaceOf = std::function<Place(absl::string_view name)>;
// Calls `done` once, perhaps on another thread and with locks held, when that state shows all that
// was committed before the call. An error, such as UNAVAILABLE: it does not.
using CatchUp =
    std::function<void(std::function<void(const absl::Status&)> done, absl::Time deadline)>;
// Whether an answer to this very request of the caller is kept, by its `request_id` and the state
// as it is now.
using Answered =
    std::function<bool(const Caller& caller, const google::protobuf::Message& request)>;
type::v1::Access::Verb ToProto(Verb verb);
// A PlaceOf that goes by the name alone.
Place PlaceOfName(absl::string_view name);

// A PlaceOf (by std::ref) that asks another one, and notes whether the answer for this caller
// depends on more than the name. Both must outlive it.
class NotingState {
 public:
  NotingState(const PlaceOf& place_of, const Caller& caller)
      : place_of_(place_of), caller_(caller) {}

  Place operator()(absl::string_view name);
  bool by_state() const { return by_state_; }

 private:
  const PlaceOf& place_of_;
  const Caller& caller_;
  bool by_state_ = false;
};

// What one method asks of its callers: its option muster.type.v1.access, checked against its
// request's fields. Thread-safe.
class MethodAccess {
 public:
  // INVALID_ARGUMENT: it has none, or it does not make sense.
  static absl::StatusOr<MethodAccess> Of(const google::protobuf::MethodDescriptor& method);

  // Whether the caller is let in with that request; sets caller.narrowed_to. UNAUTHENTICATED;
  // PERMISSION_DENIED; NOT_FOUND. For a caller that has the verb everywhere, the request is not
  // looked into.
  absl::Status Admit(Caller& caller, const google::protobuf::Message& request,
                     const PlaceOf& place_of) const;

  // The same without a request: whether the method may be called at all and, if it asks for a
  // resource, for `resource`.
  absl::Status AdmitAt(const Caller& caller, absl::string_view resource,
                       const PlaceOf& place_of) const;

  // Whether any of the verbs holds somewhere.
  bool HoldsSomewhere(const Caller& caller) const;
  const std::vector<Verb>& verbs() const { return verbs_; }
  type::v1::Access::Reach reach() const { return reach_; }
  // Whether it reports what became of Nodes, and does nothing else: its changes go first
  // (Caller::goes_first).
  bool only_reports() const { return verbs_.size() == 1 && verbs_.front() == Verb::kReport; }

 private:
  // The fields that lead from a message to one within it; empty: to none.
  using Path = std::vector<const google::protobuf::FieldDescriptor*>;
  struct FieldRule {
    Path path = {};
    std::string name = {};
    Verb verb = Verb::kOperate;
  };

  explicit MethodAccess(const google::protobuf::MethodDescriptor& method) : method_(&method) {}

  static absl::StatusOr<Path> Resolve(const google::protobuf::Descriptor& type,
                                      absl::string_view path);
  bool IsWritten(const FieldRule& rule, const google::protobuf::Message& request) const;
  // To a text of the request itself, or of one message in it.
  static absl::StatusOr<Path> ResolveText(const google::protobuf::Descriptor& type,
                                          absl::string_view path);
  // Of what is made: see muster.type.v1.Access.child and zone.
  absl::Status ReadCreated(const type::v1::Access& option);
  // The name of the resource that is asked for if the request has that name, and its places.
  std::string NameIn(const google::protobuf::Message& request, const std::string& name) const;
  // Two if the request names another zone than the state: the resource may be gone by the time that
  // the request is carried out, though the state does not show it yet; then the request makes it
  // where it says.
  std::vector<Place> PlacesIn(const google::protobuf::Message& request, const std::string& name,
                              const PlaceOf& place_of) const;
  absl::Status AdmitResource(const Caller& caller, const std::string& name,
                             const Place& place) const;
  absl::Status AdmitFields(const Caller& caller, const google::protobuf::Message& request,
                           const PlaceOf& place_of) const;
  // Whether any of the verbs holds there; a null place: everywhere.
  bool Holds(const Caller& caller, const Place* place) const;
  absl::Status Refuse(const Caller& caller, absl::string_view why) const;
  std::string VerbNames() const;

  const google::protobuf::MethodDescriptor* method_;
  std::vector<Verb> verbs_;
  type::v1::Access::Reach reach_ = type::v1::Access::REACH_UNSPECIFIED;
  Path resource_;
  bool creates_ = false;
  std::string collection_;  // of `child_`
  Path child_;
  Path zone_;
  std::vector<FieldRule> fields_;
};

}  // namespace muster::access
