#include "services/musterctl/schema/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::musterctl {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string Explained(Kind kind, const std::vector<std::string>& path, bool recursive = false) {
  const auto text = ExplainFields(kind, path, recursive);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

TEST(SchemaTest, AFieldWithWhatTheProtoSaysOfIt) {
  EXPECT_EQ(Explained(Kind::kNodePool, {"spec", "targetNodes"}),
            "KIND:       NodePool\n"
            "VERSION:    compute.coreweave.com/v1alpha1\n\n"
            "FIELD: targetNodes <integer>\n\n"
            "DESCRIPTION:\n    Required. Desired Nodes, 0 to 100,000.\n");
  const std::string lifecycle = Explained(Kind::kNodePool, {"spec", "lifecycle"});
  EXPECT_THAT(lifecycle, HasSubstr("FIELD: lifecycle <Lifecycle>\n"));
  EXPECT_THAT(lifecycle, HasSubstr("  scaleDownStrategy\t<string>\n    "));
}

TEST(SchemaTest, ManifestsOfFlatMessagesHaveASpecToo) {
  EXPECT_THAT(Explained(Kind::kQuota, {"spec", "limit"}), HasSubstr("FIELD: limit <integer>"));
  EXPECT_THAT(Explained(Kind::kQuota, {}), HasSubstr("\n  overrides\t<[]LimitOverride>\n"));
  // Words of an enum are said with their meaning.
  EXPECT_THAT(Explained(Kind::kMachine, {"status", "state"}),
              HasSubstr("- STATE_FREE: In service, nobody"));
}

// Whoever asks has read them in the output of get or describe.
TEST(SchemaTest, FieldsAreFoundWhereObjectsShowThem) {
  EXPECT_THAT(Explained(Kind::kNode, {"spec", "cordoned"}), HasSubstr("FIELD: cordoned <boolean>"));
  EXPECT_THAT(Explained(Kind::kNode, {"status", "activePods"}), HasSubstr("FIELD: activePods <"));
  EXPECT_THAT(Explained(Kind::kNode, {"metadata", "labels"}), HasSubstr("FIELD: labels <map["));
  EXPECT_NE(Explained(Kind::kNode, {"spec", "nodeProfile"}),
            Explained(Kind::kNode, {"status", "nodeProfile"}));
  EXPECT_THAT(Explained(Kind::kNodePool, {"status", "reconfiguration", "haltReason"}),
              HasSubstr("FIELD: haltReason <string>"));
  EXPECT_FALSE(ExplainFields(Kind::kNode, {"spec", "activePods"}, false).ok());
}

TEST(SchemaTest, EveryKindHasFieldsAndEveryFieldIsExplained) {
  for (const Kind kind : AllKinds())
    EXPECT_THAT(Explained(kind, {}), HasSubstr("\nFIELDS:\n")) << KindWord(kind);
  for (const SchemaField* field = kSchemaFields; field->message != nullptr; ++field)
    EXPECT_STRNE(field->comment, "") << field->message << "." << field->name;
}

TEST(SchemaTest, RecursiveIsATree) {
  const std::string tree = Explained(Kind::kNodePool, {"spec"}, true);
  EXPECT_THAT(tree, HasSubstr("\n  nodeAffinity\t<NodeAffinity>\n    terms\t<[]NodeAffinityTerm>\n "
                              "     expressions\t"));
  EXPECT_THAT(tree, Not(HasSubstr("Desired Nodes")));
}

TEST(SchemaTest, WhatDoesNotExistIsToldWithWhatDoes) {
  const auto wrong = ExplainFields(Kind::kNodePool, {"spec", "targetnode"}, false);
  EXPECT_THAT(
      std::string(wrong.status().message()),
      StartsWith("field \"targetnode\" does not exist; there are computeClass, instanceType,"));
  const auto deeper = ExplainFields(Kind::kNodePool, {"spec", "targetNodes", "x"}, false);
  EXPECT_THAT(std::string(deeper.status().message()), HasSubstr("targetNodes has no fields"));
  EXPECT_THAT(FieldsAt(Kind::kNodePool, {"spec"}), Contains("gang"));
  EXPECT_THAT(FieldsAt(Kind::kNodePool, {"nosuch"}), IsEmpty());
}

}  // namespace
}  // namespace muster::musterctl
