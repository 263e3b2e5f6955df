#include "services/kubernetes/metadata_refusals.h"

#include <gtest/gtest.h>

#include "services/kubernetes/api/errors.h"

namespace muster::kubernetes {
namespace {

absl::Status Answer(int code) {
  return StatusOfAnswer("PATCH /api/v1/nodes/g1", code, R"({"kind": "Status", "message": "No."})",
                        absl::ZeroDuration());
}

TEST(MetadataRefusals, AreCountedUntilTheyAreDoneOrForgotten) {
  MetadataRefusals refusals;
  EXPECT_FALSE(refusals.Of("p").has_value());
  EXPECT_TRUE(refusals.Note("p", "g2", Answer(403)));
  EXPECT_TRUE(refusals.Note("p", "g1", Answer(422)));
  EXPECT_TRUE(refusals.Note("q", "g3", Answer(403)));
  EXPECT_FALSE(refusals.Note("p", "g1", Answer(403))) << "as before";
  ASSERT_TRUE(refusals.Of("p").has_value());
  EXPECT_EQ(refusals.Of("p")->nodes, 2);
  EXPECT_EQ(refusals.Of("p")->message, "g1: No.");
  EXPECT_TRUE(refusals.Note("p", "g1", absl::OkStatus()));
  EXPECT_FALSE(refusals.Note("p", "g1", absl::OkStatus()));
  EXPECT_TRUE(refusals.Forget("g2"));
  EXPECT_FALSE(refusals.Of("p").has_value());
  EXPECT_EQ(refusals.Of("q")->nodes, 1);
}

TEST(MetadataRefusals, AMachineIsOfOnePool) {
  MetadataRefusals refusals;
  refusals.Note("p", "g1", Answer(403));
  EXPECT_TRUE(refusals.Note("q", "g1", Answer(403)));
  EXPECT_FALSE(refusals.Of("p").has_value());
  EXPECT_EQ(refusals.Of("q")->nodes, 1);
}

TEST(MetadataRefusals, WhatIsNoAnswerChangesNothing) {
  MetadataRefusals refusals;
  for (const int code : {404, 409, 429, 500})
    EXPECT_FALSE(refusals.Note("p", "g1", Answer(code))) << code;
  EXPECT_FALSE(refusals.Note("p", "g1", absl::InvalidArgumentError("no path")));
  EXPECT_FALSE(refusals.Of("p").has_value());
  refusals.Note("p", "g1", Answer(403));
  for (const int code : {409, 429, 500})
    EXPECT_FALSE(refusals.Note("p", "g1", Answer(code))) << code;
  EXPECT_FALSE(refusals.Note("p", "g1", HeldBack("PATCH", absl::Seconds(1))));
  EXPECT_EQ(refusals.Of("p")->nodes, 1);
}

}  // namespace
}  // namespace muster::kubernetes
