// What lifecycle takes, the services that it asks take too: they would refuse the whole batch that
// it is in, for ever.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/validate.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/common/resource_name.h"
#include "services/configuration/core/validate.h"
#include "services/configuration/wire/configuration_wire.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/validate.h"
#include "services/lifecycle/peers/wire/peer_wire.h"
#include "services/quota/core/validate.h"
#include "services/quota/wire/quota_wire.h"

namespace muster::simulation {
namespace {

struct Asked {
  lifecycle::Cluster cluster = {.name = "organizations/acme/clusters/c1", .zone = "US-EAST-04A"};
  lifecycle::Pool pool = {.name = "organizations/acme/clusters/c1/nodePools/train", .uid = "u1"};
};

// What is wrong with the request as the other service reads it.
template <typename Command, typename Request>
std::string FaultsOf(const Request& request,
                     Command (*from_proto)(const Request&, absl::string_view, error::Faults&)) {
  error::Faults faults;
  Validate(from_proto(request, "request", faults), "request", faults);
  return std::string(faults.status().message());
}

struct Row {
  const char* what;
  void (*change)(Asked& asked);
};

class AcceptedTest : public ::testing::TestWithParam<Row> {};

TEST_P(AcceptedTest, ByAll) {
  Asked asked;
  asked.pool.spec.instance_type = "gd-8xa100-i128";
  GetParam().change(asked);
  asked.pool.zone = asked.cluster.zone;
  const lifecycle::Pool& pool = asked.pool;
  error::Faults faults;
  ValidateCluster(asked.cluster, faults);
  ValidateSpec(pool.spec, 1, faults);
  EXPECT_EQ(faults.status().message(), "");
  EXPECT_TRUE(lifecycle::ParsePoolName(pool.name).has_value());
  EXPECT_TRUE(IsDnsLabel(pool.uid));

  const lifecycle::HoldingAsk holding{.nodes = 1, .generation = 1};
  EXPECT_EQ(FaultsOf(RequestOf(pool, holding), &quota::FromProto), "");
  const lifecycle::ClaimAsk claim{.nodes = 1, .generation = 1};
  EXPECT_EQ(FaultsOf(RequestOf(pool, claim), &capacity::FromProto), "");
  const lifecycle::ConfigurationAsk configuration{.generation = 1, .gpu = true};
  EXPECT_EQ(FaultsOf(RequestOf(pool, asked.cluster, configuration), &configuration::FromProto), "");
}

const std::string& Longest() {
  static const std::string* const kLongest = new std::string(63, 'a');
  return *kLongest;
}

void Want(Asked& asked, const std::string& key, const std::string& value) {
  asked.pool.spec.node_affinity = {{{key, "In", {value}}, {key, "Exists", {}}}};
}

constexpr Row kRows[] = {
    {"nothing", [](Asked&) {}},
    {"a version", [](Asked& asked) { asked.cluster.kubernetes_version = "1.33"; }},
    {"the longest version",
     [](Asked& asked) { asked.cluster.kubernetes_version = "999999999.999999999"; }},
    {"the least version", [](Asked& asked) { asked.cluster.kubernetes_version = "0.0"; }},
    {"a short zone", [](Asked& asked) { asked.cluster.zone = "1A"; }},
    {"a long zone", [](Asked& asked) { asked.cluster.zone = std::string(30, '0') + "-A"; }},
    {"a long type", [](Asked& asked) { asked.pool.spec.instance_type = Longest(); }},
    {"a long uid", [](Asked& asked) { asked.pool.uid = Longest(); }},
    {"long names",
     [](Asked& asked) {
       asked.cluster.name = absl::StrCat("organizations/", Longest(), "/clusters/", Longest());
       asked.pool.name = absl::StrCat(asked.cluster.name, "/nodePools/", Longest());
     }},
    {"a long image",
     [](Asked& asked) { asked.pool.spec.image = lifecycle::Image{.name = std::string(128, '~')}; }},
    {"a long kernel",
     [](Asked& asked) {
       asked.pool.spec.image =
           lifecycle::Image{.kernel = std::string(128, '!'), .release_train = "latest"};
     }},
    {"a long driver", [](Asked& asked) { asked.pool.spec.gpu = lifecycle::Gpu{"999999"}; }},
    {"an affinity of long words",
     [](Asked& asked) {
       const std::string prefix = absl::StrCat(Longest(), ".", Longest(), ".", Longest(), ".");
       Want(asked, absl::StrCat(prefix, std::string(61, 'a'), "/", Longest()), Longest());
     }},
    {"an affinity of a long part",
     [](Asked& asked) { Want(asked, std::string(253, 'a') + "/" + Longest(), ""); }},
    {"an affinity of short words", [](Asked& asked) { Want(asked, "a", ""); }},
};

INSTANTIATE_TEST_SUITE_P(Words, AcceptedTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return absl::StrCat(row.index); });

}  // namespace
}  // namespace muster::simulation
