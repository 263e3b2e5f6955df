// How Postgres runs the statements of the lane, whose journals are alike in all schemas.
#include <gtest/gtest.h>

#include "absl/time/time.h"
#include "storage/postgres/change_log.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/testing/plan_test_base.h"

namespace muster::storage {
namespace {

constexpr absl::Time kThen = absl::FromUnixSeconds(1'760'000'000);

int64_t Commit(Transaction& tx) {
  const Position head = Position::Of(journal::Peek(tx, 0));
  journal::Expect(tx, head);
  journal::Move(tx, head, head.revision + 1, "batch", kThen);
  journal::Append(tx, {{.revision = head.revision + 1, .kind = "quota", .key = "organizations/o"}},
                  "batch", "", kThen);
  return head.revision + 1;
}

void Follow(Transaction& tx) {
  journal::Read(tx, 0, 1, 1);
  journal::MoveCompacted(tx, 0);
  journal::DeleteCompacted(tx, 1);
}

void ReadPast(Transaction& tx, int64_t newest) {
  // Its author, too, is looked up.
  EXPECT_EQ(journal::ReadChanges(tx, "organizations/o", newest, 1).changes.size(), 1);
  journal::FindDeletion(tx, "organizations/o");
  journal::FindChangeAt(tx, "organizations/o", newest, {.revision = 1}, Lives::kAll);
  journal::ReachesBackTo(tx);
  journal::RevisionAt(tx, kThen);
  journal::FirstChangesAfter(tx, 0, "organizations/");
  journal::ReadRevisions(tx, {1});
}

TEST(JournalPlans, GoByIndex) {
  constexpr char kFew[] =
      "INSERT INTO quota.journal (revision, batch, kind, key, change) SELECT i, 'b', 'quota',"
      " 'organizations/o' || i, CASE WHEN i <> 20 THEN convert_to(repeat('z', 250), 'UTF8') END"
      " FROM generate_series(1, 40) AS i; UPDATE quota.journal_head SET revision = 40";
  for (const char* journal : {"", kFew}) {
    SCOPED_TRACE(journal);
    ExpectGoByIndex("quota", journal, [](Transaction& tx) {
      const int64_t revision = Commit(tx);
      ReadPast(tx, revision);
      Follow(tx);
    });
  }
}

}  // namespace
}  // namespace muster::storage
