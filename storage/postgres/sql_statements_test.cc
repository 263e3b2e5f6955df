#include "storage/postgres/sql_statements.h"

#include <gtest/gtest.h>

namespace muster::storage {
namespace {

const std::vector<SqlColumnText> kMachine = {{"id", "text", true},
                                             {"slot", "integer"},
                                             {"labels", "text[]"},
                                             {"zone", "text", false, false},
                                             {"revision", "bigint"}};

TEST(SqlStatementsTest, OfATableOfResources) {
  const SqlStatements sql = ResourceStatements("machine", kMachine);
  EXPECT_EQ(sql.select, "SELECT id, slot, labels, revision FROM machine");
  EXPECT_EQ(sql.put,
            "INSERT INTO machine AS had (id, slot, labels, zone, revision) SELECT id, slot, "
            "labels::text[], zone, revision FROM unnest($1::text[], $2::integer[], $3::text[], "
            "$4::text[], $5::bigint[]) AS put (id, slot, labels, zone, revision) ON CONFLICT (id) "
            "DO UPDATE SET slot = excluded.slot, labels = excluded.labels, zone = excluded.zone, "
            "revision = excluded.revision");
  EXPECT_EQ(sql.remove, "DELETE FROM machine WHERE id = ANY ($1::text[])");
}

TEST(SqlStatementsTest, WithAKeyOfTwoColumns) {
  const SqlStatements sql = ResourceStatements(
      "arrivals", {{"zone", "text", true}, {"type", "text", true}, {"revision", "bigint"}});
  EXPECT_EQ(sql.remove,
            "DELETE FROM arrivals WHERE zone = ANY ($1::text[]) AND (zone, type) IN (SELECT * FROM "
            "unnest($1::text[], $2::text[]))");
}

TEST(SqlStatementsTest, OfATableOfElements) {
  const SqlStatements sql = ElementStatements(
      "pool_order", {{"pool_uid", "text", true}, {"number", "bigint", true}, {"kind", "text"}});
  EXPECT_EQ(sql.select, "SELECT pool_uid, number, kind FROM pool_order ORDER BY pool_uid, number");
  EXPECT_EQ(sql.put,
            "INSERT INTO pool_order AS had (pool_uid, number, kind) SELECT pool_uid, number, kind "
            "FROM unnest($1::text[], $2::bigint[], $3::text[]) AS put (pool_uid, number, kind) ON "
            "CONFLICT (pool_uid, number) DO UPDATE SET kind = excluded.kind WHERE (had.kind) IS "
            "DISTINCT FROM (excluded.kind)");
  EXPECT_EQ(sql.remove,
            "DELETE FROM pool_order WHERE pool_uid = ANY ($1::text[]) AND (pool_uid, number) NOT "
            "IN (SELECT * FROM unnest($2::text[], $3::bigint[]))");
}

}  // namespace
}  // namespace muster::storage
