#include "tests/integration/isolation_requests.h"

#include <muster/access/v1/access_service.pb.h>
#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration_service.pb.h>
#include <muster/debug/v1/debug_service.pb.h>
#include <muster/history/v1/history_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include <stdexcept>
#include <utility>

#include "absl/strings/str_join.h"
#include "tests/integration/every_rpc.h"

namespace muster::testing {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

namespace {

// Beyond every_rpc.h: the other services, what cannot be tried, and what an adapter may do to its
// cluster only.
const Requests& FurtherRequests() {
  static const auto& requests = *new Requests{
      {"AccessService.GetCaller", {""}},
      {"AccessService.CheckAccess", {"method: 'GetNodePool' resource: '$POOL'"}},
      {"HistoryService.ListChanges", {"name: '$POOL'"}},
      {"HistoryService.GetPast", {"name: '$POOL' revision: $REVISION"}},
      {"HistoryService.ListPast",
       {"parent: 'organizations/acme/clusters/example' collection: 'nodePools' "
        "revision: $REVISION"}},
      {"QuotaService.SyncHolding",
       {"holding { name: '$QUOTA/holdings/$UID' nodes: 9 generation: 99 }"}},
      {"QuotaService.BatchSyncHoldings",
       {"holdings { name: '$QUOTA/holdings/$UID' nodes: 9 generation: 99 }"}},
      {"CapacityService.SyncClaim",
       {"claim { pool_uid: '$UID' generation: 99 organization: 'acme' zone: 'RNO2A' "
        "instance_type: 'gd-8xa100-i128' nodes: 9 }"}},
      {"CapacityService.BatchSyncClaims",
       {"claims { pool_uid: '$UID' generation: 99 organization: 'acme' zone: 'RNO2A' "
        "instance_type: 'gd-8xa100-i128' nodes: 9 }"}},
      {"DebugService.SetLogLevel", {""}},
      {"LifecycleService.UpdateCluster",
       {"cluster { name: 'organizations/acme/clusters/example' zone: 'RNO2A' }"}},
      // A Node that is healthy stays so.
      {"LifecycleService.ReportNodes",
       {"reports { node: '$POOL/nodes/$MACHINE' observation: OBSERVATION_RECOVERED }"}},
  };
  return requests;
}

}  // namespace

const std::string& ValidRequest(const MethodDescriptor& method) {
  for (const Requests* requests : {&FurtherRequests(), &Questions(), &Trials()}) {
    const auto found = requests->find(NameOf(method));
    if (found != requests->end()) return found->second.front();
  }
  throw std::runtime_error(absl::StrCat("no request of ", NameOf(method)));
}

std::vector<const MethodDescriptor*> AllMethods() {
  std::vector<const MethodDescriptor*> methods;
  for (const Descriptor* message :
       {access::v1::GetCallerRequest::descriptor(), capacity::v1::GetZoneRequest::descriptor(),
        configuration::v1::GetReleaseRequest::descriptor(), debug::v1::PingRequest::descriptor(),
        history::v1::GetPastRequest::descriptor(), lifecycle::v1::GetNodeRequest::descriptor(),
        quota::v1::GetQuotaRequest::descriptor()}) {
    const auto* service = message->file()->service(0);
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
  }
  return methods;
}

bool IsDebug(const MethodDescriptor& method) {
  return method.service()->full_name() == "muster.debug.v1.DebugService";
}

std::unique_ptr<Message> NewMessage(const Descriptor& type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

std::unique_ptr<Message> CopyOf(const Message& message) {
  std::unique_ptr<Message> copy(message.New());
  copy->CopyFrom(message);
  return copy;
}

void OnlyTry(Message& request) {
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName("validate_only");
  if (field != nullptr) request.GetReflection()->SetBool(&request, field, true);
}

std::vector<Path> StringFields(const Descriptor& type, int depth) {
  std::vector<Path> paths;
  for (int i = 0; depth > 0 && i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_map() || field->name() == "request_id" || field->name() == "page_token") continue;
    if (field->type() == FieldDescriptor::TYPE_STRING) paths.push_back({field});
    if (field->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    for (Path& below : StringFields(*field->message_type(), depth - 1)) {
      below.insert(below.begin(), field);
      paths.push_back(std::move(below));
    }
  }
  return paths;
}

bool IsResource(const MethodDescriptor& method, const Path& path) {
  const std::string name = absl::StrJoin(
      path, ".",
      [](std::string* out, const FieldDescriptor* field) { absl::StrAppend(out, field->name()); });
  return method.options().GetExtension(type::v1::access).resource() == name;
}

void Set(Message& message, const Path& path, const std::string& text) {
  Message* at = &message;
  for (const FieldDescriptor* field : path) {
    const auto& reflection = *at->GetReflection();
    if (field != path.back()) {
      if (!field->is_repeated()) {
        at = reflection.MutableMessage(at, field);
      } else if (reflection.FieldSize(*at, field) == 0) {
        at = reflection.AddMessage(at, field);
      } else {
        at = reflection.MutableRepeatedMessage(at, field, 0);
      }
    } else if (field->is_repeated()) {
      reflection.AddString(at, field, text);
    } else {
      reflection.SetString(at, field, text);
    }
  }
}

std::vector<std::unique_ptr<Message>> ChosenLists(const MethodDescriptor& method) {
  std::vector<std::unique_ptr<Message>> requests;
  const Descriptor& type = *method.input_type();
  for (const auto& [field, text] : {std::pair("filter", "name:*"), std::pair("order_by", "name")}) {
    if (type.FindFieldByName(field) == nullptr) continue;
    for (const char* parent : {"organizations/-", "organizations/-/clusters/-",
                               "organizations/-/clusters/-/nodePools/-"}) {
      requests.push_back(NewMessage(type));
      Set(*requests.back(), {type.FindFieldByName(field)}, text);
      if (const auto* below = type.FindFieldByName("parent"))
        Set(*requests.back(), {below}, parent);
    }
  }
  return requests;
}

}  // namespace muster::testing
