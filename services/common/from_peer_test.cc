#include "services/common/from_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/log.h"

namespace muster::error {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTransports[] =
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.2:7612: refused";

TEST(FromPeer, OfTheTransportsWordsOnlyOperatorsRead) {
  const struct {
    absl::StatusCode code;
    const char* told;
  } cases[] = {
      {absl::StatusCode::kUnavailable, "Quota does not answer."},
      {absl::StatusCode::kDeadlineExceeded, "Quota did not answer in time."},
      {absl::StatusCode::kUnimplemented, "Quota does not answer (UNIMPLEMENTED)."},
  };
  for (const auto& [code, told] : cases) {
    const absl::Status status = FromPeer(absl::Status(code, kTransports), "Quota");
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), told);
    EXPECT_EQ(CauseOf(status), kTransports);
  }
}

TEST(FromPeer, TheLogHasTheCauseOfASilenceAlone) {
  std::vector<std::string> lines;
  log::SetSink([&](absl::string_view line) { lines.emplace_back(line); });
  LogSilence("quota", FromPeer(absl::UnavailableError(kTransports), "Quota"));
  LogSilence("quota", Unavailable("The database is away."));
  LogSilence("quota", absl::OkStatus());
  log::SetSink({});
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr(R"("service":"quota","code":"UNAVAILABLE")"),
                                       HasSubstr("ipv4:10.0.0.2:7612"))));
}

TEST(SilenceLog, TellsOfEachServiceOnceInAWhileHoweverOftenItIsAsked) {
  FakeSteadyClock clock;
  SilenceLog silence(&clock);
  std::vector<std::string> lines;
  log::SetSink([&](absl::string_view line) { lines.emplace_back(line); });
  const absl::Status away = FromPeer(absl::UnavailableError(kTransports), "Quota");
  const absl::Status late = FromPeer(absl::DeadlineExceededError(kTransports), "Quota");
  for (int i = 0; i < 50; ++i) {
    silence.Note("quota", i % 3 == 0 ? away : late);
    silence.Note("quota", absl::OkStatus());
    silence.Note("quota", Unavailable("The database is away."));
  }
  silence.Note("capacity", late);
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr(R"("service":"quota","code":"UNAVAILABLE")"),
                                       HasSubstr("ipv4:10.0.0.2:7612"), HasSubstr(R"("untold":0)")),
                                 HasSubstr(R"("service":"capacity")")));
  clock.Advance(SilenceLog::kSilencePause);
  silence.Note("quota", late);
  log::SetSink({});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines.back(), HasSubstr(R"("untold":49)"));
}

TEST(FromPeer, WhatAServiceSaidStays) {
  const absl::Status said = Unavailable("The database is away.", absl::Seconds(3));
  EXPECT_EQ(FromPeer(said, "Quota"), said);
  EXPECT_TRUE(FromPeer(absl::OkStatus(), "Quota").ok());
}

}  // namespace
}  // namespace muster::error
