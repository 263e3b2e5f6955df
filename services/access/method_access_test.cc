#include "services/access/method_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/access/v1/access_service.pb.h>
#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration_service.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.pb.h>
#include <muster/quota/v1/quota_service.pb.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "tests/testing/status_matchers.h"

namespace muster::access {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

namespace lv1 = lifecycle::v1;
namespace qv1 = quota::v1;

// Has the messages' files linked in, and their services with them.
const google::protobuf::ServiceDescriptor& ServiceOf(const google::protobuf::Descriptor& request) {
  return *request.file()->service(0);
}

template <class Request>
MethodAccess AccessOf() {
  const google::protobuf::ServiceDescriptor& service = ServiceOf(*Request::descriptor());
  for (int i = 0; i < service.method_count(); ++i) {
    if (service.method(i)->input_type() != Request::descriptor()) continue;
    absl::StatusOr<MethodAccess> access = MethodAccess::Of(*service.method(i));
    EXPECT_THAT(access.status(), IsOk());
    return *std::move(access);
  }
  ADD_FAILURE() << Request::descriptor()->name();
  std::abort();
}

Caller CallerWith(Role role, const Scope& scope, std::string principal = "spiffe://m.test/a") {
  Rights rights;
  rights.Add(role, scope);
  return {.principal = std::move(principal), .rights = std::make_shared<const Rights>(rights)};
}
Scope Acme() {
  Scope scope;
  scope.AddOrganization("acme");
  return scope;
}

template <class Request>
absl::Status Admit(Caller caller, const Request& request) {
  return AccessOf<Request>().Admit(caller, request, &PlaceOfName);
}

constexpr char kOwn[] = "organizations/acme/clusters/c1/nodePools/a";
constexpr char kForeign[] = "organizations/beta/clusters/c1/nodePools/a";
constexpr char kEastCluster[] = "organizations/acme/clusters/east";

TEST(MethodAccess, EveryMethodSaysWhatItAsksFor) {
  for (const auto* file :
       {lv1::GetNodeRequest::descriptor()->file(), qv1::GetQuotaRequest::descriptor()->file(),
        capacity::v1::GetZoneRequest::descriptor()->file(),
        configuration::v1::GetReleaseRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service(0)->method_count(); ++i)
      EXPECT_THAT(MethodAccess::Of(*file->service(0)->method(i)).status(), IsOk());
  }
}

TEST(MethodAccess, AResourceBeyondTheScopeDoesNotExist) {
  const Caller editor = CallerWith(Role::kEditor, Acme());
  lv1::GetNodePoolRequest request;
  request.set_name(kOwn);
  EXPECT_THAT(Admit(editor, request), IsOk());
  request.set_name(kForeign);
  // As the method itself says it of what there is not.
  EXPECT_EQ(Admit(editor, request), error::NotFound(kForeign));
  lv1::DeleteNodePoolRequest deletion;
  deletion.set_name(kForeign);
  EXPECT_EQ(Admit(editor, deletion), error::NotFound(kForeign));
  deletion.set_name(kOwn);
  EXPECT_THAT(Admit(editor, deletion), IsOk());
}

TEST(MethodAccess, WhatIsToBeMadeElsewhereIsDenied) {
  lv1::ApplyNodePoolRequest request;
  request.mutable_node_pool()->set_name(kForeign);
  EXPECT_THAT(Admit(CallerWith(Role::kEditor, Acme()), request),
              StatusIs(absl::StatusCode::kPermissionDenied));
  request.mutable_node_pool()->set_name(kOwn);
  EXPECT_THAT(Admit(CallerWith(Role::kEditor, Acme()), request), IsOk());
}

TEST(MethodAccess, WhoMayLookIsToldThatItMayNotTouch) {
  lv1::DeleteNodePoolRequest request;
  request.set_name(kOwn);
  Rights rights;
  rights.Add(Role::kViewer, Acme());
  Scope one;
  one.AddCluster("organizations/acme/clusters/c2");
  rights.Add(Role::kEditor, one);
  const Caller caller{.principal = "p", .rights = std::make_shared<const Rights>(rights)};
  EXPECT_THAT(Admit(caller, request), StatusIs(absl::StatusCode::kPermissionDenied,
                                               HasSubstr("it takes a role with write")));
}

TEST(MethodAccess, WithoutTheVerbNobodyIsLetIn) {
  const Caller viewer = CallerWith(Role::kViewer, Scope::Everywhere());
  qv1::UpdateQuotaRequest request;
  EXPECT_THAT(Admit(viewer, request), StatusIs(absl::StatusCode::kPermissionDenied,
                                               HasSubstr("UpdateQuota: it takes a role with "
                                                         "operate")));
  EXPECT_THAT(Admit(Caller{.principal = "spiffe://m.test/x"}, qv1::ListQuotasRequest()),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(Admit(Caller{.principal = kAnonymous}, qv1::ListQuotasRequest()),
              StatusIs(absl::StatusCode::kUnauthenticated));
}

// "UNAUTHENTICATED for who has neither a name nor rights", and the error's details say the same.
TEST(MethodAccess, WhoHasRightsIsNotAskedForAName) {
  const auto reason_of = [](const Caller& caller) {
    const absl::Status status = Admit(caller, qv1::UpdateQuotaRequest());
    const auto detail = error::DetailOf(status);
    EXPECT_TRUE(detail.has_value());
    EXPECT_EQ(detail->metadata.at("verb"), "operate");
    EXPECT_EQ(detail->metadata.at("principal"), caller.principal);
    return std::pair(status.code(), detail->reason);
  };
  const std::pair denied(absl::StatusCode::kPermissionDenied, std::string("PERMISSION_DENIED"));
  EXPECT_EQ(reason_of(CallerWith(Role::kViewer, Scope::Everywhere(), kAnonymous)), denied);
  EXPECT_EQ(reason_of(Caller{.principal = "spiffe://m.test/x"}), denied);
  EXPECT_EQ(reason_of(Caller{.principal = kAnonymous}),
            std::pair(absl::StatusCode::kUnauthenticated, std::string("UNAUTHENTICATED")));
}

// "Nowhere, and no verb is needed: the method is about the caller."
TEST(MethodAccess, WhatIsAboutTheCallerIsEverybodys) {
  EXPECT_THAT(Admit(Caller{.principal = kAnonymous}, v1::GetCallerRequest()), IsOk());
}

TEST(MethodAccess, ListsAreNarrowed) {
  Caller caller = CallerWith(Role::kViewer, Acme());
  EXPECT_THAT(
      AccessOf<qv1::ListQuotasRequest>().Admit(caller, qv1::ListQuotasRequest(), &PlaceOfName),
      IsOk());
  ASSERT_NE(caller.narrowed_to, nullptr);
  EXPECT_EQ(*caller.narrowed_to, Acme());
  Caller all = CallerWith(Role::kViewer, Scope::Everywhere());
  EXPECT_THAT(AccessOf<qv1::ListQuotasRequest>().Admit(all, qv1::ListQuotasRequest(), &PlaceOfName),
              IsOk());
  EXPECT_EQ(all.narrowed_to, nullptr);
}

TEST(MethodAccess, WhatIsAboutAllTakesTheVerbEverywhere) {
  qv1::BatchSyncHoldingsRequest request;
  request.add_holdings()->set_name("organizations/acme/quotas/US-EAST-04A~t~default/holdings/u");
  Scope cluster;
  cluster.AddCluster("organizations/acme/clusters/c1");
  EXPECT_THAT(Admit(CallerWith(Role::kAdapter, cluster), request),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("sync everywhere")));
  EXPECT_THAT(Admit(CallerWith(Role::kService, Scope::Everywhere()), request), IsOk());
}

TEST(MethodAccess, TheCatalogueIsEverybodys) {
  EXPECT_THAT(Admit(CallerWith(Role::kViewer, Acme()), capacity::v1::ListZonesRequest()), IsOk());
  EXPECT_THAT(Admit(Caller(), capacity::v1::ListZonesRequest()),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST(MethodAccess, EveryNameOfABatchMustBeCovered) {
  qv1::CheckQuotaRequest request;
  request.add_holdings()->set_name("organizations/acme/quotas/US-EAST-04A~t~default/holdings/u");
  const Caller viewer = CallerWith(Role::kViewer, Acme());
  EXPECT_THAT(Admit(viewer, request), IsOk());
  const std::string foreign = "organizations/beta/quotas/US-EAST-04A~t~default/holdings/u";
  request.add_holdings()->set_name(foreign);
  EXPECT_EQ(Admit(viewer, request), error::NotFound(foreign));
}

TEST(MethodAccess, FieldsMayAskForMore) {
  const Caller editor = CallerWith(Role::kEditor, Acme());
  lv1::UpdateNodeRequest request;
  request.mutable_node()->set_name(std::string(kOwn) + "/nodes/m1");
  request.mutable_node()->set_reserved_desired("control-plane");
  EXPECT_THAT(Admit(editor, request), IsOk()) << "the mask does not name it";
  request.mutable_update_mask()->add_paths("protect_until_time");
  EXPECT_THAT(Admit(editor, request), IsOk());
  request.mutable_update_mask()->add_paths("reserved_desired");
  EXPECT_THAT(Admit(editor, request), StatusIs(absl::StatusCode::kPermissionDenied,
                                               HasSubstr("with node.reserved_desired")));
  request.mutable_update_mask()->clear_paths();
  request.mutable_update_mask()->add_paths("*");
  EXPECT_THAT(Admit(editor, request), StatusIs(absl::StatusCode::kPermissionDenied));
  Rights rights;
  rights.Add(Role::kOperator, Acme());
  EXPECT_THAT(Admit({.principal = "p", .rights = std::make_shared<const Rights>(rights)}, request),
              IsOk());
}

// Nor is the method's verb everywhere the field's.
TEST(MethodAccess, WhoMayWriteEverywhereHasNoFieldsVerbByThat) {
  const Caller editor = CallerWith(Role::kEditor, Scope::Everywhere());
  lv1::UpdateNodeRequest update;
  update.mutable_node()->set_name(std::string(kOwn) + "/nodes/m1");
  update.mutable_update_mask()->add_paths("protect_until_time");
  EXPECT_THAT(Admit(editor, update), IsOk());
  update.mutable_update_mask()->add_paths("reserved_desired");
  EXPECT_THAT(Admit(editor, update), StatusIs(absl::StatusCode::kPermissionDenied,
                                              HasSubstr("with node.reserved_desired")));
  const Caller service = CallerWith(Role::kService, Scope::Everywhere());
  lv1::BindClusterRequest bind;
  bind.set_name("organizations/acme/clusters/c1");
  EXPECT_THAT(Admit(service, bind), IsOk());
  bind.set_replaces("u");
  EXPECT_THAT(Admit(service, bind),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("with replaces")));
}

TEST(MethodAccess, AnAdapterBindsItsClusterAndReplacesNoOther) {
  Scope cluster;
  cluster.AddCluster("organizations/acme/clusters/c1");
  const Caller adapter = CallerWith(Role::kAdapter, cluster);
  lv1::BindClusterRequest request;
  request.set_name("organizations/acme/clusters/c1");
  EXPECT_THAT(Admit(adapter, request), IsOk());
  request.set_replaces("u");
  EXPECT_THAT(Admit(adapter, request),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("with replaces")));
  lv1::UpdateClusterRequest update;
  update.mutable_cluster()->set_name("organizations/acme/clusters/c1");
  EXPECT_THAT(Admit(adapter, update), IsOk());
  update.mutable_cluster()->set_name("organizations/acme/clusters/c2");
  EXPECT_THAT(Admit(adapter, update), StatusIs(absl::StatusCode::kPermissionDenied));
  request.clear_replaces();
  request.set_name("organizations/acme/clusters/c2");
  EXPECT_THAT(Admit(adapter, request), StatusIs(absl::StatusCode::kNotFound));
  const Caller everywhere = CallerWith(Role::kOperator, Scope::Everywhere());
  request.set_replaces("u");
  EXPECT_THAT(Admit(everywhere, request), IsOk());
}

// As the services know them: a Quota's name says its zone, a cluster's row does.
Place PlaceInEast(absl::string_view name) {
  const bool in_east = absl::StrContains(name, "/quotas/US-EAST-04A~") || name == kEastCluster;
  const bool in_west = absl::StrContains(name, "/quotas/US-WEST-01A~");
  return {std::string(name), in_east ? "US-EAST-04A" : in_west ? "US-WEST-01A" : ""};
}
Scope OfZone(absl::string_view zone) {
  Scope scope;
  scope.AddZone(zone);
  return scope;
}

TEST(MethodAccess, AFieldsVerbElsewhereIsNoneHere) {
  const auto denied =
      StatusIs(absl::StatusCode::kPermissionDenied,
               HasSubstr("with node.reserved_desired: it takes a role with operate"));
  lv1::UpdateNodeRequest request;
  request.mutable_node()->set_name(std::string(kOwn) + "/nodes/m1");
  request.mutable_update_mask()->add_paths("reserved_desired");
  const auto also_operates = [](const Scope& scope) {
    Rights rights;
    rights.Add(Role::kEditor, Acme());
    rights.Add(Role::kOperator, scope);
    return Caller{.principal = "p", .rights = std::make_shared<const Rights>(rights)};
  };
  Scope beta;
  beta.AddOrganization("beta");
  EXPECT_THAT(Admit(also_operates(beta), request), denied);

  const auto update = AccessOf<lv1::UpdateNodeRequest>();
  const auto in_east = [](absl::string_view name) {
    return Place{std::string(name), "US-EAST-04A"};
  };
  Caller west = also_operates(OfZone("US-WEST-01A"));
  EXPECT_THAT(update.Admit(west, request, in_east), denied);
  Caller east = also_operates(OfZone("US-EAST-04A"));
  EXPECT_THAT(update.Admit(east, request, in_east), IsOk());
}

// Its parent is in no zone, and what is not there yet neither.
TEST(MethodAccess, AZonesOperatorMakesWhatIsToBeInItsZone) {
  const auto denied = StatusIs(absl::StatusCode::kPermissionDenied);
  Caller east = CallerWith(Role::kOperator, OfZone("US-EAST-04A"));
  Caller west = CallerWith(Role::kOperator, OfZone("US-WEST-01A"));
  qv1::CreateQuotaRequest quota;
  quota.set_parent("organizations/acme");
  quota.set_quota_id("US-EAST-04A~t~default");
  const auto create = AccessOf<qv1::CreateQuotaRequest>();
  EXPECT_THAT(create.Admit(east, quota, &PlaceInEast), IsOk());
  EXPECT_THAT(create.Admit(west, quota, &PlaceInEast), denied);
  EXPECT_THAT(create.AdmitAt(east, "organizations/acme/quotas/US-EAST-04A~t~spot", &PlaceInEast),
              IsOk());
  quota.clear_quota_id();
  EXPECT_THAT(create.Admit(east, quota, &PlaceInEast), denied);
  Caller acme = CallerWith(Role::kOperator, Acme());
  EXPECT_THAT(create.Admit(acme, quota, &PlaceInEast), IsOk()) << "the method's to refuse";

  lv1::UpdateClusterRequest cluster;
  const auto update = AccessOf<lv1::UpdateClusterRequest>();
  cluster.mutable_cluster()->set_name("organizations/acme/clusters/new");
  EXPECT_THAT(update.Admit(east, cluster, &PlaceInEast), denied);
  cluster.mutable_cluster()->set_zone("US-WEST-01A");
  EXPECT_THAT(update.Admit(west, cluster, &PlaceInEast), IsOk());
  EXPECT_THAT(update.Admit(east, cluster, &PlaceInEast), denied);
  // One that is there may be gone, and be made where the request says, by the time that it is
  // carried out.
  cluster.mutable_cluster()->set_name(kEastCluster);
  EXPECT_THAT(update.Admit(acme, cluster, &PlaceInEast), IsOk());
  EXPECT_THAT(update.Admit(east, cluster, &PlaceInEast), denied);
  EXPECT_THAT(update.Admit(west, cluster, &PlaceInEast), denied);
  cluster.mutable_cluster()->set_zone("US-EAST-04A");
  EXPECT_THAT(update.Admit(east, cluster, &PlaceInEast), IsOk());
  EXPECT_THAT(update.Admit(west, cluster, &PlaceInEast), denied);
}

// What names nothing is refused by the method itself.
TEST(MethodAccess, AnEmptyNameIsTheMethodsToRefuse) {
  EXPECT_THAT(Admit(CallerWith(Role::kViewer, Acme()), lv1::GetNodePoolRequest()), IsOk());
}

TEST(MethodAccess, ANameMayBeElsewhereThanItSays) {
  const auto place_of = [](absl::string_view name) {
    return name == "poolConfigurations/u1" ? Place{.name = kOwn} : Place();
  };
  Caller editor = CallerWith(Role::kEditor, Acme());
  const auto access = AccessOf<configuration::v1::PromoteConfigurationRequest>();
  configuration::v1::PromoteConfigurationRequest request;
  request.set_name("poolConfigurations/u1");
  EXPECT_THAT(access.Admit(editor, request, place_of), IsOk());
  request.set_name("poolConfigurations/u2");
  EXPECT_EQ(access.Admit(editor, request, place_of), error::NotFound("poolConfigurations/u2"));
}

TEST(AccountOf, IsTheOrganizationOrTheCallerOrThePlatforms) {
  EXPECT_EQ(AccountOf(CallerWith(Role::kEditor, Acme(), "a")), "organizations/acme");
  Scope cluster;
  cluster.AddCluster("organizations/acme/clusters/c1");
  EXPECT_EQ(AccountOf(CallerWith(Role::kAdapter, cluster, "b")), "organizations/acme");
  Scope both = Acme();
  both.AddOrganization("beta");
  EXPECT_EQ(AccountOf(CallerWith(Role::kEditor, both, "c")), "c");
  EXPECT_EQ(AccountOf(CallerWith(Role::kOperator, Scope::Everywhere(), "d")), "");
  EXPECT_EQ(
      AccountOf({.principal = kSelf, .rights = std::make_shared<const Rights>(Rights::All())}), "");
}

// "One for all callers of an organization, whatever their names; one for each other caller."
TEST(TurnOf, IsTheOrganizationsOrTheCallers) {
  const Caller ann = CallerWith(Role::kEditor, Acme(), "ann");
  const Caller bob = CallerWith(Role::kViewer, Acme(), "bob");
  const Caller carol = CallerWith(Role::kOperator, Scope::Everywhere(), "carol");
  const Caller dan = CallerWith(Role::kOperator, Scope::Everywhere(), "dan");
  EXPECT_EQ(TurnOf(ann), TurnOf(bob));
  EXPECT_NE(TurnOf(ann), TurnOf(carol));
  EXPECT_NE(TurnOf(carol), TurnOf(dan));
  EXPECT_EQ(TurnOf(CallerWith(Role::kOperator, Scope::Everywhere(), kSelf)), 0u);
  for (const Caller& caller : {ann, carol}) EXPECT_NE(TurnOf(caller), 0u);
}

// Only then a state that may be old can have refused who is let in now.
TEST(NotingState, TellsWhetherMoreThanTheNameCounted) {
  const PlaceOf elsewhere = [](absl::string_view name) {
    return name == "poolConfigurations/u1" ? Place{.name = kOwn} : PlaceOfName(name);
  };
  const Caller editor = CallerWith(Role::kEditor, Acme());
  NotingState by_name(elsewhere, editor);
  by_name(kOwn);
  EXPECT_FALSE(by_name.by_state());
  by_name("poolConfigurations/u1");
  EXPECT_TRUE(by_name.by_state());
  by_name(kOwn);
  EXPECT_TRUE(by_name.by_state()) << "once is enough";
  const Caller of_zone = CallerWith(Role::kEditor, OfZone("US-EAST-04A"));
  NotingState by_zone(elsewhere, of_zone);
  by_zone(kOwn);
  EXPECT_TRUE(by_zone.by_state());
}

TEST(MethodAccess, CanBeAskedWithoutARequest) {
  const Caller editor = CallerWith(Role::kEditor, Acme());
  const auto apply = AccessOf<lv1::ApplyNodePoolRequest>();
  EXPECT_THAT(apply.AdmitAt(editor, kOwn, &PlaceOfName), IsOk());
  EXPECT_THAT(apply.AdmitAt(editor, kForeign, &PlaceOfName),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(AccessOf<qv1::UpdateQuotaRequest>().AdmitAt(editor, "organizations/acme/quotas/x",
                                                          &PlaceOfName),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(AccessOf<qv1::ListQuotasRequest>().AdmitAt(editor, "", &PlaceOfName), IsOk());
  EXPECT_THAT(AccessOf<qv1::ListQuotasRequest>().AdmitAt(editor, kForeign, &PlaceOfName), IsOk());
}

// Who may do it nowhere is told so, and not that there is no such resource.
TEST(MethodAccess, IsAskedWithTheAnswerOfTheCallItself) {
  const auto deletion = AccessOf<lv1::DeleteNodePoolRequest>();
  const Scope all = Scope::Everywhere();
  for (const Caller& caller :
       {Caller(), CallerWith(Role::kViewer, Acme()), CallerWith(Role::kEditor, Acme()),
        CallerWith(Role::kViewer, all), CallerWith(Role::kEditor, all)}) {
    for (const char* name : {kOwn, kForeign}) {
      lv1::DeleteNodePoolRequest request;
      request.set_name(name);
      EXPECT_EQ(deletion.AdmitAt(caller, name, &PlaceOfName), Admit(caller, request));
    }
  }
}

}  // namespace
}  // namespace muster::access
