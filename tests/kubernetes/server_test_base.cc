#include "tests/kubernetes/server_test_base.h"

namespace muster::testing {
namespace {

std::unique_ptr<ApiServer>& Shared() {
  static auto& shared = *new std::unique_ptr<ApiServer>;
  return shared;
}

class Environment : public ::testing::Environment {
 public:
  void SetUp() override {
    Shared() = ApiServer::Start();
    ::testing::Test::RecordProperty("api_server", Shared()->name());
  }
  void TearDown() override { Shared().reset(); }
};

const ::testing::Environment* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new Environment);

}  // namespace

ServerTest::ServerTest() : client_(server().Connect()) {}

ApiServer& ServerTest::server() { return *Shared(); }

std::string ServerTest::Name(absl::string_view prefix) {
  static int number = 0;
  return absl::StrCat(prefix, "-", ++number);
}

Json ServerTest::Node(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}};
}

Json ServerTest::Pool(const std::string& name) {
  return {
      {"apiVersion", "compute.coreweave.com/v1alpha1"},
      {"kind", "NodePool"},
      {"metadata", {{"name", name}}},
      {"spec",
       {{"computeClass", "default"}, {"instanceType", "gd-8xh100ib-i128"}, {"targetNodes", 2}}}};
}

Json ServerTest::Pod(const std::string& name, const std::string& node) {
  Json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}};
  pod["spec"]["containers"] = Json::array({Json::object({{"name", "c"}, {"image", "i"}})});
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  return pod;
}

Json ServerTest::Need(absl::StatusOr<Json> result) {
  EXPECT_THAT(result, IsOk());
  return result.ok() ? *std::move(result) : Json::object({{"metadata", Json::object()}});
}

Json ServerTest::Create(absl::string_view collection, const Json& object) {
  return Need(client_->Create(collection, object));
}

Json ServerTest::Get(absl::string_view path) { return Need(client_->Get(path)); }

absl::StatusOr<Json> ServerTest::Apply(absl::string_view path, Json config,
                                       absl::string_view manager, bool force) {
  return client_->Patch(
      kubernetes::PatchType::kApply, path, config,
      {{"fieldManager", std::string(manager)}, {"force", force ? "true" : "false"}});
}

absl::StatusOr<Json> ServerTest::Merge(absl::string_view path, const Json& patch) {
  return client_->Patch(kubernetes::PatchType::kMerge, path, patch);
}

Json ServerTest::RunPod(const Json& pod) {
  const std::string name = pod.at("metadata").at("name");
  Create(kPods, pod);
  return Need(Merge(
      At(kPods, name, "status"),
      {{"status",
        {{"phase", "Running"},
         {"conditions", Json::array({Json::object({{"type", "Ready"}, {"status", "True"}})})}}}}));
}

std::vector<std::string> ServerTest::Names(absl::string_view path,
                                           const kubernetes::Parameters& parameters) {
  std::vector<std::string> names;
  EXPECT_THAT(
      client_->List(path, parameters,
                    [&](const Json& object) { names.push_back(object.at("metadata").at("name")); }),
      IsOk());
  return names;
}

std::vector<std::pair<std::string, Json>> ServerTest::Watch(
    absl::string_view path, const kubernetes::Parameters& parameters, absl::string_view version,
    std::function<bool(absl::string_view type, const Json& object)> is_last) {
  std::vector<std::pair<std::string, Json>> events;
  const absl::Status status =
      client_->Watch(path, parameters, version, [&](absl::string_view type, Json object) {
        events.emplace_back(std::string(type), std::move(object));
        return !is_last(events.back().first, events.back().second);
      });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  return events;
}

Json FieldsOwnedBy(const Json& object, absl::string_view manager, absl::string_view operation,
                   absl::string_view subresource) {
  const Json managed = object.at("metadata").value("managedFields", Json::array());
  for (const Json& entry : managed) {
    if (entry.at("manager") == std::string(manager) &&
        entry.at("operation") == std::string(operation) &&
        entry.value("subresource", "") == std::string(subresource)) {
      return entry.at("fieldsV1");
    }
  }
  return nullptr;
}

}  // namespace muster::testing
