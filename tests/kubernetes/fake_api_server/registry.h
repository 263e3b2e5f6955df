#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/random/random.h"
#include "nlohmann/json.hpp"
#include "tests/kubernetes/fake_api_server/ownership.h"
#include "tests/kubernetes/fake_api_server/resources.h"
#include "tests/kubernetes/fake_api_server/store.h"

namespace muster::testing {

// What was done to a Pod, by its uid.
struct PodCounts {
  int evictions = 0;          // granted while the Pod was not being deleted
  int evictions_again = 0;    // granted while it was being deleted: without effect
  int evictions_refused = 0;  // by a disruption budget
  int deletes = 0;            // DELETE while it was not being deleted
  int deletes_again = 0;
};

struct Reply {
  int code = 200;
  std::string body = {};
};

// Carries out requests for single objects. Throws Refusal, or nlohmann's exceptions for a body that
// cannot be read. Not thread-safe.
class Registry {
 public:
  // With the namespaces that every cluster has.
  explicit Registry(Store& store);

  Reply Get(const Target& target);
  Reply Write(const Call& call, const Target& target);
  // Takes an object away whatever its finalizers.
  void Vanish(const Target& target);

  PodCounts counts(const std::string& uid) const;

 private:
  // One edit under way: `next` is to replace `live`.
  struct Edit {
    const Target& target;
    Writer writer = {};
    Object live = {};
    Json next = {};
  };

  Object Existing(const Target& target) const;
  Reply Create(const Call& call, const Target& target);
  Reply Insert(const Target& target, Json object, bool is_apply, const Writer& writer);
  Reply Replace(const Call& call, const Target& target);
  Reply Patch(const Call& call, const Target& target);
  Reply ApplyPatch(const Call& call, const Target& target);
  Reply Scale(const Call& call, const Target& target);
  // Undoes changes that the endpoint does not allow, sets what the server itself writes, and
  // commits.
  Reply Update(Edit edit);
  // Stores `next`, or removes the object if its deletion waited only for this edit.
  Reply Commit(Edit edit);

  Reply Delete(const Call& call, const Target& target);
  Reply EndPod(const Target& target, const Object& live, const Json& options);
  Reply Remove(const Target& target, const Object& live);
  Reply Evict(const Call& call, const Target& target);
  std::string NewUid();

  Store& store_;
  absl::BitGen random_;
  std::map<std::string, PodCounts> pods_;
};

}  // namespace muster::testing
