#include "services/kubernetes/metadata_refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/kubernetes/api/errors.h"

namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const MetadataRefusals::Pool kP = {"pool-p", "p"};
const MetadataRefusals::Pool kQ = {"pool-q", "q"};

absl::Status Answer(int code) {
  return StatusOfAnswer("PATCH /api/v1/nodes/g1", code, R"({"kind": "Status", "message": "No."})",
                        absl::ZeroDuration());
}

TEST(MetadataRefusals, AreCountedUntilTheyAreDoneOrForgotten) {
  MetadataRefusals refusals;
  EXPECT_FALSE(refusals.Of("p").has_value());
  EXPECT_THAT(refusals.Note(kP, "g2", Answer(403)), ElementsAre("pool-p"));
  EXPECT_THAT(refusals.Note(kP, "g1", Answer(422)), ElementsAre("pool-p"));
  EXPECT_THAT(refusals.Note(kQ, "g3", Answer(403)), ElementsAre("pool-q"));
  EXPECT_THAT(refusals.Note(kP, "g1", Answer(403)), IsEmpty()) << "as before";
  ASSERT_TRUE(refusals.Of("p").has_value());
  EXPECT_EQ(refusals.Of("p")->nodes, 2);
  EXPECT_EQ(refusals.Of("p")->message, "g1: No.");
  EXPECT_THAT(refusals.Note(kP, "g1", absl::OkStatus()), ElementsAre("pool-p"));
  EXPECT_THAT(refusals.Note(kP, "g1", absl::OkStatus()), IsEmpty());
  EXPECT_THAT(refusals.Forget("g2"), ElementsAre("pool-p"));
  EXPECT_THAT(refusals.Forget("g2"), IsEmpty());
  EXPECT_FALSE(refusals.Of("p").has_value());
  EXPECT_EQ(refusals.Of("q")->nodes, 1);
}

TEST(MetadataRefusals, AMachineIsOfOnePool) {
  MetadataRefusals refusals;
  refusals.Note(kP, "g1", Answer(403));
  EXPECT_THAT(refusals.Note(kQ, "g1", Answer(403)), ElementsAre("pool-p", "pool-q"));
  EXPECT_FALSE(refusals.Of("p").has_value());
  EXPECT_EQ(refusals.Of("q")->nodes, 1);
}

TEST(MetadataRefusals, WhatIsNoAnswerChangesNothing) {
  MetadataRefusals refusals;
  for (const int code : {404, 409, 429, 500})
    EXPECT_THAT(refusals.Note(kP, "g1", Answer(code)), IsEmpty()) << code;
  EXPECT_THAT(refusals.Note(kP, "g1", absl::InvalidArgumentError("no path")), IsEmpty());
  EXPECT_FALSE(refusals.Of("p").has_value());
  refusals.Note(kP, "g1", Answer(403));
  for (const int code : {409, 429, 500})
    EXPECT_THAT(refusals.Note(kP, "g1", Answer(code)), IsEmpty()) << code;
  EXPECT_THAT(refusals.Note(kP, "g1", HeldBack("PATCH", absl::Seconds(1))), IsEmpty());
  EXPECT_EQ(refusals.Of("p")->nodes, 1);
}

}  // namespace
}  // namespace muster::kubernetes
