// A read never writes: every RPC of the four services that is no mutation, and every mutation that
// is only tried, leaves all four journals where they are. While nobody reconciles, so that what a
// pool has yet to ask of the others is there to be asked by mistake.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "services/rpc/status.h"
#include "tests/integration/every_rpc.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

namespace lv1 = lifecycle::v1;
using google::protobuf::MethodDescriptor;

bool CanBeTried(const MethodDescriptor& method) {
  return method.input_type()->FindFieldByName("validate_only") != nullptr;
}

// A new RPC has to say what it is.
TEST(ReadsTest, EveryRpcIsAQuestionOrAMutation) {
  size_t known = 0;
  for (const MethodDescriptor* method : Methods()) {
    const std::string name = NameOf(*method);
    const int places =
        static_cast<int>(Questions().count(name) + Trials().count(name) + Mutations().count(name));
    EXPECT_EQ(places, 1) << name << " stands in " << places
                         << " of Questions, Trials and Mutations";
    EXPECT_EQ(Trials().count(name) > 0, CanBeTried(*method)) << name;
    known += static_cast<size_t>(places);
  }
  EXPECT_EQ(known, Questions().size() + Trials().size() + Mutations().size());
}

// Whoever does not know what became of a mutation can repeat it.
TEST(ReadsTest, EveryMutationHasARequestIdOrAReason) {
  for (const MethodDescriptor* method : Methods()) {
    const std::string name = NameOf(*method);
    const bool is_mutation = Questions().count(name) == 0;
    const auto* id = method->input_type()->FindFieldByName("request_id");
    EXPECT_EQ(id != nullptr, is_mutation && Declarative().count(name) == 0) << name;
    if (id != nullptr) {
      EXPECT_EQ(id->type(), google::protobuf::FieldDescriptor::TYPE_STRING) << name;
      EXPECT_FALSE(id->is_repeated()) << name;
    }
  }
  for (const auto& [name, reason] : Declarative()) {
    EXPECT_TRUE(Trials().count(name) > 0 || Mutations().count(name) > 0) << name;
    EXPECT_NE(reason, "") << name;
  }
}

class Reads : public ::testing::Test {
 protected:
  static constexpr char kQuota[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
  static constexpr char kPools[] = "organizations/acme/clusters/example/nodePools/";

  Reads() : muster_({.musterd_flags = {"--resync_interval=24h", "--audit_interval=24h"}}) {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
    life_ = lv1::LifecycleService::NewStub(muster_.channel());
    const auto leaving = Apply("leaving");
    EXPECT_TRUE(AwaitNodes(2)) << muster_.LogEnds();
    StopReconciling();
    // What the others have not been asked for yet: more Nodes, a pool, and no pool.
    EXPECT_THAT(muster_.Resize(5), IsOk());
    fresh_ = Apply("fresh").uid();
    lv1::DeleteNodePoolRequest remove;
    remove.set_name(leaving.name());
    grpc::ClientContext context;
    lv1::NodePool removed;
    EXPECT_TRUE(life_->DeleteNodePool(&context, remove, &removed).ok());
    const lv1::NodePool pool = muster_.GetPool().value();
    replacements_ = {
        {"$FRESH_POOL", absl::StrCat(kPools, "fresh")},
        {"$LEAVING_POOL", leaving.name()},
        {"$POOL", MiniMuster::kPool},
        {"$FRESH", fresh_},
        {"$UID", pool.uid()},
        {"$QUOTA", kQuota},
        {"$PROFILE", pool.status().node_profile()},
        {"$MACHINE",
         muster_.database().QueryValue(absl::StrCat(
             "SELECT machine FROM lifecycle.node WHERE pool_uid = '", pool.uid(), "'"))},
    };
  }

  lv1::NodePool Apply(const std::string& name) {
    lv1::ApplyNodePoolRequest request;
    request.mutable_node_pool()->set_name(absl::StrCat(kPools, name));
    request.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
    request.mutable_node_pool()->mutable_spec()->set_target_nodes(1);
    grpc::ClientContext context;
    lv1::NodePool pool;
    const grpc::Status status = life_->ApplyNodePool(&context, request, &pool);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return pool;
  }

  bool AwaitNodes(int nodes) {
    const absl::Time give_up = absl::Now() + absl::Minutes(1);
    while (muster_.database().QueryValue(
               "SELECT count(*) FROM lifecycle.node WHERE state = 'PRODUCTION'") !=
           absl::StrCat(nodes)) {
      if (absl::Now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return true;
  }

  // Somebody else has the lease; then until what was under way is over.
  void StopReconciling() {
    muster_.database().Execute(
        "UPDATE lifecycle.lease_heartbeat SET holder = 'a test', epoch = epoch + 1,"
        " write_time = now(), expire_time = now() + interval '1 day'");
    Until([&] { return absl::StrContains(muster_.MusterdLogs(), "not reconciling any more"); },
          "that nobody leads");
    std::string before;
    for (int calm = 0; calm < 10;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      const std::string now = Journals();
      calm = now == before ? calm + 1 : 0;
      before = now;
    }
  }

  // Where the four journals stand. Who leads may be told in lifecycle's: that is no answer's doing.
  std::string Journals() {
    std::string text;
    for (const char* schema : {"quota", "capacity", "configuration", "lifecycle"}) {
      absl::StrAppend(&text, schema, " ",
                      muster_.database().QueryValue(absl::StrCat(
                          "SELECT max(revision) FROM ", schema, ".journal WHERE kind <> 'lease'")),
                      " ");
    }
    return text;
  }

  std::string Filled(std::string request) const {
    for (const auto& [word, value] : replacements_)
      request = absl::StrReplaceAll(request, {{word, value}});
    return request;
  }

  // Calls, and of a stream reads until the snapshot has ended.
  absl::Status Call(const MethodDescriptor& method, const std::string& text, bool validate_only) {
    std::unique_ptr<google::protobuf::Message> request(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(method.input_type())
            ->New());
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(Filled(text), request.get())) << text;
    if (validate_only) {
      request->GetReflection()->SetBool(
          request.get(), method.input_type()->FindFieldByName("validate_only"), true);
      // Nor is the answer kept.
      const auto* id = method.input_type()->FindFieldByName("request_id");
      if (id != nullptr) request->GetReflection()->SetString(request.get(), id, "a-trial");
    }
    answer_.clear();
    trailer_.clear();
    return rpc::FromGrpcStatus(
        CallRaw(muster_.operator_channel(),
                absl::StrCat("/", method.service()->full_name(), "/", method.name()),
                request->SerializeAsString(),
                {.enough =
                     [&](const std::string& answer) {
                       answer_ = answer;
                       return method.server_streaming() && IsSnapshotEnd(method, answer);
                     },
                 .trailer = &trailer_}));
  }

  // The revision that the last answer shows, as its metadata says; where its message has a field
  // for it, it says the same.
  void ExpectRevision(const MethodDescriptor& method) const {
    ASSERT_EQ(trailer_.count("x-muster-revision"), 1);
    const std::string told = trailer_.find("x-muster-revision")->second;
    EXPECT_THAT(told, ::testing::MatchesRegex("[0-9]+"));
    const std::unique_ptr<google::protobuf::Message> message(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(method.output_type())
            ->New());
    ASSERT_TRUE(message->ParseFromString(answer_));
    const auto* field = method.output_type()->FindFieldByName("revision");
    if (field != nullptr) {
      EXPECT_EQ(told, absl::StrCat(message->GetReflection()->GetInt64(*message, field)));
    }
  }

  static bool IsSnapshotEnd(const MethodDescriptor& method, const std::string& bytes) {
    std::unique_ptr<google::protobuf::Message> message(
        google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(method.output_type())
            ->New());
    EXPECT_TRUE(message->ParseFromString(bytes));
    return message->GetReflection()->GetEnumValue(*message,
                                                  method.output_type()->FindFieldByName("type")) ==
           type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
  }

  MiniMuster muster_;
  std::unique_ptr<lv1::LifecycleService::Stub> life_;
  std::string fresh_;
  std::string answer_;                                             // the last one
  std::multimap<std::string, std::string> trailer_;                // of the last call
  std::vector<std::pair<std::string, std::string>> replacements_;  // longer words first
};

TEST_F(Reads, NoJournalMoves) {
  for (const MethodDescriptor* method : Methods()) {
    const std::string name = NameOf(*method);
    const bool is_trial = Trials().count(name) > 0;
    if (Mutations().count(name) > 0) continue;
    for (const std::string& request : is_trial ? Trials().at(name) : Questions().at(name)) {
      SCOPED_TRACE(absl::StrCat(name, " {", request, "}"));
      const std::string before = Journals();
      const absl::Status status = Call(*method, request, is_trial);
      // A trial may be refused for what the pool is; a malformed request would show nothing.
      EXPECT_TRUE(status.ok() || (is_trial && absl::IsFailedPrecondition(status))) << status;
      EXPECT_EQ(Journals(), before);
      if (status.ok() && !method->server_streaming() &&
          method->service()->full_name() != debug::v1::DebugService::service_full_name()) {
        ExpectRevision(*method);
      }
    }
  }
  EXPECT_EQ(muster_.CompareStates(), "");
}

}  // namespace
}  // namespace muster::testing
