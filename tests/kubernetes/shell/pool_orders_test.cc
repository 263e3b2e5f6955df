#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/kubernetes/core/names.h"
#include "services/rpc/status.h"
#include "tests/kubernetes/shell/pool_orders_test_base.h"

namespace muster::testing {
namespace {

using kubernetes::kPromoteAnnotation;
using kubernetes::kRollbackAnnotation;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// Its pools are there, in the other Kubernetes.
TEST_F(PoolOrdersTest, OfAClusterThatIsTurnedOverNoPoolIsTakenForGone) {
  Bind(lifecycle_);
  KnowOneWithoutObject("elsewhere");
  EXPECT_TRUE(Reconcile("elsewhere").ok());
  lifecycle_.BindTo("another");
  EXPECT_TRUE(absl::IsAborted(Reconcile("elsewhere")));
  EXPECT_TRUE(identity_->foreign());
}

// Whoever deletes it in the former Kubernetes does not mean the pool of the one that has the
// cluster now.
TEST_F(PoolOrdersTest, OfAClusterThatIsTurnedOverNoPoolGoesWithItsObject) {
  Bind(lifecycle_);
  DeleteObject();
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(lifecycle_.deleted(), ElementsAre(NameOf(kPool)));
  lifecycle_.BindTo("another");
  EXPECT_TRUE(absl::IsAborted(Reconcile()));
  EXPECT_THAT(lifecycle_.deleted(), ElementsAre(NameOf(kPool))) << "it was ordered again";
}

// An object that is made anew there is not in the place of the pool either.
TEST_F(PoolOrdersTest, OfAClusterThatIsTurnedOverNoPoolIsTakenForAFormerOne) {
  Bind(lifecycle_);
  KnowAnother(1);
  LetPoolGo("another");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(lifecycle_.deleted(), ElementsAre(NameOf(kPool)));
  lifecycle_.BindTo("another");
  EXPECT_TRUE(absl::IsAborted(Reconcile()));
  EXPECT_THAT(lifecycle_.deleted(), ElementsAre(NameOf(kPool))) << "it was ordered again";
}

// Else its owner learns nothing of why the object stays empty.
TEST_F(PoolOrdersTest, AFormerPoolThatMayNotBeDeletedIsSaid) {
  Bind(lifecycle_);
  KnowAnother(1);
  LetPoolGo("another");
  lifecycle_.Answer({grpc::StatusCode::PERMISSION_DENIED, "not by you"});
  Restart();  // or the status would wait for its time
  EXPECT_TRUE(absl::IsPermissionDenied(Reconcile()));
  EXPECT_THAT(cluster_.node_pools().Find(kPool)->status.dump(),
              AllOf(HasSubstr("of an earlier object"), HasSubstr("not by you")));
}

// Nobody can be told that its Nodes are gone: that is no reason to keep it.
TEST_F(PoolOrdersTest, ADeletedObjectGoesThoughItsLastStatusIsRefused) {
  Bind(lifecycle_);
  DeleteObject();
  const auto fail_with = [&](int code) {
    ForgetPool();
    api_server_.FailNoMore();
    api_server_.FailNext(
        {.verb = "PATCH", .code = code, .count = 1'000, .body_contains = condition::kNodesRemoved});
  };
  const auto is_gone = [&] {
    (void)Reconcile();
    return absl::IsNotFound(
        api_->Get(absl::StrCat(kubernetes::kNodePoolsPath, "/", kPool)).status());
  };
  fail_with(503);
  EXPECT_FALSE(is_gone()) << "what passes is waited for";
  fail_with(403);
  Until(is_gone, "that it is let go");
}

TEST_F(PoolOrdersTest, ADeletedObjectWhoseFinalizerMayNotBeRemovedSaysSoOnce) {
  Bind(lifecycle_);
  DeleteObject();
  ForgetPool();
  api_server_.FailNext(
      {.verb = "PATCH", .code = 403, .count = 1'000, .body_contains = "\"finalizers\""});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Reconcile().ok());
  EXPECT_THAT(Told(1), ElementsAre(AllOf(StartsWith("The API server, which refuses"),
                                         HasSubstr("does not let the adapter delete"))));
}

// Muster may tell of a pool before the cluster tells of its object.
TEST_F(PoolOrdersTest, AnObjectThatTheClusterHasNotToldOfIsAskedForBeforeItsPoolGoes) {
  Bind(lifecycle_);
  KnowOneWithoutObject("b");
  LetPoolGo("uid-of-b");
  MakeUnseen("b");
  EXPECT_TRUE(Reconcile("b").ok());
  EXPECT_THAT(lifecycle_.deleted(), IsEmpty());
  EXPECT_TRUE(IsSeen("b"));

  KnowOneWithoutObject("c");
  LetPoolGo("uid-of-c");
  EXPECT_TRUE(Reconcile("c").ok());
  EXPECT_THAT(lifecycle_.deleted(), ElementsAre(NameOf("c")));
}

TEST_F(PoolOrdersTest, AnOrderIsCarriedOutOnTheSpecThatItCameWith) {
  ChangeSpecAndPromote();
  EXPECT_TRUE(absl::IsUnavailable(Reconcile()));
  Restart();
  EXPECT_TRUE(absl::IsUnavailable(Reconcile()));
  EXPECT_EQ(Order(), "pending");
  EXPECT_THAT(configuration_.promoted(), IsEmpty());

  configuration_.Set(2, "np-of-the-spec");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), "np-of-the-spec");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), nullptr);
  EXPECT_THAT(configuration_.promoted(), ElementsAre("np-of-the-spec"));
}

TEST_F(PoolOrdersTest, AnOrderIsCarriedOutThoughTheNoteOfWhatMayBeGrantedIsRefused) {
  KnowHowManyMayBeGranted();
  api_server_.FailNext(
      {.verb = "PATCH", .code = 422, .count = 1'000, .body_contains = "grantable-nodes"});
  ChangeSpecAndPromote();
  configuration_.Set(2, "np-of-the-spec");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), "np-of-the-spec");
  EXPECT_FALSE(Reconcile().ok()) << "the note";
  EXPECT_EQ(Order(), nullptr);
  EXPECT_THAT(configuration_.promoted(), ElementsAre("np-of-the-spec"));
}

// E.g. by a webhook that fails: whoever rolls back has no time to wait for its repair.
TEST_F(PoolOrdersTest, AnOrderIsCarriedOutThoughTheStatusIsRefused) {
  KnowHowManyMayBeGranted();
  api_server_.FailNext(
      {.verb = "PATCH", .code = 500, .count = 1'000, .body_contains = "\"status\""});
  ChangeSpecAndPromote();
  configuration_.Set(2, "np-of-the-spec");
  Restart();  // or the status would wait for its time
  EXPECT_FALSE(Reconcile().ok());
  EXPECT_EQ(Order(), "np-of-the-spec");
  EXPECT_FALSE(Reconcile().ok());
  EXPECT_EQ(Order(), nullptr);
  EXPECT_THAT(configuration_.promoted(), ElementsAre("np-of-the-spec"));
}

TEST_F(PoolOrdersTest, AnOrderWithASpecThatIsRefusedIsRefused) {
  lifecycle_.Answer({grpc::StatusCode::INVALID_ARGUMENT, "no such GPU"});
  ChangeSpecAndPromote();
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), nullptr);
  EXPECT_THAT(configuration_.promoted(), IsEmpty());
}

TEST_F(PoolOrdersTest, AnOrderWaitsForASpecThatCannotBeTakenNow) {
  lifecycle_.Answer({grpc::StatusCode::NOT_FOUND, "no such cluster"});
  ChangeSpecAndPromote();
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), "pending");
  EXPECT_THAT(configuration_.promoted(), IsEmpty());

  lifecycle_.Answer(grpc::Status::OK);
  configuration_.Set(2, "np-of-the-spec");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), "np-of-the-spec");
}

// The cluster's etcd was restored: what was pending then is not what is pending now.
TEST_F(PoolOrdersTest, OrdersOutOfAPastAreRefused) {
  lifecycle_.Answer(rpc::ToGrpcStatus(error::GenerationTooOld(kPool, 2, 8)));
  ChangeSpecAndOrder(kRollbackAnnotation, "previous");
  ChangeSpecAndPromote();
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), nullptr);
  EXPECT_EQ(Order(kRollbackAnnotation), nullptr);

  lifecycle_.Answer(grpc::Status::OK);
  ChangeSpec("590");
  configuration_.Set(3, "np-of-today");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(configuration_.promoted(), IsEmpty());
  EXPECT_THAT(configuration_.rolled_back(), IsEmpty());
  EXPECT_THAT(Told(2), UnorderedElementsAre(
                           AllOf(StartsWith(kPromoteAnnotation), HasSubstr("was restored")),
                           AllOf(StartsWith(kRollbackAnnotation), HasSubstr("was restored"))));
}

TEST_F(PoolOrdersTest, WithASpecThatIsRefusedAndNoneBeforeEveryOrderIsRefused) {
  ForgetPool();
  lifecycle_.Answer({grpc::StatusCode::INVALID_ARGUMENT, "no such GPU"});
  ChangeSpecAndOrder(kRollbackAnnotation, "np-former");
  ChangeSpecAndOrder(kPromoteAnnotation, "np-upstream");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), nullptr);
  EXPECT_EQ(Order(kRollbackAnnotation), nullptr);
  EXPECT_THAT(configuration_.promoted(), IsEmpty());
  EXPECT_THAT(configuration_.rolled_back(), IsEmpty());
  const std::string why = ": The spec was refused: no such GPU";
  EXPECT_THAT(Told(2), UnorderedElementsAre(kPromoteAnnotation + why, kRollbackAnnotation + why));
}

TEST_F(PoolOrdersTest, WhereAnotherPoolHasItsNameEveryOrderIsRefused) {
  KnowAnother();
  ChangeSpecAndOrder(kRollbackAnnotation, "np-former");
  ChangeSpecAndPromote();
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), nullptr);
  EXPECT_EQ(Order(kRollbackAnnotation), nullptr);
  EXPECT_THAT(configuration_.promoted(), IsEmpty());
  EXPECT_THAT(configuration_.rolled_back(), IsEmpty());
  const auto why = HasSubstr("that was not made through Kubernetes");
  EXPECT_THAT(Told(2), UnorderedElementsAre(AllOf(StartsWith(kPromoteAnnotation), why),
                                            AllOf(StartsWith(kRollbackAnnotation), why)));
}

TEST_F(PoolOrdersTest, UntilTheFormerPoolOfItsNameIsGoneOrdersWait) {
  KnowAnother();
  KnowThatItGoes();
  ChangeSpecAndOrder(kRollbackAnnotation, "");
  ChangeSpecAndPromote();
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(kRollbackAnnotation), nullptr);
  EXPECT_EQ(Order(), "pending") << "it waits with its spec";
}

TEST_F(PoolOrdersTest, WithoutAPoolAnEmptyOrderIsRefusedWhateverTheSpecWaitsFor) {
  ForgetPool();
  lifecycle_.Answer({grpc::StatusCode::NOT_FOUND, "no such cluster"});
  ChangeSpecAndOrder(kRollbackAnnotation, "");
  ChangeSpecAndPromote();
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(kRollbackAnnotation), nullptr);
  EXPECT_EQ(Order(), "pending") << "it waits with its spec";
  EXPECT_THAT(Told(1), ElementsAre(StartsWith(kRollbackAnnotation)));
}

// What was wrong with the spec before says nothing of the one that the order came with.
TEST_F(PoolOrdersTest, AnOrderWaitsForWhatIsSaidOfItsSpecThoughTheFormerWasInvalid) {
  Invalidate(1);
  ChangeSpecAndPromote();
  EXPECT_TRUE(absl::IsUnavailable(Reconcile()));
  EXPECT_EQ(Order(), "pending");
  EXPECT_THAT(configuration_.promoted(), IsEmpty());
}

TEST_F(PoolOrdersTest, PreviousIsWhatConfigurationSaysItIs) {
  configuration_.HaveRevisions("np-first");
  ChangeSpecAndOrder(kRollbackAnnotation, "previous");
  configuration_.Set(2, "");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(kRollbackAnnotation), "np-first") << "np-withdrawn was active after it";
  EXPECT_THAT(configuration_.rolled_back(), IsEmpty()) << "it was only asked";
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(kRollbackAnnotation), nullptr);
  EXPECT_THAT(configuration_.rolled_back(), ElementsAre("np-first"));
  EXPECT_EQ(configuration_.previous_asked(), 1) << "a profile needs no asking";
}

TEST_F(PoolOrdersTest, WherePreviousMeansNothingTheOrderItselfIsRefused) {
  configuration_.HaveRevisions("");
  ChangeSpecAndOrder(kRollbackAnnotation, "previous");
  configuration_.Set(2, "");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(kRollbackAnnotation), nullptr);
  EXPECT_THAT(configuration_.rolled_back(), ElementsAre("previous")) << "Muster tells why not";
}

// Of such a refusal Muster tells no event.
TEST_F(PoolOrdersTest, WhereMusterTakesNoMoreOrdersOneWaitsForRoom) {
  configuration_.HaveRevisions("np-first");
  configuration_.Set(2, "");
  const auto no_room = rpc::ToGrpcStatus(
      error::FailedPrecondition("TOO_MANY_ORDERS", kPool, "A thousand orders are untold."));
  for (const auto& [annotation, value] :
       {std::pair(kPromoteAnnotation, "np-upstream"), std::pair(kRollbackAnnotation, "np-first"),
        std::pair(kRollbackAnnotation, "previous")}) {
    ChangeSpecAndOrder(annotation, value);
    configuration_.SetRoom(no_room);
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(Reconcile().ok());
    EXPECT_EQ(Order(annotation), value);
    configuration_.SetRoom(grpc::Status::OK);
    ReconcileUntilGone(annotation);
  }
  EXPECT_THAT(configuration_.promoted(), ElementsAre("np-upstream"));
  EXPECT_THAT(configuration_.rolled_back(), ElementsAre("np-first", "np-first"));
}

// It was told that nothing comes of it, and is told so under one id for as long as it stands.
TEST_F(PoolOrdersTest, AWordThatWasAskedForIsAskedForAgainWhateverItMeansByNow) {
  configuration_.HaveRevisions("");
  ChangeSpecAndOrder(kRollbackAnnotation, "previous");
  configuration_.Set(2, "");
  FailToRemoveOnce();
  EXPECT_FALSE(Reconcile().ok());
  EXPECT_EQ(Order(kRollbackAnnotation), "previous");
  configuration_.SetPrevious("np-first");
  ReconcileUntilGone(kRollbackAnnotation);
  EXPECT_GE(configuration_.rolled_back().size(), 2);
  EXPECT_THAT(configuration_.rolled_back(), Each("previous"));
  EXPECT_THAT(configuration_.order_ids(), Each(configuration_.order_ids().at(0)));

  ChangeSpecAndOrder(kRollbackAnnotation, "previous");
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(kRollbackAnnotation), "np-first") << "another order";
}

TEST_F(PoolOrdersTest, LikewiseOfWhatIsPending) {
  ChangeSpecAndPromote();
  configuration_.Set(2, "");
  FailToRemoveOnce();
  EXPECT_FALSE(Reconcile().ok());
  EXPECT_EQ(Order(), "pending");
  configuration_.Set(2, "np-of-the-spec");
  ReconcileUntilGone(kPromoteAnnotation);
  EXPECT_GE(configuration_.promoted().size(), 2);
  EXPECT_THAT(configuration_.promoted(), Each("pending"));
  EXPECT_THAT(configuration_.order_ids(), Each(configuration_.order_ids().at(0)));
}

// Nobody tells configuration of a spec that is invalid: it keeps what the pool had.
TEST_F(PoolOrdersTest, WithASpecThatIsInvalidOnlyWhatWouldBePendingIsRefused) {
  ChangeSpecAndOrder(kRollbackAnnotation, "np-former");
  EXPECT_TRUE(absl::IsUnavailable(Reconcile()));
  Invalidate(2);
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(kRollbackAnnotation), nullptr);
  EXPECT_THAT(configuration_.rolled_back(), ElementsAre("np-former"));

  ChangeSpecAndPromote();
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(Order(), nullptr);
  EXPECT_THAT(configuration_.promoted(), IsEmpty());
  EXPECT_THAT(Told(1),
              ElementsAre(absl::StrCat(kPromoteAnnotation,
                                       ": Configuration has not taken this spec: no such GPU")));
}

}  // namespace
}  // namespace muster::testing
