#include "storage/postgres/writable_host.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <string>

namespace muster::storage {
namespace {

// What libpq takes a word of `conninfo` for.
std::string WordOf(const std::string& conninfo, const std::string& keyword) {
  PQconninfoOption* const options = PQconninfoParse(conninfo.c_str(), nullptr);
  std::string value = "(not understood)";
  for (const PQconninfoOption* at = options; at != nullptr && at->keyword != nullptr; ++at) {
    if (at->keyword == keyword) value = at->val == nullptr ? "(none)" : at->val;
  }
  PQconninfoFree(options);
  return value;
}

constexpr char kThree[] = "host=db1,db2,db3 port=5432,5433,5434 dbname=muster";

TEST(WithHostFirst, PutsTheMemberAndItsPortBeforeTheOthers) {
  const std::string text = WithHostFirst(kThree, {"db2", "5433"});
  EXPECT_EQ(WordOf(text, "host"), "db2,db1,db3");
  EXPECT_EQ(WordOf(text, "port"), "5433,5432,5434");
  EXPECT_EQ(WordOf(text, "dbname"), "muster");
}

TEST(WithHostFirst, AddressesGoWithTheirNames) {
  const std::string text = WithHostFirst(
      "host=db1,db2 hostaddr=10.0.0.1,10.0.0.2 port=5432 dbname=muster", {"db2", "5432"});
  EXPECT_EQ(WordOf(text, "host"), "db2,db1");
  EXPECT_EQ(WordOf(text, "hostaddr"), "10.0.0.2,10.0.0.1");
  EXPECT_EQ(WordOf(text, "port"), "5432") << "of all";
}

TEST(WithHostFirst, WhatHasNoNamesIsKnownByItsAddress) {
  const std::string text = WithHostFirst("hostaddr=10.0.0.1,10.0.0.2", {"10.0.0.2", "5432"});
  EXPECT_EQ(WordOf(text, "hostaddr"), "10.0.0.2,10.0.0.1");
}

TEST(WithHostFirst, MembersOfOneNameAreToldApartByTheirPorts) {
  const std::string text =
      WithHostFirst("host=db,db,db port=5432,5433,5434 password='it\\'s'", {"db", "5434"});
  EXPECT_EQ(WordOf(text, "port"), "5434,5432,5433");
  EXPECT_EQ(WordOf(text, "password"), "it's");
}

TEST(WithHostFirst, LeavesAsItIsWhatItCannotPutInOrder) {
  for (const std::string text :
       {"host=db1 dbname=muster", "dbname=muster", "host=db1,db2 port=1,2,3", "no conninfo", ""})
    EXPECT_EQ(WithHostFirst(text, {"elsewhere", "5432"}), text);
  EXPECT_EQ(WithHostFirst(kThree, {"db1", "5432"}), kThree) << "is first";
  EXPECT_EQ(WithHostFirst(kThree, {"db2", "1"}), kThree) << "another port";
}

TEST(WritableHost, TheLastThatTookWritesIsFirst) {
  WritableHost host;
  EXPECT_EQ(host.FirstIn(kThree), kThree);
  host.Learn({"db3", "5434"});
  EXPECT_EQ(WordOf(host.FirstIn(kThree), "host"), "db3,db1,db2");
  host.Learn({"db2", "5433"});
  EXPECT_EQ(WordOf(host.FirstIn(kThree), "host"), "db2,db1,db3");
  host.Lost();
  EXPECT_EQ(host.FirstIn(kThree), kThree);
}

}  // namespace
}  // namespace muster::storage
