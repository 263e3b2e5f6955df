#include "services/access/scope.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

namespace muster::access {
namespace {

TEST(Scope, AnOrganizationCoversWhatHasItsNameInFront) {
  Scope scope;
  EXPECT_TRUE(scope.empty());
  scope.AddOrganization("acme");
  EXPECT_TRUE(scope.Covers("organizations/acme"));
  EXPECT_TRUE(scope.Covers("organizations/acme/clusters/c1/nodePools/a"));
  EXPECT_TRUE(scope.Covers("organizations/acme/quotas/US-EAST-04A~t~spot"));
  for (const char* foreign :
       {"organizations/acme2", "organizations/acm", "organizations/acme2/clusters/c1",
        "organizations/beta/clusters/acme", "organizations/", "organizations/-", "acme", "",
        "zones/acme", "Organizations/acme", "/organizations/acme"})
    EXPECT_FALSE(scope.Covers(foreign)) << foreign;
  EXPECT_EQ(scope.Narrowed(""), "organizations/acme/");
}

TEST(Scope, AClusterCoversItselfAndWhatIsInIt) {
  Scope scope;
  scope.AddCluster("organizations/acme/clusters/c1");
  EXPECT_TRUE(scope.only_clusters());
  EXPECT_TRUE(scope.Covers("organizations/acme/clusters/c1"));
  EXPECT_TRUE(scope.Covers("organizations/acme/clusters/c1/nodePools/a/nodes/m1"));
  for (const char* foreign : {"organizations/acme/clusters/c10", "organizations/acme",
                              "organizations/acme/quotas/c1", "organizations/beta/clusters/c1"})
    EXPECT_FALSE(scope.Covers(foreign)) << foreign;
  EXPECT_EQ(scope.Narrowed(""), "organizations/acme/clusters/c1");
}

TEST(Scope, IsOfClustersAloneWithoutAnythingElse) {
  EXPECT_FALSE(Scope().only_clusters());
  Scope organization, zone, everywhere = Scope::Everywhere();
  organization.AddOrganization("acme");
  zone.AddZone("US-EAST-04A");
  for (Scope* scope : {&organization, &zone, &everywhere}) {
    scope->AddCluster("organizations/acme/clusters/c1");
    EXPECT_FALSE(scope->only_clusters()) << scope->ToString();
  }
}

TEST(Scope, AZoneCoversWhatIsInIt) {
  Scope scope;
  scope.AddZone("US-EAST-04A");
  EXPECT_TRUE(scope.Covers("organizations/acme/clusters/c1", "US-EAST-04A"));
  EXPECT_TRUE(scope.Covers("", "US-EAST-04A"));
  EXPECT_FALSE(scope.Covers("organizations/acme/clusters/c1", "US-EAST-04B"));
  EXPECT_FALSE(scope.Covers("organizations/acme/clusters/c1"));
  EXPECT_EQ(scope.Narrowed(""), "");
}

TEST(Scope, TellsWhereItsOwnIsAmongNames) {
  constexpr char kAcme[] = "organizations/acme/";
  constexpr char kProd[] = "organizations/acme/clusters/prod";
  constexpr char kNodes[] = "organizations/acme/clusters/prod/nodePools/a/";
  Scope organization, cluster, two, zone;
  organization.AddOrganization("acme");
  cluster.AddCluster(kProd);
  two.AddCluster(kProd);
  two.AddOrganization("beta");
  zone.AddZone("US-EAST-04A");
  for (const char* all : {"", "organizations", "organizations/", "organizations/acme"})
    EXPECT_EQ(organization.Narrowed(all), kAcme) << all;
  for (const char* own : {kAcme, kProd, kNodes}) EXPECT_EQ(organization.Narrowed(own), own);
  for (const char* all : {"", kAcme, "organizations/acme/clusters/", kProd})
    EXPECT_EQ(cluster.Narrowed(all), kProd) << all;
  EXPECT_EQ(cluster.Narrowed(kNodes), kNodes);
  for (const char* foreign :
       {"organizations/other/", "organizations/acme-2/", "organizations/acm",
        "organizations/acme/clusters/prod-2/", "organizations/acme/quotas/", "zones/"})
    EXPECT_EQ(cluster.Narrowed(foreign), std::nullopt) << foreign;
  EXPECT_EQ(organization.Narrowed("organizations/other/clusters/c1"), std::nullopt);
  EXPECT_EQ(two.Narrowed("organizations/"), "organizations/") << "both are there";
  EXPECT_EQ(two.Narrowed(kAcme), kProd);
  EXPECT_EQ(two.Narrowed("organizations/other/"), std::nullopt);
  EXPECT_EQ(zone.Narrowed("organizations/other/"), "organizations/other/") << "it may be there";
  EXPECT_EQ(Scope::Everywhere().Narrowed(kAcme), kAcme);
  EXPECT_EQ(Scope().Narrowed(""), std::nullopt);
}

TEST(Scope, KnowsWhenItIsOneOrganizations) {
  Scope scope;
  EXPECT_EQ(scope.OnlyOrganization(), "");
  scope.AddCluster("organizations/acme/clusters/c1");
  scope.AddCluster("organizations/acme/clusters/c2");
  EXPECT_EQ(scope.OnlyOrganization(), "organizations/acme");
  scope.AddOrganization("acme");
  EXPECT_EQ(scope.OnlyOrganization(), "organizations/acme");
  scope.AddOrganization("beta");
  EXPECT_EQ(scope.OnlyOrganization(), "");
  EXPECT_EQ(Scope::Everywhere().OnlyOrganization(), "");
}

// Else what it does elsewhere would count for that organization.
TEST(Scope, IsNotOneOrganizationsWhereItReachesFurther) {
  Scope with_zone, everywhere = Scope::Everywhere();
  with_zone.AddZone("US-EAST-04A");
  for (Scope* scope : {&with_zone, &everywhere}) {
    scope->AddOrganization("acme");
    EXPECT_EQ(scope->OnlyOrganization(), "") << scope->ToString();
  }
}

TEST(Scope, EqualOnesAloneShareAView) {
  Scope acme;
  acme.AddOrganization("acme");
  Scope both = acme;
  both.AddOrganization("beta");
  Scope again;
  again.AddOrganization("beta");
  again.AddOrganization("acme");
  EXPECT_EQ(ViewOf(&again), ViewOf(&both));
  EXPECT_NE(ViewOf(&acme), ViewOf(&both));
  EXPECT_NE(ViewOf(nullptr), ViewOf(&both));
  EXPECT_NE(ViewOf(nullptr), "");
  std::set<std::string> views = {ViewOf(nullptr)};
  const auto add = [&](const std::function<void(Scope&)>& widen) {
    Scope scope = acme;
    widen(scope);
    EXPECT_TRUE(views.insert(ViewOf(&scope)).second) << scope.ToString();
  };
  add([](Scope&) {});
  add([](Scope& scope) { scope.AddCluster("organizations/beta/clusters/c1"); });
  add([](Scope& scope) { scope.AddCluster("organizations/beta/clusters/c2"); });
  add([](Scope& scope) { scope.AddZone("US-EAST-04A"); });
  add([](Scope& scope) { scope.AddZone("US-WEST-01A"); });
  add([](Scope& scope) { scope.Add(Scope::Everywhere()); });
}

TEST(Scope, TwoAreWhatEitherCovers) {
  Scope scope;
  scope.AddOrganization("acme");
  Scope other;
  other.AddCluster("organizations/beta/clusters/b1");
  scope.Add(other);
  EXPECT_TRUE(scope.Covers("organizations/acme/clusters/c1"));
  EXPECT_TRUE(scope.Covers("organizations/beta/clusters/b1"));
  EXPECT_FALSE(scope.Covers("organizations/beta/clusters/b2"));
  EXPECT_EQ(scope.Narrowed(""), "");
  EXPECT_EQ(scope.ToString(), "organizations acme; clusters organizations/beta/clusters/b1");
  scope.Add(Scope::Everywhere());
  EXPECT_TRUE(scope.Covers("anything"));
  EXPECT_EQ(scope.ToString(), "everywhere");
  scope.Add(other);
  EXPECT_TRUE(scope.Covers("anything")) << "nor is it less by what it covers already";
}

}  // namespace
}  // namespace muster::access
