// Replicas that write the journal packed beside replicas that do not: each reads all of it.
#include <google/protobuf/unknown_field_set.h>
#include <muster/quota/v1/quota.pb.h>

#include "absl/strings/escaping.h"
#include "services/common/cause.h"
#include "services/quota/store/testing/lane_test_base.h"
#include "storage/postgres/journal_packing.h"
#include "tests/testing/patience.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPackedRows[] =
    "SELECT count(*) FROM quota.journal WHERE length(change) > 0 AND get_byte(change, 0) = 7";

class PackedJournalTest : public QuotaLaneTest {
 protected:
  Lane& NewPacker() { return NewLane({.journal_packing = JournalPacking::kZstd}); }
  Lane& NewPlain() { return NewLane({.journal_packing = JournalPacking::kNone}); }
  absl::StatusOr<ChangeLog> ListBy(Lane& lane, int64_t newest = 0) {
    return lane.ListChanges(QuotaName(kKey), {newest, ""}, 10, absl::InfiniteFuture());
  }
  int64_t LimitOf(const std::shared_ptr<const std::string>& bytes) const {
    if (bytes == nullptr) return -1;
    const auto message = store_->Parse("quota", *bytes);
    return message == nullptr ? -2 : dynamic_cast<const quota::v1::Quota&>(*message).limit();
  }
  // A field that this release does not know, as long as that.
  static absl::Status SetNote(Lane& lane, size_t size) {
    google::protobuf::UnknownFieldSet fields;
    fields.AddLengthDelimited(900, std::string(size, 'x'));
    std::string later;
    fields.SerializeToString(&later);
    return DoDecide(lane, [later](StagedState<quota::State>& staged, absl::Time) {
      quota::Quota quota = *staged.state().table<quota::Quota>().Find(QuotaName(kKey));
      quota.later = later;
      staged.Put(std::move(quota));
      return absl::OkStatus();
    });
  }
  std::string JournalOf(int64_t revision) {
    return absl::HexStringToBytes(database_.QueryValue(absl::StrCat(
        "SELECT encode(change, 'hex') FROM quota.journal WHERE revision = ", revision)));
  }
  void SetJournal(int64_t revision, const std::string& bytes) {
    database_.Execute(absl::StrCat("UPDATE quota.journal SET change = decode('",
                                   absl::BytesToHexString(bytes),
                                   "', 'hex') WHERE revision = ", revision));
  }
};

TEST_F(PackedJournalTest, WhatOneWritesTheOtherReads) {
  Lane& plain = NewPlain();
  Lane& packer = NewPacker();
  const auto watcher = plain.Watch({});
  EXPECT_EQ(MarkOf(*watcher).revision, 0);
  ASSERT_THAT(Do(packer, quota::UpdateQuota{kKey, 10, "", true}), IsOk());  // 1
  ASSERT_THAT(Do(plain, quota::UpdateQuota{kKey, 20}), IsOk());             // 2
  ASSERT_THAT(Do(packer, Want("a", 3)), IsOk());                            // 3
  ASSERT_THAT(Do(plain, Want("a", 4, 2)), IsOk());                          // 4
  ASSERT_THAT(Do(packer, quota::UpdateQuota{kKey, 30}), IsOk());            // 5
  EXPECT_EQ(database_.QueryValue(kPackedRows), "3");

  // One that was there, one that starts from the tables, and what each of them follows.
  for (Lane* lane : {&plain, &packer, &NewPlain(), &NewPacker()}) {
    EXPECT_EQ(ReadHeld(*lane).value_or(-1), 4);
    const auto log = ListBy(*lane);
    ASSERT_THAT(log, IsOk());
    ASSERT_EQ(log->changes.size(), 3u);
    EXPECT_EQ(LimitOf(log->changes[0].bytes), 30);
    EXPECT_EQ(LimitOf(log->changes[0].before), 20);
    EXPECT_EQ(LimitOf(log->changes[1].before), 10);
    const auto past =
        lane->GetPast(QuotaName(kKey), {.revision = 1}, Lives::kAll, absl::InfiniteFuture());
    ASSERT_THAT(past, IsOk());
    EXPECT_EQ(LimitOf(past->changes[0].bytes), 10);
    const auto audit = lane->Audit({});
    ASSERT_THAT(audit, IsOk());
    EXPECT_THAT(audit->violations, IsEmpty());
  }

  // The same to who watched, and to who comes back.
  const auto resumed = packer.Watch({.after_revision = 1});
  const auto limits_of = [&](Watcher& watch, size_t count) {
    std::vector<int64_t> limits;
    while (limits.size() < count) {
      const auto item = NextOf(watch, limits);
      if (!item.has_value()) break;
      if (item->type == WatchItem::Type::kChanged && item->kind == "quota")
        limits.push_back(LimitOf(item->bytes));
    }
    return limits;
  };
  EXPECT_THAT(limits_of(*watcher, 3), ElementsAre(10, 20, 30));
  EXPECT_THAT(limits_of(*resumed, 2), ElementsAre(20, 30));
}

TEST_F(PackedJournalTest, APackedDeletionIsNoneLess) {
  Lane& packer = NewPacker();
  Lane& plain = NewPlain();
  ASSERT_THAT(Do(packer, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(packer, quota::DeleteQuota{QuotaName(kKey)}), IsOk());
  const auto log = ListBy(plain);
  ASSERT_THAT(log, IsOk());
  EXPECT_EQ(log->changes[0].bytes, nullptr);
  EXPECT_EQ(LimitOf(log->changes[0].before), 10);
}

// A page of a history is as long as its answer, not as what it is read from.
TEST_F(PackedJournalTest, APageHasItsBytesUnpacked) {
  Lane& packer = NewPacker();
  ASSERT_THAT(Do(packer, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  for (const size_t size : {3'000'000u, 3'000'001u, 3'000'002u})
    ASSERT_THAT(SetNote(packer, size), IsOk());
  EXPECT_LT(std::stoll(database_.QueryValue("SELECT sum(length(change)) FROM quota.journal")),
            1'000'000);
  const auto first = ListBy(packer);
  ASSERT_THAT(first, IsOk());
  ASSERT_EQ(first->changes.size(), 1u);
  EXPECT_EQ(LimitOf(first->changes[0].before), 10);
  EXPECT_EQ(first->next, 3);
}

// As for one that cannot be parsed.
TEST_F(PackedJournalTest, WhatCannotBeUnpackedIsSaid) {
  Lane& packer = NewPacker();
  Lane& plain = NewPlain();
  ASSERT_THAT(Do(packer, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  EXPECT_EQ(ReadHeld(plain).value_or(-1), 0);
  ASSERT_THAT(SetNote(packer, 1'000), IsOk());
  const std::string packed = JournalOf(2);
  ASSERT_EQ(packed[0], 0x07);
  std::string of_tomorrow = packed;
  of_tomorrow[1] = 0x7F;
  for (const std::string& broken : {of_tomorrow, packed.substr(0, packed.size() - 1)}) {
    SetJournal(2, broken);
    const auto log = ListBy(packer);
    ASSERT_THAT(log, IsOk());
    EXPECT_EQ(LimitOf(log->changes[0].bytes), -2) << "no message";
    const auto resumed = packer.Watch({.after_revision = 1});
    while (const auto item = NextOf(*resumed)) EXPECT_EQ(item->type, WatchItem::Type::kProgress);
    EXPECT_EQ(resumed->Ended()->message(), "Change 2 of the journal cannot be read.");
  }
  SetJournal(2, packed);
  EXPECT_EQ(LimitOf(ListBy(packer)->changes[0].bytes), 10);
  testing::Until([&] { return ReadHeld(plain).ok(); }, "the other one to go on");
}

TEST_F(PackedJournalTest, AFollowerWaitsForWhatItCanUnpack) {
  LaneOptions deaf;
  deaf.poll = absl::Hours(1);
  // One that looks at the journal only when it is asked something.
  Lane& follower = NewLane(deaf);
  Lane& packer = NewPacker();
  database_.Execute(
      "CREATE FUNCTION quota.spoil() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
      " NEW.change = set_byte(NEW.change, 1, 127); RETURN NEW; END$$;"
      "CREATE TRIGGER spoil BEFORE INSERT ON quota.journal"
      " FOR EACH ROW EXECUTE FUNCTION quota.spoil()");
  ASSERT_THAT(Do(packer, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  database_.Execute("DROP TRIGGER spoil ON quota.journal");
  const absl::Status status = Do(follower, Want("a", 1));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(status.message(), "Change 1 of the journal cannot be read.");
  EXPECT_THAT(error::CauseOf(status), HasSubstr("acme")) << "for operators";
  EXPECT_EQ(ReadHeld(NewLane()).value_or(-1), 0) << "who starts has it from the tables";
  std::string mended = JournalOf(1);
  mended[1] = 0x02;
  SetJournal(1, mended);
  testing::Until([&] { return Do(follower, Want("a", 1)).ok(); }, "a journal that can be read");
}

}  // namespace
}  // namespace muster::storage
