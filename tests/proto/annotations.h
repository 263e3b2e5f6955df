#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

namespace muster::proto_lint {

// What is wrong with the annotations of google.api in these files, all of one API: `element: rule`.
//  * field_behavior is what the field's comment says: a sentence that begins with `Required`
//    (REQUIRED), `Output only` or `Set by the server` (OUTPUT_ONLY), `Cannot be changed`
//    (IMMUTABLE), and the other way round. None is both REQUIRED and OUTPUT_ONLY.
//  * resource: what a Get RPC answers with has one, if it has a name; types and patterns are there
//    once. resource_reference leads to one, and the `name` and `parent` of a request have it, and
//    are REQUIRED.
//  * http: every RPC has a path of its own, which leads to string fields of its request; GET and
//    DELETE have no body, the others one; a GET changes nothing, and what it leaves to the query
//    fits there; a stream is a GET of `:watch`.
std::vector<std::string> LintAnnotations(
    const std::vector<const google::protobuf::FileDescriptor*>& files);

// The paths of a file, a line each: `http muster.quota.v1.QuotaService.GetQuota = GET
// /v1/{name=organizations/*/quotas/*}`.
std::vector<std::string> HttpSurface(const google::protobuf::FileDescriptor& file);

}  // namespace muster::proto_lint
