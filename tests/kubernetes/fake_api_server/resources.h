#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::testing {

// A kind of object that the fake server serves, and the rules in which kinds differ.
struct Resource {
  size_t index = 0;  // in Resources()
  const char* group = "";
  const char* version = "";
  const char* plural = "";
  const char* kind = "";
  bool namespaced = false;
  bool has_status = false;
  bool custom = false;                // of a CRD: it has a generation, and a strict status
  bool unconditional_update = false;  // PUT without resourceVersion
  bool create_on_update = false;
  std::vector<const char*> fields = {};  // selectable, beside metadata.name and metadata.namespace

  std::string api_version() const;
  // e.g. `nodepools.compute.coreweave.com`
  std::string qualified() const;
};

const std::vector<Resource>& Resources();
const Resource& ResourceOf(absl::string_view plural);

// What a URL's path means.
struct Target {
  const Resource* resource = nullptr;
  std::string space = {};  // namespace; empty: cluster-scoped, or all
  std::string name = {};   // empty: the collection
  std::string subresource = {};

  std::string key() const;
};
// Throws Refusal (404) for what is not served.
Target ParsePath(absl::string_view path);
// `namespace/name`; the namespace is empty for what has none.
std::string KeyOf(absl::string_view space, absl::string_view name);

// One request, without HTTP's details.
struct Call {
  std::string method = {};
  std::string path = {};
  std::map<std::string, std::string> parameters = {};
  std::string content_type = {};
  std::string user_agent = {};
  std::string body = {};

  std::string parameter(const std::string& key) const;
};

}  // namespace muster::testing
