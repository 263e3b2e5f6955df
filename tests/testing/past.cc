#include "tests/testing/past.h"

#include <utility>

#include "absl/strings/str_replace.h"

namespace muster::testing {
namespace {

// A statement for each table of the schema: %t is the table.
std::string ForEachTable(const std::string& schema, const std::string& statement) {
  return absl::StrReplaceAll(
      R"(DO $$ DECLARE t text; BEGIN
           FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '$schema' LOOP
             EXECUTE format('$statement', t);
           END LOOP;
         END $$;)",
      {{"$schema", schema}, {"$statement", statement}});
}

}  // namespace

Past::Past(const TestDatabase& database, std::string schema)
    : database_(database), schema_(std::move(schema)), kept_("past_of_" + schema_) {
  database_.Execute(
      "BEGIN ISOLATION LEVEL REPEATABLE READ; DROP SCHEMA IF EXISTS " + kept_ +
      " CASCADE; CREATE SCHEMA " + kept_ + ";" +
      ForEachTable(schema_, "CREATE TABLE " + kept_ + ".%1$I AS TABLE " + schema_ + ".%1$I") +
      "COMMIT");
}

std::string Past::Restore() const {
  // Without foreign keys: the order of the tables does not matter.
  database_.Execute("SET LOCAL session_replication_role = replica;" +
                    ForEachTable(schema_, "DELETE FROM " + schema_ + ".%1$I; INSERT INTO " +
                                              schema_ + ".%1$I SELECT * FROM " + kept_ + ".%1$I") +
                    "UPDATE " + schema_ +
                    ".journal_head SET incarnation = replace(gen_random_uuid()::text, '-', '')");
  return database_.QueryValue("SELECT incarnation FROM " + schema_ + ".journal_head");
}

}  // namespace muster::testing
