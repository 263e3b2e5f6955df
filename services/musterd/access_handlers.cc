#include "services/musterd/access_handlers.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/access/method_access.h"
#include "services/common/build_info.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::musterd {
namespace {

using google::protobuf::MethodDescriptor;

access::v1::Caller ToProto(const access::Caller& caller) {
  access::v1::Caller message;
  message.set_principal(caller.principal);
  for (const access::Verb verb : access::kVerbs) {
    const access::Scope& scope = caller.rights->Of(verb);
    if (scope.empty()) continue;
    access::v1::Caller::Grant& grant = *message.add_grants();
    grant.set_verb(access::ToProto(verb));
    grant.set_everywhere(scope.everywhere());
    if (scope.everywhere()) continue;
    for (const std::string& id : scope.organizations()) grant.add_organizations(id);
    for (const std::string& name : scope.clusters()) grant.add_clusters(name);
    for (const std::string& id : scope.zones()) grant.add_zones(id);
  }
  return message;
}

// The service that has a method with that full or short name, and the method; both null: none has.
std::pair<const rpc::NamedService*, const MethodDescriptor*> Find(
    const std::vector<rpc::NamedService>& services, absl::string_view method) {
  for (const rpc::NamedService& named : services) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(named.name);
    for (int i = 0; service != nullptr && i < service->method_count(); ++i) {
      const MethodDescriptor* found = service->method(i);
      if (method == found->name() || method == absl::StrCat(named.name, "/", found->name()))
        return {&named, found};
    }
  }
  return {};
}

// What is asked about.
struct Question {
  const rpc::NamedService* service = nullptr;
  access::MethodAccess access;
};

// Reads what a request asks. INVALID_ARGUMENT: there is no such method, or it needs a resource.
absl::StatusOr<Question> Read(const std::vector<rpc::NamedService>& services,
                              const access::v1::CheckAccessRequest& request) {
  const auto [service, method] = Find(services, request.method());
  if (method == nullptr)
    return error::InvalidField("method", "must be a method of a service that is served here.");
  ASSIGN_OR_RETURN(access::MethodAccess access, access::MethodAccess::Of(*method));
  if (access.reach() == type::v1::Access::REACH_RESOURCE && request.resource().empty())
    return error::InvalidField(
        "resource", absl::StrCat("is required: ", method->name(), " is about a resource."));
  return Question{service, std::move(access)};
}

// Fills in `response`. False: it is a refusal by a state that may be old.
bool Answer(const Question& question, const access::Caller& caller, const std::string& resource,
            access::v1::CheckAccessResponse& response) {
  access::NotingState noting(question.service->place_of, caller);
  const absl::Status admitted = question.access.AdmitAt(caller, resource, std::ref(noting));
  response.set_allowed(admitted.ok());
  response.set_reason(std::string(admitted.message()));
  return admitted.ok() || !noting.by_state() || question.service->catch_up == nullptr;
}

absl::Status CatchUp(const rpc::NamedService& service, absl::Time deadline) {
  const auto caught_up = std::make_shared<std::promise<absl::Status>>();
  service.catch_up([caught_up](const absl::Status& status) { caught_up->set_value(status); },
                   deadline);
  return caught_up->get_future().get();
}

}  // namespace

grpc::ServerUnaryReactor* AccessHandlers::GetCaller(grpc::CallbackServerContext* context,
                                                    const access::v1::GetCallerRequest*,
                                                    access::v1::GetCallerResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    *response->mutable_caller() = ToProto(*responder.caller());
    access::v1::Server& server = *response->mutable_server();
    server.set_version(std::string(build_info::kVersion));
    server.set_commit(std::string(build_info::kCommit));
    for (const rpc::NamedService& service : services_) server.add_services(service.name);
    std::sort(server.mutable_services()->begin(), server.mutable_services()->end());
    responder.Finish(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* AccessHandlers::CheckAccess(grpc::CallbackServerContext* context,
                                                      const access::v1::CheckAccessRequest* request,
                                                      access::v1::CheckAccessResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    absl::StatusOr<Question> question = Read(services_, *request);
    if (!question.ok()) return responder.Finish(question.status());
    const std::shared_ptr<const access::Caller> caller = responder.caller();
    if (Answer(*question, *caller, request->resource(), *response))
      return responder.Finish(absl::OkStatus());
    calls_.Add(std::move(responder),
               [question = *std::move(question), caller, resource = request->resource(),
                response](rpc::Responder& waiting) {
                 const absl::Status caught_up = CatchUp(*question.service, waiting.deadline());
                 waiting.Reply([&] {
                   if (caught_up.ok()) Answer(question, *caller, resource, *response);
                   return caught_up;
                 });
               });
  });
}

}  // namespace muster::musterd
