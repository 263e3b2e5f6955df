// What `--watch` shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "services/musterctl/commands/testing/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

WatchMessage Message(type::v1::WatchEventType type, int64_t revision,
                     std::optional<Item> item = std::nullopt, const std::string& incarnation = "") {
  return {.type = type,
          .revision = revision,
          .incarnation = incarnation,
          .key = item ? NameOf(*item) : "",
          .item = std::move(item)};
}

lifecycle::v1::NodePool PoolWithTarget(int64_t nodes) {
  lifecycle::v1::NodePool pool = ReferencePool();
  pool.mutable_spec()->set_target_nodes(nodes);
  return pool;
}

TEST_F(CommandsTest, AWatchGoesOnWhereItBrokeAndShowsEveryChangeOnce) {
  using namespace type::v1;  // NOLINT: enumerators only
  lifecycle::v1::NodePool other = ReferencePool();
  other.set_name("organizations/acme/clusters/example/nodePools/other");
  lifecycle::v1::NodePool quiet = ReferencePool();
  quiet.set_name("organizations/acme/clusters/example/nodePools/quiet");
  api_.streams = {
      // Cut short: nothing to resume from.
      {{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, PoolWithTarget(1))}, absl::UnavailableError("cut")},
      {{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, PoolWithTarget(1)),
        Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, other), Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, quiet),
        Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5, std::nullopt, "h"),
        Message(WATCH_EVENT_TYPE_CHANGED, 6, PoolWithTarget(2))},
       absl::UnavailableError("cut")},
      {{Message(WATCH_EVENT_TYPE_PROGRESS, 9)}, absl::ResourceExhaustedError("slow")},
      {{}, absl::OutOfRangeError("compacted")},
      // The snapshot again: one pool is gone, one has changed, one has not.
      {{Message(WATCH_EVENT_TYPE_SNAPSHOT, 11, PoolWithTarget(3)),
        Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, quiet), Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 12)},
       absl::InternalError("stop")}};
  EXPECT_EQ(RunLine({"get", "nodepools", "-w", "-o", "name"}), kFailed);
  EXPECT_EQ(out(),
            "nodepool/example-nodepool\nnodepool/other\nnodepool/quiet\n"
            "nodepool/example-nodepool\n"
            "nodepool/example-nodepool\n");
  EXPECT_THAT(err(), HasSubstr("nodepool/other deleted\n"));
  EXPECT_THAT(api_.watched_from, ElementsAre("", "", "6@h", "9@h", ""));
}

TEST_F(CommandsTest, AWatchEndsOnceItsOutputCannotBeWritten) {
  using namespace type::v1;  // NOLINT: enumerators only
  api_.streams = {{{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, PoolWithTarget(1)),
                    Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5)},
                   absl::UnavailableError("cut")},
                  {{}, absl::InternalError("stop")}};
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(RunLine({"get", "nodepools", "-w"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("the output could not be written"));
  EXPECT_EQ(api_.watched_from.size(), 1u);
}

// What was not shown is not told of when it goes, and what programs read holds no such line.
TEST_F(CommandsTest, AWatchTellsOfThoseGoneThatItShowed) {
  using namespace type::v1;  // NOLINT: enumerators only
  lifecycle::v1::NodePool other = ReferencePool();
  other.set_name("organizations/acme/clusters/example/nodePools/other");
  const auto streams = [&]() -> std::deque<FakeApi::Stream> {
    return {
        {{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, PoolWithTarget(1)),
          Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, other), Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5)},
         absl::OutOfRangeError("compacted")},
        {{Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 12)}, absl::InternalError("stop")}};
  };
  api_.streams = streams();
  EXPECT_EQ(
      RunLine({"get", "nodepools", "-w", "-o", "name", "--field-selector", "metadata.name=other"}),
      kFailed);
  EXPECT_EQ(out(), "nodepool/other\n");
  EXPECT_THAT(err(), HasSubstr("nodepool/other deleted\n"));
  EXPECT_THAT(err(), Not(HasSubstr("example-nodepool deleted")));
  api_.streams = streams();
  EXPECT_EQ(RunLine({"get", "nodepools", "-w"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("nodepool/other deleted\n"));
}

// As -o name says it of those that are there.
TEST_F(CommandsTest, AWatchSaysWhichOneIsGone) {
  using namespace type::v1;  // NOLINT: enumerators only
  const auto gone = [](const std::string& name) {
    WatchMessage message = Message(WATCH_EVENT_TYPE_DELETED, 6);
    message.key = name;
    return message;
  };
  const std::string here = "organizations/acme/clusters/example/nodePools/train";
  const std::string there = "organizations/acme/clusters/c2/nodePools/train";
  lifecycle::v1::NodePool near = ReferencePool();
  near.set_name(here);
  lifecycle::v1::NodePool far = ReferencePool();
  far.set_name(there);
  const FakeApi::Stream stream{
      {Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, near), Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, far),
       Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5), gone(there)},
      absl::InternalError("stop")};
  api_.streams = {stream, stream};
  EXPECT_EQ(RunLine({"get", "nodepools", "-A", "-w"}), kFailed);
  EXPECT_THAT(out(), EndsWith("\nnodepool/" + there + " deleted\n"));
  EXPECT_EQ(RunLine({"get", "nodepools", "-w", "-o", "name"}), kFailed);
  EXPECT_EQ(out(), "nodepool/" + there + "\nnodepool/train\n");
  EXPECT_THAT(err(), HasSubstr("nodepool/" + there + " deleted\n"));
  lifecycle::v1::Node node;
  node.set_name(here + "/nodes/g1");
  api_.streams = {{{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, node),
                    Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5), gone(node.name())},
                   absl::InternalError("stop")}};
  EXPECT_EQ(RunLine({"get", "nodes", "-w", "-o", "name"}), kFailed);
  EXPECT_EQ(out(), "node/train/g1\n");
  EXPECT_THAT(err(), HasSubstr("node/train/g1 deleted\n"));
}

// An event that is forgotten is no news, least of all in the middle of a table.
TEST_F(CommandsTest, AWatchOfEventsDoesNotTellWhichAreForgotten) {
  using namespace type::v1;  // NOLINT: enumerators only
  lifecycle::v1::Event event;
  event.set_name("organizations/acme/clusters/example/events/e1");
  event.set_reason("CWNodeAssigned");
  WatchMessage forgotten = Message(WATCH_EVENT_TYPE_DELETED, 6);
  forgotten.key = event.name();
  api_.streams = {{{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, event),
                    Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5), forgotten},
                   absl::InternalError("stop")}};
  EXPECT_EQ(RunLine({"events", "-w"}), kFailed);
  EXPECT_THAT(out(), HasSubstr("CWNodeAssigned"));
  EXPECT_THAT(out(), Not(HasSubstr("deleted")));
  EXPECT_THAT(err(), Not(HasSubstr("deleted")));
}

// As kubectl does: else what was shown last stays true for whoever looks.
TEST_F(CommandsTest, AWatchShowsOnceMoreWhatFitsNoLonger) {
  using namespace type::v1;  // NOLINT: enumerators only
  api_.streams = {{{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, PoolWithTarget(1)),
                    Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5),
                    Message(WATCH_EVENT_TYPE_CHANGED, 6, PoolWithTarget(2)),
                    Message(WATCH_EVENT_TYPE_CHANGED, 7, PoolWithTarget(3))},
                   absl::InternalError("stop")}};
  EXPECT_EQ(RunLine({"get", "nodepools", "-w", "--field-selector", "spec.targetNodes=1", "-o",
                     "custom-columns=T:.spec.targetNodes", "--no-headers"}),
            kFailed);
  EXPECT_EQ(out(), "1\n2\n");
}

// Watches tell of them without what is worked out for who asks.
TEST_F(CommandsTest, AWatchOfClaimsShowsThemWhole) {
  using namespace type::v1;  // NOLINT: enumerators only
  capacity::v1::Claim told;
  told.set_name("claims/u1");
  told.set_nodes(4);
  capacity::v1::Claim whole = told;
  whole.set_reason(capacity::v1::Claim::REASON_SUFFICIENT);
  for (const char* machine : {"g1", "g2", "g3", "g4"}) whole.add_machines(machine);
  api_.items[Kind::kClaim] = {whole};
  capacity::v1::Claim gone = told;
  gone.set_name("claims/u2");
  capacity::v1::Claim later = told;
  later.set_priority(1);
  api_.streams = {
      {{Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, told), Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, gone),
        Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5), Message(WATCH_EVENT_TYPE_CHANGED, 6, later)},
       absl::InternalError("stop")}};
  EXPECT_EQ(
      RunLine({"get", "claims", "-w", "-o", "custom-columns=M:.status.machines", "--no-headers"}),
      kFailed);
  EXPECT_THAT(out(), ContainsRegex("^.*g1.*g4.*\n.*g1.*g4.*\n$"));
}

// A claim that could not be asked for is not lost: the watch begins anew.
TEST_F(CommandsTest, AWatchOfClaimsBeginsAnewWhereOneCouldNotBeAskedFor) {
  using namespace type::v1;  // NOLINT: enumerators only
  capacity::v1::Claim claim;
  claim.set_name("claims/u1");
  api_.items[Kind::kClaim] = {claim};
  const FakeApi::Stream stream{
      {Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, claim), Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5)},
      absl::InternalError("stop")};
  api_.streams = {stream, stream};
  api_.refusal_of_reads = FromServer(absl::UnavailableError("restarts"));
  api_.before_watch = [this, begun = 0]() mutable {
    if (++begun == 2) api_.refusal_of_reads = absl::OkStatus();
  };
  EXPECT_EQ(RunLine({"get", "claims", "-w", "-o", "name"}), kFailed);
  EXPECT_EQ(out(), "claim/u1\n");
  EXPECT_THAT(err(), HasSubstr("stop"));
  EXPECT_THAT(api_.watched_from, ElementsAre("", ""));
}

// What goes while one cannot be asked for is told of, and what was shown not again.
TEST_F(CommandsTest, AWatchOfClaimsLosesNothingWhereOneCouldNotBeAskedFor) {
  using namespace type::v1;  // NOLINT: enumerators only
  const auto claim = [](const std::string& uid, int priority = 0) {
    capacity::v1::Claim made;
    made.set_name("claims/" + uid);
    made.set_priority(priority);
    return made;
  };
  api_.items[Kind::kClaim] = {claim("u1"), claim("u2"), claim("u3")};
  api_.streams = {{{Message(WATCH_EVENT_TYPE_SNAPSHOT, 1, claim("u1")),
                    Message(WATCH_EVENT_TYPE_SNAPSHOT, 2, claim("u2")),
                    Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, claim("u3")),
                    Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 3)},
                   absl::UnavailableError("cut")},
                  {{Message(WATCH_EVENT_TYPE_CHANGED, 4, claim("u1", 1))}, absl::OkStatus()},
                  {{Message(WATCH_EVENT_TYPE_SNAPSHOT, 4, claim("u1", 1)),
                    Message(WATCH_EVENT_TYPE_SNAPSHOT, 3, claim("u3")),
                    Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 5)},
                   absl::InternalError("stop")}};
  api_.before_watch = [this, begun = 0]() mutable {
    ++begun;
    api_.refusal_of_reads =
        begun == 2 ? FromServer(absl::UnavailableError("restarts")) : absl::OkStatus();
  };
  EXPECT_EQ(RunLine({"get", "claims", "-w", "--no-headers"}), kFailed);
  std::vector<std::string> told;
  for (const absl::string_view line : absl::StrSplit(out(), '\n', absl::SkipEmpty()))
    told.emplace_back(line.substr(0, line.find(' ')));
  EXPECT_THAT(told, ElementsAre("u1", "u2", "u3", "claim/u2", "u1")) << out();
}

TEST_F(CommandsTest, AWatchThatNobodyAnswersEndsWithinTheTimeout) {
  const FakeApi::Stream refused{{}, FromServer(absl::UnavailableError("connection refused"))};
  api_.streams = {1000, refused};
  const absl::Time begin = clock_.Now();
  EXPECT_EQ(RunLine({"get", "nodes", "-w"}), kFailed);
  EXPECT_THAT(err(), StartsWith("error: connection refused (UNAVAILABLE)\nnote: --server, "));
  EXPECT_EQ(clock_.Now() - begin, absl::Seconds(10));
  EXPECT_EQ(RunLine({"get", "nodes", "-w", "--timeout=1ms"}), kFailed);
  EXPECT_EQ(clock_.Now() - begin, absl::Seconds(10) + absl::Milliseconds(1));
  api_.streams = {refused, {{}, FromServer(absl::DeadlineExceededError("no answer"))}, refused};
  EXPECT_EQ(RunLine({"get", "nodes", "-w"}), kFailed);
  EXPECT_EQ(err(), "error: no answer (DEADLINE_EXCEEDED)\n");
}

TEST_F(CommandsTest, AWatchThatWasConnectedReconnectsForeverAndSaysSo) {
  using namespace type::v1;  // NOLINT: enumerators only
  const FakeApi::Stream away{{}, absl::UnavailableError("connection refused")};
  const FakeApi::Stream silent{{}, absl::DeadlineExceededError("no answer")};
  api_.streams = {away,
                  {{Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 1)}, absl::UnavailableError("cut")}};
  api_.streams.insert(api_.streams.end(), 1000, away);
  api_.streams.push_back(silent);
  api_.streams.push_back({{Message(WATCH_EVENT_TYPE_PROGRESS, 2)}, absl::OutOfRangeError("gone")});
  api_.streams.push_back(
      {{Message(WATCH_EVENT_TYPE_SNAPSHOT_END, 3)}, absl::ResourceExhaustedError("slow")});
  EXPECT_EQ(RunLine({"get", "nodes", "-w"}), kFailed);
  EXPECT_THAT(api_.streams, IsEmpty());
  EXPECT_EQ(err(),
            "note: the watch broke off (cut), reconnecting\n"
            "note: the watch broke off (slow), reconnecting\n"
            "error: the test ends\n");
}

TEST_F(CommandsTest, AWatchIsOfWhatIsMeantAlone) {
  EXPECT_EQ(RunLine({"get", "np/a", "np/b", "-w"}), kFailed);
  EXPECT_EQ(api_.watched.kind, Kind::kNodePool);
  EXPECT_THAT(api_.watched.ids, ElementsAre("a", "b"));
  EXPECT_EQ(RunLine({"get", "nodes", "--nodepool=a", "-w"}), kFailed);
  EXPECT_EQ(api_.watched.kind, Kind::kNode);
  EXPECT_EQ(api_.watched.pool, "a");
  EXPECT_EQ(RunLine({"events", "--for=np/a", "-w"}), kFailed);
  EXPECT_EQ(api_.watched.kind, Kind::kEvent);
  EXPECT_EQ(api_.watched.pool, "a");
  EXPECT_EQ(RunLine({"events", "--for=node/b/g1", "-w"}), kFailed);
  EXPECT_EQ(api_.watched.pool, "b");
  EXPECT_EQ(RunLine({"events", "--for=node/g1", "-w"}), kFailed);
  EXPECT_EQ(api_.watched.pool, "");
}

}  // namespace
}  // namespace muster::musterctl
