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

// A body as the client meant it: an object of the resource. Throws Refusal (400).
Json ParseObject(const Call& call, const Target& target);
Writer WriterOf(const Call& call, const Target& target, absl::Time now);
// Throws Refusal (409) where resourceVersion or uid of `preconditions`, of a delete, or of the
// metadata of a replacement are not those of `live`.
void CheckPreconditions(const Target& target, const Json& live, const Json& preconditions);
// The same for what a patch makes of an object: another uid is refused (422), but not even read at
// the status of a custom resource.
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
