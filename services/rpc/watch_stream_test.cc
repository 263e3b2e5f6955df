#include "services/rpc/watch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "services/access/scope.h"
#include "services/common/error.h"
#include "services/rpc/client/bundle.h"
#include "services/rpc/client/read_stream.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "services/rpc/watch_wire.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;
using Response = v1::WatchQuotasResponse;

// What storage::Watcher promises, with numbers for items.
class FakeWatcher {
 public:
  std::optional<int64_t> Next() {
    MutexLock lock(mutex_);
    if (items_.empty()) return std::nullopt;
    const int64_t item = items_.front();
    items_.pop_front();
    return item;
  }
  std::optional<absl::Status> Ended() {
    MutexLock lock(mutex_);
    return items_.empty() ? end_ : std::nullopt;
  }
  void NotifyWhenReady(absl::AnyInvocable<void()> ready) {
    {
      MutexLock lock(mutex_);
      EXPECT_FALSE(static_cast<bool>(ready_)) << "one at a time";
      if (cancelled_) return;
      if (items_.empty() && !end_) {
        ready_ = std::move(ready);
        return;
      }
    }
    ready();
  }
  void Cancel() {
    MutexLock lock(mutex_);
    cancelled_ = true;
    ready_ = nullptr;
    changed_.SignalAll();
  }

  void Push(int64_t item) {
    Change([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { items_.push_back(item); });
  }
  void End(absl::Status status) {
    Change([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { end_ = std::move(status); });
  }
  void WaitUntilCancelled() {
    MutexLock lock(mutex_);
    while (!cancelled_) changed_.Wait(mutex_);
  }
  size_t waiting() const {
    MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  template <class F>
  void Change(F change) {
    absl::AnyInvocable<void()> ready;
    {
      MutexLock lock(mutex_);
      change();
      ready = std::exchange(ready_, nullptr);
    }
    if (ready) ready();
  }

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<int64_t> items_ MUSTER_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ MUSTER_GUARDED_BY(mutex_);
  absl::AnyInvocable<void()> ready_ MUSTER_GUARDED_BY(mutex_);
  bool cancelled_ MUSTER_GUARDED_BY(mutex_) = false;
};

Response ToResponse(int64_t item) {
  Response response;
  response.set_revision(item);
  return response;
}

type::v1::WatchStart Bundled() {
  type::v1::WatchStart start;
  start.set_bundle(true);
  return start;
}

class WatchStreamTest : public ::testing::Test {
 protected:
  WatchStreamTest() { Convert(&ToResponse); }

  void Convert(std::function<Response(int64_t)> convert) {
    server_.service.watch = [this, convert](grpc::CallbackServerContext* context) {
      return WatchStream<Response>(context, watcher_, convert);
    };
  }
  auto Open() { return server_.stub->WatchQuotas(&context_, {}); }

  CaughtLog log_;
  std::shared_ptr<FakeWatcher> watcher_ = std::make_shared<FakeWatcher>();
  FakeServer server_;
  grpc::ClientContext context_;
};

TEST_F(WatchStreamTest, ShowsItemsInOrderAndEndsAsTheWatcherDoes) {
  for (int i = 0; i < 10; ++i) watcher_->Push(i);
  auto stream = Open();
  Response response;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.revision(), i);
  }
  for (int i = 10; i < 20; ++i) {  // one by one, after it had nothing
    watcher_->Push(i);
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.revision(), i);
  }
  watcher_->Push(20);
  watcher_->End(error::WatchTooSlow(20));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.revision(), 20);
  EXPECT_FALSE(stream->Read(&response));
  const absl::Status status = FromGrpcStatus(stream->Finish());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(error::DetailOf(status).has_value());
  EXPECT_EQ(error::DetailOf(status)->metadata.at("resume_revision"), "20");
  watcher_->WaitUntilCancelled();
}

TEST_F(WatchStreamTest, SendsItsHeadersBeforeTheFirstItem) {
  auto stream = Open();
  stream->WaitForInitialMetadata();
  EXPECT_EQ(context_.GetServerInitialMetadata().count("x-request-id"), 1u);
  watcher_->End(absl::UnavailableError("x"));
  EXPECT_FALSE(stream->Finish().ok());
}

// A reader that does not read leaves the items where they are.
TEST_F(WatchStreamTest, ASlowReaderFillsTheWatcherNotOurMemory) {
  const std::string padding(1 << 20, 'x');
  Convert([&](int64_t item) {
    Response response = ToResponse(item);
    response.set_key(padding);
    return response;
  });
  for (int i = 0; i < 64; ++i) watcher_->Push(i);
  auto stream = Open();
  Response response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_GT(watcher_->waiting(), 32u);
  for (int i = 1; i < 64; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.revision(), i);
  }
  watcher_->End(absl::AbortedError("x"));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(WatchStreamTest, WhatIsReadyAtTheSameTimeMayComeAsOneMessage) {
  server_.service.watch = [this](grpc::CallbackServerContext* context) {
    return WatchStream<Response>(context, watcher_, &ToResponse, Bundled());
  };
  constexpr int kItems = 2 * kMaxBundle;
  for (int i = 0; i < kItems; ++i) watcher_->Push(i);
  watcher_->End(absl::UnavailableError("x"));
  auto stream = Open();
  Response response;
  std::vector<int64_t> seen;
  int messages = 0;
  for (; stream->Read(&response); ++messages) {
    EXPECT_LE(response.bundle_size(), kMaxBundle);
    ForEachMessage(response, [&](const Response& item) { seen.push_back(item.revision()); });
  }
  EXPECT_EQ(messages, 2);
  ASSERT_EQ(seen.size(), static_cast<size_t>(kItems));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

// A snapshot's end says to whom it was shown, wherever it stands.
TEST_F(WatchStreamTest, WhatNamesAHistoryNamesTheViewAlsoInABundle) {
  server_.service.watch = [this](grpc::CallbackServerContext* context) {
    const auto marked = [](int64_t item) {
      Response response = ToResponse(item);
      if (item > 0) response.set_incarnation("h");
      return response;
    };
    return WatchStream<Response>(context, watcher_, marked, Bundled());
  };
  for (int i = 0; i < 2; ++i) watcher_->Push(i);
  watcher_->End(absl::UnavailableError("x"));
  auto stream = Open();
  Response response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.view(), "");
  ASSERT_EQ(response.bundle_size(), 1);
  EXPECT_EQ(response.bundle(0).view(), access::ViewOf(nullptr));
}

TEST_F(WatchStreamTest, ABundleOfLargeMessagesIsCutShort) {
  server_.service.watch = [this](grpc::CallbackServerContext* context) {
    const auto large = [](int64_t item) {
      Response response = ToResponse(item);
      response.set_key(std::string(kMaxBundleBytes / 2, 'x'));
      return response;
    };
    return WatchStream<Response>(context, watcher_, large, Bundled());
  };
  for (int i = 0; i < 6; ++i) watcher_->Push(i);
  watcher_->End(absl::UnavailableError("x"));
  auto stream = Open();
  Response response;
  std::vector<int> sizes;
  while (stream->Read(&response)) sizes.push_back(1 + response.bundle_size());
  EXPECT_THAT(sizes, ::testing::ElementsAre(2, 2, 2));
}

TEST_F(WatchStreamTest, AReaderTakesEveryMessageAndTheEnd) {
  for (int i = 0; i < 100; ++i) watcher_->Push(i);
  watcher_->End(absl::AbortedError("x"));
  const v1::WatchQuotasRequest request;
  std::vector<int64_t> seen;
  const grpc::Status status = ReadStream<Response>(
      [&](auto* reactor) { server_.stub->async()->WatchQuotas(&context_, &request, reactor); },
      [&](const Response& response) { seen.push_back(response.revision()); });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  ASSERT_EQ(seen.size(), 100u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_F(WatchStreamTest, AReaderEndsWhenItIsCancelled) {
  watcher_->Push(1);
  const v1::WatchQuotasRequest request;
  const grpc::Status status = ReadStream<Response>(
      [&](auto* reactor) { server_.stub->async()->WatchQuotas(&context_, &request, reactor); },
      [&](const Response&) { context_.TryCancel(); });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  watcher_->WaitUntilCancelled();
}

TEST_F(WatchStreamTest, WhenTheClientGoesTheWatcherIsCancelled) {
  auto stream = Open();
  stream->WaitForInitialMetadata();
  context_.TryCancel();
  watcher_->WaitUntilCancelled();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(WatchStreamTest, WhenTheServerStopsStreamsEndUnavailable) {
  watcher_->Push(1);
  auto stream = Open();
  Response response;
  ASSERT_TRUE(stream->Read(&response));
  server_.server->Shutdown();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  watcher_->WaitUntilCancelled();
  EXPECT_THAT(server_.metrics.Text(),
              HasSubstr(R"(grpc_method="WatchQuotas",grpc_code="Unavailable"} 1)"));
}

TEST_F(WatchStreamTest, AnExceptionBecomesInternal) {
  Convert([](int64_t) -> Response { throw std::runtime_error("out of cheese"); });
  watcher_->Push(1);
  auto stream = Open();
  Response response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(log_.text(), HasSubstr("out of cheese"));
}

TEST_F(WatchStreamTest, AStreamMayFailAtOnce) {
  server_.service.watch = [](grpc::CallbackServerContext* context) {
    return FailStream<Response>(context, error::InvalidField("start", "is wrong."));
  };
  auto stream = Open();
  const absl::Status status = FromGrpcStatus(stream->Finish());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(error::DetailOf(status)->fields[0].field, "start");
}

TEST_F(WatchStreamTest, MessagesAreCounted) {
  for (int i = 0; i < 3; ++i) watcher_->Push(i);
  watcher_->End(absl::UnavailableError("x"));
  auto stream = Open();
  Response response;
  while (stream->Read(&response)) {
  }
  EXPECT_FALSE(stream->Finish().ok());
  const std::string labels =
      R"({grpc_type="server_stream",grpc_service="muster.quota.v1.QuotaService",grpc_method="WatchQuotas")";
  EXPECT_THAT(server_.metrics.Text(), HasSubstr("grpc_server_msg_sent_total" + labels + "} 3"));
  EXPECT_THAT(server_.metrics.Text(), HasSubstr("grpc_server_started_total" + labels + "} 1"));
}

// Writers, readers that leave in the middle, and the pump all at once.
TEST_F(WatchStreamTest, ManyStreamsWithManyWriters) {
  constexpr int kStreams = 8;
  constexpr int kItems = 300;
  std::vector<std::shared_ptr<FakeWatcher>> watchers;
  for (int i = 0; i < kStreams; ++i) watchers.push_back(std::make_shared<FakeWatcher>());
  std::atomic<size_t> next = 0;
  server_.service.watch = [&](grpc::CallbackServerContext* context) {
    return WatchStream<Response>(context, watchers[next++], &ToResponse);
  };
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = writer; i < kItems; i += 2) {
        for (const auto& watcher : watchers) watcher->Push(i);
      }
    });
  }
  for (int i = 0; i < kStreams; ++i) {
    threads.emplace_back([&, leaves = i % 2 == 0] {
      grpc::ClientContext context;
      auto stream = server_.stub->WatchQuotas(&context, {});
      Response response;
      std::vector<bool> seen(kItems, false);
      const int wanted = leaves ? kItems / 3 : kItems;
      for (int read = 0; read < wanted; ++read) {
        ASSERT_TRUE(stream->Read(&response));
        ASSERT_FALSE(seen[static_cast<size_t>(response.revision())]);
        seen[static_cast<size_t>(response.revision())] = true;
      }
      context.TryCancel();
      EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& watcher : watchers) watcher->WaitUntilCancelled();
}

}  // namespace
}  // namespace muster::rpc
