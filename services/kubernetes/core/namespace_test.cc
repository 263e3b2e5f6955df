#include "services/kubernetes/core/namespace.h"

#include <gtest/gtest.h>

namespace muster::kubernetes {
namespace {

const std::set<std::string>& ControlPlane() {
  static const auto& names = *new std::set<std::string>{"kube-system", "muster-system"};
  return names;
}

std::string OrganizationOf(const NamespaceObject& object) {
  const auto patch = NamespacePatch(object, "acme", ControlPlane());
  return patch ? (*patch)["metadata"]["labels"]["ns.coreweave.cloud/org"].get<std::string>() : "";
}

// "`control-plane` for the configured control-plane namespaces, the org id for every other"
TEST(NamespacePatch, GivesEachItsOrganization) {
  EXPECT_EQ(OrganizationOf({.name = "team"}), "acme");
  EXPECT_EQ(OrganizationOf({.name = "kube-system"}), "control-plane");
}

TEST(NamespacePatch, PutsBackWhatWasChanged) {
  EXPECT_EQ(OrganizationOf({.name = "team", .organization = "control-plane"}), "acme");
  EXPECT_EQ(OrganizationOf({.name = "kube-system", .organization = "acme"}), "control-plane");
}

TEST(NamespacePatch, SaysNothingTwice) {
  EXPECT_FALSE(NamespacePatch({.name = "team", .organization = "acme"}, "acme", ControlPlane()));
  EXPECT_FALSE(NamespacePatch({.name = "muster-system", .organization = "control-plane"}, "acme",
                              ControlPlane()));
}

TEST(NamespacePatch, LeavesOneThatIsOnItsWayOut) {
  EXPECT_FALSE(NamespacePatch({.name = "team", .deleting = true}, "acme", ControlPlane()));
}

// With its uid, so that none is made where it has ended.
TEST(NamespacePatch, IsAnApplyOfTheLabelAlone) {
  EXPECT_EQ(*NamespacePatch({.name = "team", .uid = "u-1"}, "acme", ControlPlane()),
            Json({{"apiVersion", "v1"},
                  {"kind", "Namespace"},
                  {"metadata",
                   {{"name", "team"},
                    {"uid", "u-1"},
                    {"labels", {{"ns.coreweave.cloud/org", "acme"}}}}}}));
}

}  // namespace
}  // namespace muster::kubernetes
