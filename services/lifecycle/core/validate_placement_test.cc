// What is refused of spec.lifecycle.maxUnavailable, spec.nodeAffinity and spec.prefill.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/testing/decide.h"
#include "services/lifecycle/core/validate.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The fields that are refused.
std::vector<std::string> Fields(const Spec& spec) {
  std::vector<std::string> fields;
  Faults faults;
  ValidateSpec(spec, 1, faults);
  for (const auto& fault : faults) fields.push_back(fault.field);
  return fields;
}

TEST(ValidateMaxUnavailable, ANumberOrAPercentageOfAtLeastOne) {
  Spec spec = GoodSpec();
  for (const char* good : {"", "1", "25%", "100%", "100000"}) {
    spec.max_unavailable = good;
    EXPECT_THAT(Fields(spec), IsEmpty()) << good;
  }
  for (const char* bad : {"0", "0%", "101%", "-1", "1.5", "%", "x", " 2", "100001", "2 %"}) {
    spec.max_unavailable = bad;
    EXPECT_THAT(Fields(spec), ElementsAre("spec.lifecycle.maxUnavailable")) << bad;
  }
}

TEST(ValidateNodeAffinity, EachExpressionIsAPodsRequirement) {
  const auto fields = [](Affinity affinity) {
    Spec spec = GoodSpec();
    spec.node_affinity = std::move(affinity);
    return Fields(spec);
  };
  EXPECT_THAT(fields({{{"row", "In", {"7"}}, {"row", "Exists", {}}}, {{"a/b", "NotIn", {"x"}}}}),
              IsEmpty());
  EXPECT_THAT(fields({{}}), ElementsAre("spec.nodeAffinity.terms[0].expressions"));
  EXPECT_THAT(fields({{{"row", "In", {"7"}}, {"-", "Gt", {"7"}}}}),
              ElementsAre("spec.nodeAffinity.terms[0].expressions[1].key",
                          "spec.nodeAffinity.terms[0].expressions[1].operator"));
  for (const AffinityExpression& bad :
       {AffinityExpression{"row", "In", {}}, AffinityExpression{"row", "Exists", {"7"}},
        AffinityExpression{"row", "In", {"a b"}},
        AffinityExpression{"row", "In", std::vector<std::string>(kMaxAffinityValues + 1, "7")}}) {
    EXPECT_THAT(fields({{bad}}), ElementsAre("spec.nodeAffinity.terms[0].expressions[0].values"));
  }
  EXPECT_THAT(fields(Affinity(kMaxAffinityTerms + 1, {{"row", "Exists", {}}})),
              ElementsAre("spec.nodeAffinity.terms"));
  // Each list within its bounds, all together a megabyte.
  const AffinityExpression wide = {
      "row", "In", std::vector<std::string>(kMaxAffinityValues, std::string(63, 'v'))};
  EXPECT_THAT(fields(Affinity(4, {wide})), IsEmpty());
  EXPECT_THAT(fields(Affinity(5, {wide})), ElementsAre("spec.nodeAffinity.terms"));
}

TEST(ValidatePrefill, OneToFourNodesAndNotWithAutoscalingOrSpot) {
  const auto fields = [](Prefill prefill, bool autoscaling = false, bool spot = false) {
    Spec spec = GoodSpec();
    spec.prefill = prefill;
    spec.autoscaling = autoscaling;
    spec.max_nodes = 2;
    spec.compute_class = spot ? "spot" : "";
    return Fields(spec);
  };
  EXPECT_THAT(fields({true, 0, 0}), IsEmpty());
  EXPECT_THAT(fields({true, kMaxPrefillSeconds, kMaxPrefillNodes}), IsEmpty());
  EXPECT_THAT(fields({true, -1, 5}),
              ElementsAre("spec.prefill.timeoutSeconds", "spec.prefill.maxNodes"));
  EXPECT_THAT(fields({true, kMaxPrefillSeconds + 1, -1}),
              ElementsAre("spec.prefill.timeoutSeconds", "spec.prefill.maxNodes"));
  EXPECT_THAT(fields({true, 0, 1}, true, false), ElementsAre("spec.prefill.enabled"));
  EXPECT_THAT(fields({true, 0, 1}, false, true), ElementsAre("spec.prefill.enabled"));
  EXPECT_THAT(fields({false, 0, 1}, true, true), IsEmpty());
}

}  // namespace
}  // namespace muster::lifecycle
