#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <set>
#include <string>
#include <vector>

// Every RPC of the four services and of the debug service, and what it is.
namespace muster::testing {

// By method (`QuotaService.GetQuota`): requests in protobuf's text format. `$UID` and the like stand
// for what a test finds.
using Requests = std::map<std::string, std::vector<std::string>>;

// What answers and writes nothing. Every question about a pool is asked of one that has settled
// ($POOL, $UID), one whose wish is new and one that nobody has asked for yet ($FRESH).
const Requests& Questions();

// Mutations that can be tried (`validate_only`), with requests that would change something.
const Requests& Trials();

// Mutations that cannot be tried.
const std::set<std::string>& Mutations();

// Mutations without a `request_id`, and why a repeat does no harm there. All others have one.
const std::map<std::string, std::string>& Declarative();

std::vector<const google::protobuf::MethodDescriptor*> Methods();

// `QuotaService.GetQuota`.
std::string NameOf(const google::protobuf::MethodDescriptor& method);

}  // namespace muster::testing
