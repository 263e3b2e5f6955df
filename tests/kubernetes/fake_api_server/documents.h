#pragma once

#include <string>

#include "nlohmann/json.hpp"
#include "tests/kubernetes/fake_api_server/ownership.h"
#include "tests/kubernetes/fake_api_server/resources.h"
#include "tests/kubernetes/fake_api_server/store.h"

namespace muster::testing {

// How objects look from outside, and who may change what of them. Pure.

// With apiVersion and kind.
Json DocumentOf(const Resource& resource, const Json& object);
// The Scale of a NodePool.
Json ScaleOf(const Json& object);
std::string Now(absl::Time now);

// The request's body as an object of the resource. Throws Refusal (400) if it is none.
Json ParseObject(const Call& call, const Target& target);
Writer WriterOf(const Call& call, const Target& target, absl::Time now);
// Throws Refusal (409) unless resourceVersion and uid, where `preconditions` has them, are those of
// `live`. `preconditions`: of a delete, or the metadata of a replacement.
void CheckPreconditions(const Target& target, const Json& live, const Json& preconditions);
// The same for a patched object's metadata, except that another uid is refused by 422, and is
// ignored at the status of a custom resource.
void CheckPatched(const Target& target, const Json& live, const Json& metadata);

// The part of `next` that the endpoint may change, everything else as in `live`.
Json Isolate(const Target& target, const Json& live, Json next);
// The part of an applied configuration that counts at the endpoint.
Json ConfigOf(const Target& target, Json config);
// Drops empty maps and lists of metadata.
void Tidy(Json& object);
// Whether more than metadata and status differ.
bool IsSpecChanged(const Json& before, const Json& after);

}  // namespace muster::testing
