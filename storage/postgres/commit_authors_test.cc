#include "storage/postgres/commit_authors.h"

#include <gtest/gtest.h>

namespace muster::storage {
namespace {

TEST(CommitAuthorsTest, KnowsWhoseChangeEachRevisionIs) {
  TraceContext trace{.trace_high = 1, .trace_low = 2, .span_id = 3};
  Author ann{"ann", "/s/Scale", "r1", "why not"};
  const Author again{"ann", "/s/Delete", "r2"};
  CommitAuthors authors;
  authors.Add(5, ann, trace);
  authors.Add(6, {}, {});
  authors.Add(9, again, {});
  ann.trace_id = "00000000000000010000000000000002";
  const Author itself{.principal = "self"};
  const std::string encoded = authors.Encode();
  EXPECT_EQ(CommitAuthors::Find(encoded, 4), ann);
  EXPECT_EQ(CommitAuthors::Find(encoded, 5), ann);
  EXPECT_EQ(CommitAuthors::Find(encoded, 6), itself);
  EXPECT_EQ(CommitAuthors::Find(encoded, 7), again);
  EXPECT_EQ(CommitAuthors::Find(encoded, 9), again);
  EXPECT_EQ(CommitAuthors::Find(encoded, 10), Author());
  type::v1::ChangeAuthors message;
  ASSERT_TRUE(message.ParseFromString(encoded));
  EXPECT_EQ(message.principals_size(), 2);
  EXPECT_EQ(message.methods_size(), 3);
}

TEST(CommitAuthorsTest, WhatCannotBeReadIsNobodys) {
  EXPECT_EQ(CommitAuthors::Find("", 1), Author());
  EXPECT_EQ(CommitAuthors::Find("\xff\xff", 1), Author());
  type::v1::ChangeAuthors message;
  message.add_commands()->set_last_revision(1);
  message.mutable_commands(0)->set_principal(7);
  message.mutable_commands(0)->set_method(-1);
  EXPECT_EQ(CommitAuthors::Find(message.SerializeAsString(), 1), Author());
}

}  // namespace
}  // namespace muster::storage
