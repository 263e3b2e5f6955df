// Histories and watches as a client of the real servers has them: an operator names the history
// anew, and a client that does not read.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/rpc/status.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/small_window.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

namespace qv1 = quota::v1;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kName[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
constexpr char kSlow[] = "organizations/slow/quotas/RNO2A~gd-8xa100-i128~default";

// A watch of quotas over the network, from a snapshot or from where another one ended.
class QuotaWatch {
 public:
  explicit QuotaWatch(const MiniMuster& muster, std::optional<int64_t> after = std::nullopt,
                      const std::string& incarnation = "")
      : stub_(qv1::QuotaService::NewStub(ChannelTo(muster.address()))) {
    qv1::WatchQuotasRequest request;
    if (after.has_value()) request.mutable_start()->set_after_revision(*after);
    request.mutable_start()->set_incarnation(incarnation);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(2)));
    stream_ = stub_->WatchQuotas(&context_, request);
  }
  ~QuotaWatch() { context_.TryCancel(); }

  // False: the stream ended.
  bool Next(qv1::WatchQuotasResponse& message) { return stream_->Read(&message); }
  // The end of the snapshot.
  qv1::WatchQuotasResponse Mark() {
    qv1::WatchQuotasResponse message;
    while (Next(message)) {
      if (message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END) return message;
    }
    ADD_FAILURE() << "the watch ended: " << End();
    return message;
  }
  // What it ends with; reads what is left.
  absl::Status End() {
    qv1::WatchQuotasResponse message;
    while (Next(message)) {
    }
    return rpc::FromGrpcStatus(stream_->Finish());
  }
  // The revisions of changes, which follow each other without a gap from `after` on, up to `last`
  // or the end of the stream.
  int64_t ReadChanges(int64_t after, int64_t last) {
    qv1::WatchQuotasResponse message;
    while (after < last && Next(message)) {
      if (message.type() == type::v1::WATCH_EVENT_TYPE_PROGRESS) continue;
      EXPECT_EQ(message.revision(), after + 1) << "left out or sent twice";
      if (message.revision() != after + 1) break;
      after = message.revision();
    }
    return after;
  }

 private:
  // One that holds little of what nobody reads.
  static std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), SmallWindow());
  }

  const std::unique_ptr<qv1::QuotaService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<qv1::WatchQuotasResponse>> stream_;
};

Finished Migrate(const MiniMuster& muster, std::vector<std::string> words) {
  words.insert(words.begin(), {Binary("musterd"), "migrate",
                               absl::StrCat("--db_conninfo=", muster.database().conninfo()),
                               absl::StrCat("--migrations_dir=", MigrationsDir())});
  return RunProgram(words);
}

std::string NameOf(const MiniMuster& muster, const std::string& schema) {
  return muster.database().QueryValue(
      absl::StrCat("SELECT incarnation FROM ", schema, ".journal_head"));
}

TEST(History, IsNamedAnewByAnOperatorAndServersThatRunNoticeIt) {
  MiniMuster muster;
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  QuotaWatch watch(muster);
  const qv1::WatchQuotasResponse mark = watch.Mark();
  const std::string capacity = NameOf(muster, "capacity");
  ASSERT_EQ(mark.incarnation(), NameOf(muster, "quota"));

  const Finished one = Migrate(muster, {"--new_history", "--schemas=quota"});
  ASSERT_EQ(one.exit_code, 0) << one.output;
  const std::string name = NameOf(muster, "quota");
  EXPECT_NE(name, mark.incarnation());
  EXPECT_THAT(one.output, HasSubstr(absl::StrCat("quota begins history ", name, "\n")));
  EXPECT_THAT(one.output, Not(HasSubstr("capacity")));
  EXPECT_EQ(NameOf(muster, "capacity"), capacity);

  // Nobody asks anything: the server looks by itself.
  EXPECT_THAT(watch.End(),
              AllOf(StatusIs(absl::StatusCode::kOutOfRange), HasReason("HISTORY_REPLACED")));
  EXPECT_THAT(QuotaWatch(muster, mark.revision(), mark.incarnation()).End(),
              AllOf(StatusIs(absl::StatusCode::kOutOfRange), HasReason("HISTORY_REPLACED")));
  EXPECT_EQ(QuotaWatch(muster).Mark().incarnation(), name);

  const Finished all = Migrate(muster, {"--new_history"});
  ASSERT_EQ(all.exit_code, 0) << all.output;
  for (const char* schema : {"capacity", "configuration", "lifecycle", "quota"}) {
    EXPECT_THAT(all.output,
                HasSubstr(absl::StrCat(schema, " begins history ", NameOf(muster, schema), "\n")));
  }
  // What the server is asked before it has looked may be told to come again.
  absl::Status resized;
  Until(
      [&] {
        resized = muster.Resize(3).status();
        return !absl::IsUnavailable(resized);
      },
      "the new history");
  ASSERT_THAT(resized, IsOk());
  ASSERT_TRUE(muster.AwaitSettled(3)) << muster.LogEnds();
  EXPECT_EQ(muster.CheckBooks(3), "");
}

TEST(History, IsLeftAloneByACommandThatIsWrong) {
  MiniMuster muster;
  const std::string before = NameOf(muster, "quota");
  const auto expect_refused = [&](const std::vector<std::string>& words, const char* why) {
    const Finished refused = Migrate(muster, words);
    EXPECT_NE(refused.exit_code, 0) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr(why));
  };
  expect_refused({"--schemas=quota"}, "is for --new_history only");
  expect_refused({"--new_history", "--status"}, "cannot be given together");
  expect_refused({"--new_history", "--schemas=quota,nothing"}, "nothing");
  EXPECT_EQ(NameOf(muster, "quota"), before);
}

// One thousand pools change what they hold, all at once.
void HoldThousand(const MiniMuster& muster, int64_t generation) {
  qv1::BatchSyncHoldingsRequest request;
  for (int i = 0; i < 1000; ++i) {
    qv1::HoldingRequest* holding = request.add_holdings();
    holding->set_name(absl::StrCat(kSlow, "/holdings/p", i));
    holding->set_nodes(generation % 2);
    holding->set_generation(generation);
  }
  grpc::ClientContext context;
  qv1::BatchSyncHoldingsResponse response;
  const grpc::Status status =
      qv1::QuotaService::NewStub(muster.channel())->BatchSyncHoldings(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
}

TEST(Watch, AClientThatDoesNotReadIsCutOffAndLosesNothing) {
  MiniMuster muster({.audit_books = false});
  qv1::UpdateQuotaRequest update;
  update.mutable_quota()->set_name(kSlow);
  update.mutable_quota()->set_limit(1000);
  update.set_allow_missing(true);
  grpc::ClientContext context;
  qv1::Quota quota;
  ASSERT_TRUE(
      qv1::QuotaService::NewStub(muster.channel())->UpdateQuota(&context, update, &quota).ok());
  QuotaWatch watch(muster);
  const int64_t begin = watch.Mark().revision();
  // More than the server keeps for it, and the network takes.
  constexpr int64_t kRounds = 30;
  for (int64_t round = 1; round <= kRounds; ++round) HoldThousand(muster, round);
  const int64_t end = begin + kRounds * 1000;

  const int64_t last = watch.ReadChanges(begin, end);
  EXPECT_LT(last, end) << "it was never too slow: nothing is shown here";
  const absl::Status told = watch.End();
  EXPECT_THAT(told,
              AllOf(StatusIs(absl::StatusCode::kResourceExhausted), HasReason("WATCH_TOO_SLOW")));
  const auto detail = error::DetailOf(told);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->metadata.at("resume_revision"), absl::StrCat(last));
  // It comes back for the rest, perhaps more than once.
  int64_t have = last;
  for (int tries = 0; have < end && tries < 10; ++tries)
    have = QuotaWatch(muster, have).ReadChanges(have, end);
  EXPECT_EQ(have, end);
}

}  // namespace
}  // namespace muster::testing
