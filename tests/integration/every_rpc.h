#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <set>
#include <string>
#include <vector>

// Every RPC of the four services and of the debug service is in just one of these lists: a
// question, a mutation that can be tried, or one that cannot.
namespace muster::testing {

// By method (`QuotaService.GetQuota`): requests in protobuf's text format. The test replaces `$UID`
// and the like by what it finds.
using Requests = std::map<std::string, std::vector<std::string>>;

// RPCs that answer and write nothing. Those about a pool are asked of one with Nodes and a wish
// that no pass has seen yet ($POOL, $UID), and of a new one that no pass has seen ($FRESH_POOL,
// $FRESH).
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
