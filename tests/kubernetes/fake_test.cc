// What both back ends do with single objects: create, read, replace, patch, delete.
#include "tests/kubernetes/server_test_base.h"

namespace muster::testing {
namespace {

using ::absl::StatusCode;
using kubernetes::ErrorOf;
using kubernetes::PatchType;
using ::testing::HasSubstr;
using ::testing::Ne;
using ::testing::StartsWith;

using ObjectsTest = ServerTest;

TEST_F(ObjectsTest, SaysItsVersion) {
  EXPECT_THAT(Get("/version").value("gitVersion", ""), StartsWith("v1."));
}

TEST_F(ObjectsTest, CreatesOnceAndFindsIt) {
  const std::string name = Name("node");
  const Json created = Create(kNodes, Node(name));
  EXPECT_THAT(UidOf(created), Ne(""));
  EXPECT_THAT(created["metadata"].value("creationTimestamp", ""), HasSubstr("T"));
  EXPECT_EQ(Get(At(kNodes, name)), created);
  const auto again = client_->Create(kNodes, Node(name));
  EXPECT_THAT(again, StatusIs(StatusCode::kAlreadyExists, HasSubstr(name)));
  EXPECT_EQ(ErrorOf(again.status()).reason, "AlreadyExists");
}

TEST_F(ObjectsTest, TellsWhatIsMissing) {
  EXPECT_THAT(client_->Get(At(kNodes, "nobody")),
              StatusIs(StatusCode::kNotFound, HasSubstr("nodes \"nobody\" not found")));
  EXPECT_THAT(client_->Get(At(kPools, "nobody")),
              StatusIs(StatusCode::kNotFound,
                       HasSubstr("nodepools.compute.coreweave.com \"nobody\" not found")));
  EXPECT_THAT(client_->Delete(At(kNodes, "nobody")), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(client_->Get("/api/v1/nonsense"), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(client_->Create("/api/v1/namespaces/nowhere/pods", Pod(Name("pod"), "")),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere")));
}

TEST_F(ObjectsTest, MakesNames) {
  Json node = Node("");
  node["metadata"] = {{"generateName", "made-"}};
  const std::string one = Create(kNodes, node)["metadata"].value("name", "");
  const std::string other = Create(kNodes, node)["metadata"].value("name", "");
  EXPECT_THAT(one, StartsWith("made-"));
  EXPECT_NE(one, other);
}

TEST_F(ObjectsTest, ReplacesOnlyWhatWasReadLast) {
  const std::string name = Name("node");
  Json node = Create(kNodes, Node(name));
  Json newer = node;
  newer["metadata"]["labels"]["a"] = "1";
  const Json replaced = Need(client_->Replace(At(kNodes, name), newer));
  EXPECT_NE(VersionOf(replaced), VersionOf(node));
  node["metadata"]["labels"]["a"] = "2";
  const auto stale = client_->Replace(At(kNodes, name), node);
  EXPECT_THAT(stale, StatusIs(StatusCode::kAborted, HasSubstr("the object has been modified")));
  EXPECT_EQ(ErrorOf(stale.status()).reason, "Conflict");
  EXPECT_EQ(Get(At(kNodes, name))["metadata"]["labels"]["a"], "1");
}

TEST_F(ObjectsTest, NeedsAVersionToReplaceCustomResources) {
  const std::string name = Name("pool");
  Create(kPools, Pool(name));
  EXPECT_THAT(client_->Replace(At(kPools, name), Pool(name)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("metadata.resourceVersion")));
  const std::string node = Name("node");
  Create(kNodes, Node(node));
  EXPECT_THAT(client_->Replace(At(kNodes, node), Node(node)), IsOk());
}

TEST_F(ObjectsTest, CountsNoChangeWhereThereIsNone) {
  const std::string name = Name("node");
  Json node = Node(name);
  node["metadata"]["labels"]["a"] = "1";
  const Json created = Create(kNodes, node);
  EXPECT_EQ(VersionOf(Need(client_->Replace(At(kNodes, name), created))), VersionOf(created));
  const Json same = {{"metadata", {{"labels", {{"a", "1"}}}}}};
  EXPECT_EQ(VersionOf(Need(Merge(At(kNodes, name), same))), VersionOf(created));
  EXPECT_EQ(VersionOf(Get(At(kNodes, name))), VersionOf(created));
}

TEST_F(ObjectsTest, KeepsStatusAndSpecApart) {
  const std::string name = Name("pool");
  Json pool = Pool(name);
  pool["status"]["currentNodes"] = 7;
  EXPECT_FALSE(Create(kPools, pool).contains("status"));
  Need(Merge(At(kPools, name), {{"status", {{"currentNodes", 7}}}}));
  EXPECT_FALSE(Get(At(kPools, name)).contains("status"));
  const Json both = {{"metadata", {{"labels", {{"a", "b"}}}}},
                     {"spec", {{"targetNodes", 9}}},
                     {"status", {{"currentNodes", 1}}}};
  Need(Merge(At(kPools, name, "status"), both));
  pool = Get(At(kPools, name));
  EXPECT_EQ(pool["status"]["currentNodes"], 1);
  EXPECT_EQ(pool["spec"]["targetNodes"], 2);
  EXPECT_FALSE(pool["metadata"].contains("labels"));
}

TEST_F(ObjectsTest, KeepsStatusOfNodesApart) {
  const std::string name = Name("node");
  Create(kNodes, Node(name));
  Need(Merge(At(kNodes, name, "status"),
             {{"spec", {{"unschedulable", true}}}, {"status", {{"capacity", {{"cpu", "4"}}}}}}));
  Need(Merge(At(kNodes, name), {{"status", {{"capacity", {{"cpu", "8"}}}}}}));
  const Json node = Get(At(kNodes, name));
  EXPECT_EQ(node["status"]["capacity"]["cpu"], "4");
  EXPECT_FALSE(node["spec"].value("unschedulable", false));
}

TEST_F(ObjectsTest, CountsGenerationsOfTheSpec) {
  const std::string name = Name("pool");
  const auto generation = [&] { return Get(At(kPools, name))["metadata"]["generation"]; };
  Json pool = Pool(name);
  pool["metadata"]["finalizers"] = Json::array({"test.example/hold"});
  Create(kPools, pool);
  EXPECT_EQ(generation(), 1);
  Need(Merge(At(kPools, name), {{"metadata", {{"labels", {{"a", "b"}}}}}}));
  Need(Merge(At(kPools, name, "status"), {{"status", {{"currentNodes", 1}}}}));
  EXPECT_EQ(generation(), 1);
  Need(Merge(At(kPools, name), {{"spec", {{"targetNodes", 3}}}}));
  EXPECT_EQ(generation(), 2);
  EXPECT_THAT(client_->Delete(At(kPools, name)), IsOk());
  EXPECT_EQ(generation(), 3);
  EXPECT_THAT(client_->Delete(At(kPools, name)), IsOk());
  EXPECT_EQ(generation(), 3);
}

TEST_F(ObjectsTest, HoldsWhatHasFinalizers) {
  const std::string path = At(kPools, Name("pool"));
  Json pool = Pool(path.substr(path.rfind('/') + 1));
  pool["metadata"]["finalizers"] = Json::array({"test.example/one", "test.example/two"});
  Create(kPools, pool);
  EXPECT_THAT(client_->Delete(path), IsOk());
  EXPECT_TRUE(Get(path)["metadata"].contains("deletionTimestamp"));
  const auto finalizers = [](std::vector<std::string> names) {
    return Json({{"metadata", {{"finalizers", Json(std::move(names))}}}});
  };
  EXPECT_THAT(Merge(path, finalizers({"test.example/one", "test.example/three"})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no new finalizers can be added")));
  Need(Merge(path, finalizers({"test.example/two"})));
  EXPECT_EQ(Get(path)["metadata"]["finalizers"], Json::array({"test.example/two"}));
  Need(Merge(path, {{"metadata", {{"finalizers", nullptr}}}}));
  EXPECT_THAT(client_->Get(path), StatusIs(StatusCode::kNotFound));
}

TEST_F(ObjectsTest, DeletesOnlyTheObjectThatIsMeant) {
  const std::string name = Name("node");
  const Json node = Create(kNodes, Node(name));
  const auto options = [](const std::string& uid) {
    return Json(
        {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", uid}}}});
  };
  EXPECT_THAT(client_->Delete(At(kNodes, name), options("somebody-else")),
              StatusIs(StatusCode::kAborted, HasSubstr("does not match the UID in record")));
  EXPECT_THAT(client_->Delete(At(kNodes, name), options(UidOf(node))), IsOk());
  EXPECT_THAT(client_->Get(At(kNodes, name)), StatusIs(StatusCode::kNotFound));
}

TEST_F(ObjectsTest, PatchesByJsonPatchOnlyIfItsTestHolds) {
  const std::string path = At(kPools, Name("pool"));
  Json pool = Pool(path.substr(path.rfind('/') + 1));
  pool["metadata"]["annotations"] = {{"a", "1"}, {"b", "2"}};
  Create(kPools, pool);
  const auto remove_if = [&](const char* value) {
    return client_->Patch(
        PatchType::kJson, path,
        Json::array({Json({{"op", "test"}, {"path", "/metadata/annotations/a"}, {"value", value}}),
                     Json({{"op", "remove"}, {"path", "/metadata/annotations/a"}})}));
  };
  EXPECT_THAT(remove_if("9"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(Get(path)["metadata"]["annotations"].size(), 2);
  EXPECT_EQ(Need(remove_if("1"))["metadata"]["annotations"], Json({{"b", "2"}}));
}

TEST_F(ObjectsTest, PatchesOnlyTheVersionThatIsNamed) {
  const std::string name = Name("pool");
  const Json pool = Create(kPools, Pool(name));
  const Json patch = {{"metadata", {{"resourceVersion", VersionOf(pool)}}},
                      {"spec", {{"targetNodes", 3}}}};
  Need(Merge(At(kPools, name), patch));
  Json late = patch;
  late["spec"]["targetNodes"] = 4;
  EXPECT_THAT(Merge(At(kPools, name), late), StatusIs(StatusCode::kAborted));
  EXPECT_EQ(Get(At(kPools, name))["spec"]["targetNodes"], 3);
}

TEST_F(ObjectsTest, ScalesPools) {
  const std::string name = Name("pool");
  Create(kPools, Pool(name));
  Need(Merge(At(kPools, name, "status"), {{"status", {{"currentNodes", 1}}}}));
  Json scale = Get(At(kPools, name, "scale"));
  EXPECT_EQ(scale["kind"], "Scale");
  EXPECT_EQ(scale["spec"]["replicas"], 2);
  EXPECT_EQ(scale["status"]["replicas"], 1);
  scale["spec"]["replicas"] = 5;
  EXPECT_EQ(Need(client_->Replace(At(kPools, name, "scale"), scale))["spec"]["replicas"], 5);
  EXPECT_THAT(client_->Replace(At(kPools, name, "scale"), scale), StatusIs(StatusCode::kAborted));
  Need(Merge(At(kPools, name, "scale"), {{"spec", {{"replicas", 6}}}}));
  const Json pool = Get(At(kPools, name));
  EXPECT_EQ(pool["spec"]["targetNodes"], 6);
  EXPECT_EQ(pool["metadata"]["generation"], 3);
  EXPECT_THAT(Merge(At(kPools, name, "scale"), {{"spec", {{"replicas", -1}}}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("Invalid value: -1")));
}

TEST_F(ObjectsTest, KeepsLeasesForOneHolderAtATime) {
  const std::string name = Name("lease");
  const auto lease = [&](const char* holder) {
    return Json({{"apiVersion", "coordination.k8s.io/v1"},
                 {"kind", "Lease"},
                 {"metadata", {{"name", name}}},
                 {"spec", {{"holderIdentity", holder}, {"leaseDurationSeconds", 15}}}});
  };
  const Json created = Create(kLeases, lease("a"));
  EXPECT_THAT(client_->Create(kLeases, lease("b")), StatusIs(StatusCode::kAlreadyExists));
  EXPECT_THAT(client_->Replace(At(kLeases, name), lease("b")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("metadata.resourceVersion")));
  Json taken = lease("b");
  taken["metadata"]["resourceVersion"] = VersionOf(created);
  Need(client_->Replace(At(kLeases, name), taken));
  taken["spec"]["holderIdentity"] = "c";
  EXPECT_THAT(client_->Replace(At(kLeases, name), taken), StatusIs(StatusCode::kAborted));
  EXPECT_EQ(Get(At(kLeases, name))["spec"]["holderIdentity"], "b");
}

TEST_F(ObjectsTest, KeepsNamespacesUntilSomebodyFinishesThem) {
  const std::string name = Name("space");
  Json space = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
  space = Create(kNamespaces, space);
  EXPECT_EQ(space["metadata"]["labels"]["kubernetes.io/metadata.name"], name);
  EXPECT_EQ(space["status"]["phase"], "Active");
  EXPECT_THAT(client_->Delete(At(kNamespaces, name)), IsOk());
  EXPECT_EQ(Get(At(kNamespaces, name))["status"]["phase"], "Terminating");
}

TEST_F(ObjectsTest, TaintsNewNodesAsNotReady) {
  Json node = Node(Name("node"));
  const Json taint = {{"key", "a"}, {"effect", "NoExecute"}};
  node["spec"]["taints"] = Json::array({taint});
  node = Create(kNodes, node);
  EXPECT_EQ(node["spec"]["taints"],
            Json::array({taint, Json({{"key", "node.kubernetes.io/not-ready"},
                                      {"effect", "NoSchedule"}})}));
}

TEST_F(ObjectsTest, TellsGarbage) {
  EXPECT_THAT(
      client_->Create(
          kNodes, Json({{"apiVersion", "v2"}, {"kind", "Node"}, {"metadata", {{"name", "x"}}}})),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("v2")));
  EXPECT_THAT(client_->Replace(At(kNodes, Name("node")), Node("another-name")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not match")));
  Json node = Node(Name("node"));
  node["spec"]["taints"] = Json::array({Json({{"key", "a"}, {"effect", "Perhaps"}})});
  EXPECT_THAT(client_->Create(kNodes, node),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("Perhaps")));
  node["spec"]["taints"] =
      Json::array({Json({{"key", "a"}, {"effect", "NoSchedule"}}),
                   Json({{"key", "a"}, {"value", "b"}, {"effect", "NoSchedule"}})});
  EXPECT_THAT(client_->Create(kNodes, node),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("unique by key and effect")));
}

}  // namespace
}  // namespace muster::testing
