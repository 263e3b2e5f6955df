#include "services/rpc/client/resume_point.h"

#include <gtest/gtest.h>
#include <muster/quota/v1/quota_service.pb.h>

namespace muster::rpc {
namespace {

using quota::v1::WatchQuotasResponse;

WatchQuotasResponse Message(type::v1::WatchEventType type, int64_t revision,
                            const std::string& incarnation = "") {
  WatchQuotasResponse message;
  message.set_type(type);
  message.set_revision(revision);
  message.set_incarnation(incarnation);
  return message;
}

TEST(ResumePointTest, ASnapshotCutShortIsNowhereToGoOnFrom) {
  ResumePoint point;
  point.Take(Message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 3));
  EXPECT_TRUE(point.empty());
  type::v1::WatchStart start;
  point.WriteTo(start);
  EXPECT_FALSE(start.has_after_revision());
}

TEST(ResumePointTest, KeepsTheHistoryAndTheViewThatTheLastMarkNamed) {
  ResumePoint point;
  WatchQuotasResponse message = Message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 3);
  *message.add_bundle() = Message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END, 5, "h1");
  message.mutable_bundle(0)->set_view("v1");
  *message.add_bundle() = Message(type::v1::WATCH_EVENT_TYPE_CHANGED, 6);
  point.Take(message);
  type::v1::WatchStart start;
  point.WriteTo(start);
  EXPECT_EQ(start.after_revision(), 6);
  EXPECT_EQ(start.incarnation(), "h1");
  EXPECT_EQ(start.view(), "v1");
  point.Forget();
  EXPECT_TRUE(point.empty());
}

}  // namespace
}  // namespace muster::rpc
