// What both back ends do with server-side apply.
#include <algorithm>

#include "tests/kubernetes/server_test_base.h"

namespace muster::testing {
namespace {

using ::absl::StatusCode;
using kubernetes::ErrorOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ApplyTest : public ServerTest {
 protected:
  // A Node with labels.
  static Json Labelled(const std::string& name, const Json& labels) {
    Json node = Node(name);
    node["metadata"]["labels"] = labels;
    return node;
  }
  static Json WithCondition(const std::string& name, const char* type, const char* status) {
    Json node = Node(name);
    node["status"]["conditions"] = Json::array(
        {Json({{"type", type}, {"status", status}, {"reason", "Test"}, {"message", "m"}})});
    return node;
  }
  static Json Tainted(const std::string& name, const char* key) {
    Json node = Node(name);
    node["spec"]["taints"] = Json::array({Json({{"key", key}, {"effect", "NoSchedule"}})});
    return node;
  }
  static std::vector<std::string> ConditionsOf(const Json& node) {
    std::vector<std::string> conditions;
    for (const Json& each : node["status"]["conditions"])
      conditions.push_back(
          absl::StrCat(each["type"].get<std::string>(), "=", each["status"].get<std::string>()));
    std::sort(conditions.begin(), conditions.end());
    return conditions;
  }
};

TEST_F(ApplyTest, CreatesWhatIsMissing) {
  const std::string name = Name("node");
  const Json node = Need(Apply(At(kNodes, name), Labelled(name, {{"a", "1"}})));
  EXPECT_EQ(node["metadata"]["labels"]["a"], "1");
  EXPECT_EQ(Get(At(kNodes, name))["metadata"]["uid"], node["metadata"]["uid"]);
}

TEST_F(ApplyTest, CreatesNeitherByUidNorByStatus) {
  const std::string name = Name("node");
  Json node = Node(name);
  node["metadata"]["uid"] = "6fb8ed1e-6c4d-4c26-9a0f-1a3b8e3a0a11";
  EXPECT_THAT(Apply(At(kNodes, name), node), StatusIs(StatusCode::kAborted, HasSubstr("uid")));
  EXPECT_THAT(Apply(At(kNodes, name, "status"), WithCondition(name, "CWActive", "True")),
              StatusIs(StatusCode::kNotFound));
  Create(kNodes, Node(name));
  EXPECT_THAT(Apply(At(kNodes, name), node),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("field is immutable")));
}

TEST_F(ApplyTest, ReadsNoUidAtTheStatusOfPools) {
  const std::string name = Name("pool");
  Create(kPools, Pool(name));
  Json pool = Pool(name);
  pool["metadata"]["uid"] = "6fb8ed1e-6c4d-4c26-9a0f-1a3b8e3a0a11";
  pool["status"]["currentNodes"] = 1;
  EXPECT_THAT(Apply(At(kPools, name), pool),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("field is immutable")));
  // Nothing guards against the status of a predecessor but its version.
  EXPECT_EQ(Need(Apply(At(kPools, name, "status"), pool))["status"]["currentNodes"], 1);
  pool["metadata"]["resourceVersion"] = "1";
  EXPECT_THAT(Apply(At(kPools, name, "status"), pool), StatusIs(StatusCode::kAborted));
}

TEST_F(ApplyTest, NeedsAManagerAndAType) {
  const std::string name = Name("node");
  EXPECT_THAT(Apply(At(kNodes, name), Node(name), ""), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(Apply(At(kNodes, name), Json({{"metadata", {{"name", name}}}})),
              StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(ApplyTest, NotesWhoOwnsWhat) {
  const std::string name = Name("node");
  Create(kNodes, Labelled(name, {{"theirs", "1"}}));
  Json ours = Labelled(name, {{"ours", "1"}});
  ours["metadata"]["annotations"]["note"] = "x";
  ours["spec"]["unschedulable"] = true;
  ours["spec"]["taints"] = Json::array({Json({{"key", "k"}, {"effect", "NoSchedule"}})});
  Need(Apply(At(kNodes, name), ours));
  const Json node =
      Need(Apply(At(kNodes, name, "status"), WithCondition(name, "CWActive", "True")));
  EXPECT_EQ(FieldsOwnedBy(node, "muster", "Apply"), Json::parse(R"({
      "f:metadata": {"f:annotations": {"f:note": {}}, "f:labels": {"f:ours": {}}},
      "f:spec": {"f:taints": {}, "f:unschedulable": {}}})"));
  EXPECT_EQ(FieldsOwnedBy(node, "muster", "Apply", "status"), Json::parse(R"({
      "f:status": {"f:conditions": {"k:{\"type\":\"CWActive\"}": {
          ".": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {}}}}})"));
  EXPECT_TRUE(FieldsOwnedBy(node, "test", "Update")["f:metadata"]["f:labels"].contains("f:theirs"));
}

TEST_F(ApplyTest, TakesBackWhatItAppliedAndNobodyElseWants) {
  const std::string name = Name("node");
  Create(kNodes, Labelled(name, {{"theirs", "1"}}));
  Json ours = Labelled(name, {{"ours", "1"}, {"shared", "1"}});
  ours["spec"]["unschedulable"] = true;
  Need(Apply(At(kNodes, name), ours));
  Need(Apply(At(kNodes, name), Labelled(name, {{"shared", "1"}}), "other"));
  const Json node = Need(Apply(At(kNodes, name), Node(name)));
  EXPECT_EQ(node["metadata"]["labels"], Json({{"shared", "1"}, {"theirs", "1"}}));
  EXPECT_FALSE(node["spec"].contains("unschedulable"));
  EXPECT_EQ(FieldsOwnedBy(node, "muster", "Apply"), nullptr);
}

TEST_F(ApplyTest, TakesNothingBackWithAnEmptyMap) {
  const std::string name = Name("node");
  Create(kNodes, Labelled(name, {{"theirs", "1"}}));
  Need(Apply(At(kNodes, name), Labelled(name, Json::object())));
  const Json node = Need(Apply(At(kNodes, name), Node(name)));
  EXPECT_EQ(node["metadata"]["labels"], Json({{"theirs", "1"}}));
}

TEST_F(ApplyTest, RefusesToTakeUnlessForced) {
  const std::string name = Name("node");
  Need(Apply(At(kNodes, name), Labelled(name, {{"a", "1"}, {"b", "1"}}), "other"));
  const auto refused = Apply(At(kNodes, name), Labelled(name, {{"a", "2"}, {"b", "1"}}));
  EXPECT_THAT(refused, StatusIs(StatusCode::kAborted, HasSubstr("Apply failed with 1 conflict")));
  EXPECT_THAT(ErrorOf(refused.status()).causes,
              ElementsAre(Pair("FieldManagerConflict", HasSubstr("conflict with \"other\""))));
  EXPECT_EQ(Get(At(kNodes, name))["metadata"]["labels"]["a"], "1");
  const Json node =
      Need(Apply(At(kNodes, name), Labelled(name, {{"a", "2"}, {"b", "1"}}), "muster", true));
  EXPECT_EQ(node["metadata"]["labels"]["a"], "2");
  EXPECT_EQ(FieldsOwnedBy(node, "other", "Apply"),
            Json::parse(R"({"f:metadata": {"f:labels": {"f:b": {}}}})"));
}

TEST_F(ApplyTest, LosesWhatSomebodyElseWrites) {
  const std::string name = Name("node");
  Need(Apply(At(kNodes, name), Labelled(name, {{"a", "1"}, {"b", "1"}})));
  Need(Merge(At(kNodes, name), {{"metadata", {{"labels", {{"a", "2"}, {"b", nullptr}}}}}}));
  Json node = Get(At(kNodes, name));
  EXPECT_EQ(FieldsOwnedBy(node, "muster", "Apply"), nullptr);
  EXPECT_THAT(Apply(At(kNodes, name), Labelled(name, {{"a", "1"}})),
              StatusIs(StatusCode::kAborted, HasSubstr("conflict with \"test\"")));
  node = Need(Apply(At(kNodes, name), Labelled(name, {{"a", "1"}, {"b", "1"}}), "muster", true));
  EXPECT_EQ(node["metadata"]["labels"], Json({{"a", "1"}, {"b", "1"}}));
}

TEST_F(ApplyTest, SharesConditionsByTheirType) {
  const std::string name = Name("node");
  Create(kNodes, Node(name));
  Need(Merge(At(kNodes, name, "status"),
             Json({{"status", WithCondition(name, "Ready", "True")["status"]}})));
  Need(Apply(At(kNodes, name, "status"), WithCondition(name, "CWActive", "True")));
  Json node =
      Need(Apply(At(kNodes, name, "status"), WithCondition(name, "Problem", "False"), "other"));
  EXPECT_THAT(ConditionsOf(node), ElementsAre("CWActive=True", "Problem=False", "Ready=True"));
  node = Need(Apply(At(kNodes, name, "status"), WithCondition(name, "CWRegistered", "True")));
  EXPECT_THAT(ConditionsOf(node), ElementsAre("CWRegistered=True", "Problem=False", "Ready=True"));
}

TEST_F(ApplyTest, TakesItsConditionBackWhole) {
  const std::string name = Name("node");
  Create(kNodes, Node(name));
  Need(Apply(At(kNodes, name, "status"), WithCondition(name, "CWActive", "True")));
  Json node = Need(Merge(At(kNodes, name, "status"),
                         Json({{"status", WithCondition(name, "CWActive", "False")["status"]}})));
  EXPECT_EQ(FieldsOwnedBy(node, "test", "Update", "status"), Json::parse(R"({
      "f:status": {"f:conditions": {"k:{\"type\":\"CWActive\"}": {"f:status": {}}}}})"));
  // Who changed a field of it does not keep it.
  node = Need(Apply(At(kNodes, name, "status"), Node(name)));
  EXPECT_FALSE(node["status"].contains("conditions"));
  EXPECT_EQ(FieldsOwnedBy(node, "test", "Update", "status"), nullptr);
}

TEST_F(ApplyTest, SharesConditionsOfPools) {
  const std::string name = Name("pool");
  Create(kPools, Pool(name));
  const auto condition = [&](const char* type, const char* status) {
    Json pool = Pool(name);
    pool.erase("spec");
    pool["status"]["conditions"] =
        Json::array({Json({{"type", type},
                           {"status", status},
                           {"reason", "Valid"},
                           {"message", "m"},
                           {"lastTransitionTime", "2026-01-01T00:00:00Z"}})});
    return pool;
  };
  Json ours = condition("Validated", "True");
  ours["status"]["currentNodes"] = 3;
  Need(Apply(At(kPools, name, "status"), ours));
  Json pool = Need(Apply(At(kPools, name, "status"), condition("Other", "False"), "other"));
  EXPECT_THAT(ConditionsOf(pool), ElementsAre("Other=False", "Validated=True"));
  EXPECT_EQ(pool["status"]["currentNodes"], 3);
  pool = Need(Apply(At(kPools, name, "status"), condition("Validated", "False")));
  EXPECT_THAT(ConditionsOf(pool), ElementsAre("Other=False", "Validated=False"));
  EXPECT_FALSE(pool["status"].contains("currentNodes"));
  EXPECT_EQ(pool["metadata"]["generation"], 1);
  EXPECT_EQ(pool["spec"]["targetNodes"], 2);
}

TEST_F(ApplyTest, TakesTaintsAsOne) {
  const std::string name = Name("node");
  Need(Apply(At(kNodes, name), Tainted(name, "ours")));
  EXPECT_THAT(Apply(At(kNodes, name), Tainted(name, "theirs"), "other"),
              StatusIs(StatusCode::kAborted, HasSubstr(".spec.taints")));
  const Json node = Need(Apply(At(kNodes, name), Tainted(name, "theirs"), "other", true));
  EXPECT_EQ(node["spec"]["taints"].size(), 1);
  EXPECT_EQ(FieldsOwnedBy(node, "muster", "Apply"), nullptr);
}

TEST_F(ApplyTest, SharesFinalizers) {
  const std::string name = Name("pool");
  const auto held = [&](const char* finalizer) {
    Json pool = Pool(name);
    pool.erase("spec");
    pool["metadata"]["finalizers"] = Json::array({finalizer});
    return pool;
  };
  Create(kPools, Pool(name));
  Need(Apply(At(kPools, name), held("test.example/one")));
  Json pool = Need(Apply(At(kPools, name), held("test.example/two"), "other"));
  EXPECT_EQ(pool["metadata"]["finalizers"], Json::array({"test.example/one", "test.example/two"}));
  Json none = Pool(name);
  none.erase("spec");
  pool = Need(Apply(At(kPools, name), none));
  EXPECT_EQ(pool["metadata"]["finalizers"], Json::array({"test.example/two"}));
  EXPECT_THAT(client_->Delete(At(kPools, name)), IsOk());
  Need(Apply(At(kPools, name), none, "other"));
  EXPECT_THAT(client_->Get(At(kPools, name)), StatusIs(StatusCode::kNotFound));
}

TEST_F(ApplyTest, ChangesNothingTheSecondTime) {
  const std::string name = Name("node");
  const Json config = Labelled(name, {{"a", "1"}});
  const Json status = WithCondition(name, "CWActive", "True");
  Need(Apply(At(kNodes, name), config));
  const Json first = Need(Apply(At(kNodes, name, "status"), status));
  EXPECT_EQ(VersionOf(Need(Apply(At(kNodes, name), config))), VersionOf(first));
  EXPECT_EQ(VersionOf(Need(Apply(At(kNodes, name, "status"), status))), VersionOf(first));
  // Somebody more to own it is a change.
  EXPECT_NE(VersionOf(Need(Apply(At(kNodes, name), config, "other"))), VersionOf(first));
}

}  // namespace
}  // namespace muster::testing
