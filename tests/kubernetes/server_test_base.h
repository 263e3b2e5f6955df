#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/kubernetes/api_server.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {

constexpr char kNodes[] = "/api/v1/nodes";
constexpr char kNamespaces[] = "/api/v1/namespaces";
constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kBudgets[] = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
constexpr char kEvents[] = "/apis/events.k8s.io/v1/namespaces/default/events";
constexpr char kPools[] = "/apis/compute.coreweave.com/v1alpha1/nodepools";

inline std::string At(absl::string_view collection, absl::string_view name,
                      absl::string_view subresource = "") {
  return absl::StrCat(collection, "/", name, subresource.empty() ? "" : "/", subresource);
}

// A test against whichever API server there is. All tests of the program share the server, so each
// needs names of its own.
class ServerTest : public ::testing::Test {
 protected:
  ServerTest();

  static ApiServer& server();
  // Different at every call, e.g. `node-3`.
  static std::string Name(absl::string_view prefix);
  static Json Node(const std::string& name);
  static Json Pool(const std::string& name);
  // Bound to a Node unless that is empty.
  static Json Pod(const std::string& name, const std::string& node);

  // The object. On an error the test fails, and this is an object without anything in it.
  Json Need(absl::StatusOr<Json> result);
  Json Create(absl::string_view collection, const Json& object);
  Json Get(absl::string_view path);
  absl::StatusOr<Json> Apply(absl::string_view path, Json config,
                             absl::string_view manager = "muster", bool force = false);
  absl::StatusOr<Json> Merge(absl::string_view path, const Json& patch);
  // Creates a Pod that is bound to a Node, Running and ready.
  Json RunPod(const Json& pod);
  // The names of what a selector selects.
  std::vector<std::string> Names(absl::string_view path, const kubernetes::Parameters& parameters);
  // The events after a version, up to and with the one of which `is_last` is true.
  std::vector<std::pair<std::string, Json>> Watch(
      absl::string_view path, const kubernetes::Parameters& parameters, absl::string_view version,
      std::function<bool(absl::string_view type, const Json& object)> is_last);

  const std::unique_ptr<kubernetes::Client> client_;
};

inline std::string VersionOf(const Json& object) {
  return object.at("metadata").at("resourceVersion");
}
inline std::string UidOf(const Json& object) { return object.at("metadata").at("uid"); }
// The fieldsV1 of one entry of managedFields; null: there is none.
Json FieldsOwnedBy(const Json& object, absl::string_view manager, absl::string_view operation,
                   absl::string_view subresource = "");

}  // namespace muster::testing

// For a test that needs what only the fake server can do.
#define MUSTER_SKIP_IF_REAL(reason) \
  if (server().is_real()) GTEST_SKIP() << "not run on " << server().name() << ": " << reason
