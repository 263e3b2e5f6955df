// What watches tell a caller of one organization of the others.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/access/method_access.h"
#include "tests/integration/every_rpc.h"
#include "tests/integration/isolation_requests.h"
#include "tests/integration/isolation_test_base.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/raw_call.h"

namespace muster::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kOwnNodes = 4;

// What a watch is told of the caller's own pool once it has kOwnNodes, after all that was
// another's: a message about `key` with `text`.
struct LastWord {
  std::string key = {};
  std::string text = {};
};

// A watch that runs, on a thread of its own, until it is told the last word, or ends.
class LiveWatch {
 public:
  LiveWatch(std::shared_ptr<grpc::Channel> channel, std::string caller,
            const MethodDescriptor& method, const Message& request, LastWord last)
      : caller_(std::move(caller)),
        method_(method),
        request_(CopyOf(request)),
        last_(std::move(last)),
        thread_([this, channel = std::move(channel)] { Run(channel); }) {}
  ~LiveWatch() { (void)Join(); }
  LiveWatch(const LiveWatch&) = delete;
  LiveWatch& operator=(const LiveWatch&) = delete;

  const std::string& caller() const { return caller_; }
  const Message& request() const { return *request_; }
  std::string name() const {
    return absl::StrCat(method_.full_name(), " {", request_->ShortDebugString(), "} by ", caller_);
  }
  // Whether all that was there when it began has come.
  bool is_level() const { return is_level_; }
  // Waits for its end. OK: it came to the last word.
  grpc::Status Join() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }
  // After Join: what came since it was level.
  const Heard& heard() const { return heard_; }

 private:
  void Run(const std::shared_ptr<grpc::Channel>& channel) {
    const std::unique_ptr<Message> answer = NewMessage(*method_.output_type());
    RawCallOptions options{.deadline = absl::Minutes(5)};
    bool is_last = false;
    options.enough = [&](const std::string& bytes) {
      if (is_level_) heard_.text += bytes;
      answer->ParseFromString(bytes);
      Take(*answer, is_last);
      return is_last;
    };
    status_ =
        CallRaw(channel, absl::StrCat("/", method_.service()->full_name(), "/", method_.name()),
                request_->SerializeAsString(), options);
  }

  void Take(const Message& message, bool& is_last) {
    const auto& reflection = *message.GetReflection();
    const auto field = [&](const char* name) {
      return message.GetDescriptor()->FindFieldByName(name);
    };
    if (reflection.GetEnumValue(message, field("type")) == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END)
      is_level_ = true;
    if (reflection.GetString(message, field("key")) == last_.key &&
        absl::StrContains(message.ShortDebugString(), last_.text))
      is_last = true;
    const int bundled = reflection.FieldSize(message, field("bundle"));
    for (int i = 0; i < bundled; ++i)
      Take(reflection.GetRepeatedMessage(message, field("bundle"), i), is_last);
  }

  const std::string caller_;
  const MethodDescriptor& method_;
  const std::unique_ptr<Message> request_;
  const LastWord last_;
  std::atomic<bool> is_level_ = false;
  Heard heard_;
  grpc::Status status_;
  std::thread thread_;  // last: it uses all else
};

// A watch of everything; of what is in a zone; in bundles.
std::vector<std::unique_ptr<Message>> WaysToWatch(const MethodDescriptor& method) {
  const Descriptor& type = *method.input_type();
  std::vector<std::unique_ptr<Message>> requests;
  requests.push_back(NewMessage(type));
  if (const FieldDescriptor* zone = type.FindFieldByName("zone")) {
    requests.push_back(NewMessage(type));
    Set(*requests.back(), {zone}, "RNO2A");
  }
  requests.push_back(NewMessage(type));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("start { bundle: true }",
                                                            requests.back().get()));
  return requests;
}
// One watch of each method that streams, in each way to ask for it, by callers of one organization
// and of all. While they run, all kinds of things that are another's come, change and go. None of
// it is told but to who may see all; and no watch falls behind for it.
TEST_F(Isolation, AWatchGoesOnPastWhatItsReaderMayNotSee) {
  const std::string own_uid = Pool(MiniMuster::kPool).uid();
  const std::map<std::string, LastWord> last_words = {
      {"LifecycleService.WatchLifecycle",
       {MiniMuster::kPool, absl::StrCat("target_nodes: ", kOwnNodes)}},
      {"QuotaService.WatchQuotas",
       {absl::StrCat("organizations/acme/quotas/RNO2A~gd-8xa100-i128~default/holdings/", own_uid),
        absl::StrCat("nodes: ", kOwnNodes)}}};
  std::vector<std::unique_ptr<LiveWatch>> watches;
  for (const MethodDescriptor* method : AllMethods()) {
    if (!method->server_streaming()) continue;
    const auto access = access::MethodAccess::Of(*method);
    ASSERT_TRUE(access.ok()) << access.status();
    for (const auto& request : WaysToWatch(*method)) {
      if (access->reach() != type::v1::Access::REACH_NARROWED) {
        for (const char* caller : {"tenant", "reader"})
          EXPECT_EQ(Ask(caller, *method, *request).code, grpc::StatusCode::PERMISSION_DENIED)
              << method->full_name();
        continue;
      }
      const auto last = last_words.find(NameOf(*method));
      ASSERT_NE(last, last_words.end()) << "say what is told last by " << NameOf(*method);
      for (const char* caller : {"tenant", "reader", "ci"}) {
        watches.push_back(std::make_unique<LiveWatch>(muster_.ChannelAs(caller), caller, *method,
                                                      *request, last->second));
      }
    }
  }
  ASSERT_GE(watches.size(), 2u * 3u);
  for (const auto& watch : watches) Until([&] { return watch->is_level(); }, watch->name());

  ASSERT_NO_FATAL_FAILURE(ChangeRivals());
  ASSERT_TRUE(muster_.Resize(kOwnNodes).ok());
  // A machine that the rivals gave back may be acme's then; a bundle that ends with the last word
  // may tell so.
  ASSERT_TRUE(muster_.Await([](const lifecycle::v1::NodePool* pool) {
    return pool != nullptr && IsHealthy(*pool, kOwnNodes);
  })) << muster_.LogEnds();
  for (const std::string& own : MachinesOf(MiniMuster::kPool)) std::erase(markers_, own);
  for (const auto& watch : watches) {
    SCOPED_TRACE(watch->name());
    EXPECT_TRUE(watch->Join().ok());
    const std::vector<std::string> leaks = Leaks(watch->heard(), watch->request());
    if (watch->caller() == "ci") {
      EXPECT_THAT(leaks, Not(IsEmpty())) << "nothing is shown here: it was not told of after all";
    } else {
      EXPECT_THAT(leaks, IsEmpty()) << watch->heard().text;
    }
  }
}

// Whoever loses a right loses the watch that lived by it, and keeps all else.
TEST_F(Isolation, APolicyThatChangesEndsTheWatchesOfThoseItTakesFrom) {
  const auto in_a_minute = [] { return absl::ToChronoTime(absl::Now() + absl::Seconds(60)); };
  const auto tenant_stub = lifecycle::v1::LifecycleService::NewStub(muster_.ChannelAs("tenant"));
  const auto ci_stub = lifecycle::v1::LifecycleService::NewStub(muster_.ChannelAs("ci"));
  grpc::ClientContext tenant_context;
  grpc::ClientContext ci_context;
  tenant_context.set_deadline(in_a_minute());
  ci_context.set_deadline(in_a_minute());
  const auto tenant = tenant_stub->WatchLifecycle(&tenant_context, {});
  const auto ci = ci_stub->WatchLifecycle(&ci_context, {});
  lifecycle::v1::WatchLifecycleResponse message;
  for (const auto* reader : {&tenant, &ci}) {
    do {
      ASSERT_TRUE((*reader)->Read(&message));
    } while (message.type() != type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
  }
  muster_.WritePolicy({});
  while (tenant->Read(&message)) {
  }
  EXPECT_EQ(tenant->Finish().error_code(), grpc::StatusCode::OUT_OF_RANGE);
  ASSERT_TRUE(muster_.Resize(2).ok());
  EXPECT_TRUE(ci->Read(&message)) << "its rights are what they were";
  ci_context.TryCancel();
  grpc::ClientContext again;
  lifecycle::v1::GetNodePoolRequest get;
  get.set_name(MiniMuster::kPool);
  lifecycle::v1::NodePool pool;
  EXPECT_EQ(tenant_stub->GetNodePool(&again, get, &pool).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace muster::testing
