#pragma once

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "storage/postgres/table_store.h"
#include "storage/postgres/testing/fault_run.h"

namespace muster::storage {

// The names (or the beginnings, where there is no name) of all statements in a source file.
inline std::vector<std::string> StatementsIn(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(text.empty()) << path;
  static const std::regex& named = *new std::regex(
      R"re(constexpr\s+(?:Statement\s+\w+\s*=\s*\{|char\s+\w+\[\]\s*=)\s*"([^"]+)")re");
  std::vector<std::string> statements;
  for (std::sregex_iterator it(text.begin(), text.end(), named), end; it != end; ++it)
    statements.push_back((*it)[1]);
  return statements;
}

// A run waits for about half its time.
inline constexpr int kWorkers = 4;

template <class State>
struct SweepResult {
  std::map<std::string, int> sites = {};
  std::vector<std::string> first_calls = {};
  typename FaultRun<State>::Contents contents = {};
  std::vector<absl::Status> failures = {};
  std::vector<PlannedFault> pending = {};
};

template <class State>
SweepResult<State> RunWith(const FaultDomain<State>& domain, FaultBench& bench,
                           std::vector<PlannedFault> faults) {
  const auto plan = std::make_shared<FaultPlan>(std::move(faults));
  FaultRun<State> run(domain, bench, plan);
  domain.script(run);
  run.Stop();
  return {plan->counts(), plan->first_calls(), run.contents(), run.failures(), plan->pending()};
}

// What clients may be told when so many calls failed so: nothing at all, or once for each the error
// itself, or that the replica is not ready for reads.
inline void ExpectHarmless(const std::vector<absl::Status>& failures, FaultKind kind,
                           std::ptrdiff_t calls) {
  const auto expect_once_each = [&](absl::StatusCode code) {
    int count = 0;
    for (const absl::Status& status : failures) {
      if (status.code() == code) {
        ++count;
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      }
    }
    EXPECT_LE(count, calls);
  };
  switch (kind) {
    case FaultKind::kError:
      return expect_once_each(absl::StatusCode::kInternal);
    case FaultKind::kDoneThenTimeout:
      return expect_once_each(absl::StatusCode::kDeadlineExceeded);
    case FaultKind::kDoneThenLost:
    case FaultKind::kDeadlock:
    case FaultKind::kSerialization:
    case FaultKind::kLost:
    case FaultKind::kReadOnly:
      EXPECT_THAT(failures, ::testing::IsEmpty());
      return;
  }
}

// A run costs two loads and a dozen connections: it has two of these faults, half the script apart,
// so that the first is long mended when the second comes.
inline void AppendInPairs(const std::vector<PlannedFault>& faults,
                          std::vector<std::vector<PlannedFault>>& cases) {
  const size_t half = (faults.size() + 1) / 2;
  for (size_t i = 0; i < half; ++i) {
    cases.push_back({faults[i]});
    if (half + i < faults.size()) cases.back().push_back(faults[half + i]);
  }
}

// Each kind of fault at the first call of every site, at every commit of a write where the kind
// makes it doubtful, and at every call that settles an unknown commit.
template <class State>
std::vector<std::vector<PlannedFault>> CasesFor(const SweepResult<State>& good,
                                                const SweepResult<State>& with_doubt) {
  const PlannedFault doubt{"write/commit", 1, FaultKind::kDoneThenLost};
  std::vector<std::vector<PlannedFault>> cases;
  for (const FaultKind kind : kFaultKinds) {
    std::vector<PlannedFault> first_calls;
    for (const std::string& site : good.first_calls) first_calls.push_back({site, 1, kind});
    AppendInPairs(first_calls, cases);
    const bool doubtful = kind == FaultKind::kDoneThenTimeout || kind == FaultKind::kDoneThenLost ||
                          kind == FaultKind::kLost;
    std::vector<PlannedFault> commits;
    for (int i = 2; doubtful && i <= good.sites.at("write/commit"); ++i)
      commits.push_back({"write/commit", i, kind});
    AppendInPairs(commits, cases);
    for (const auto& [site, count] : with_doubt.sites) {
      if (absl::StartsWith(site, "settle/")) cases.push_back({doubt, {site, 1, kind}});
    }
  }
  return cases;
}

// What reads ask a server that has standbys, which no script has: QuotaStandbyTest.
inline constexpr absl::string_view kAskedOfPrimaries = "SELECT pg_logical_emit_message(";
// What is asked where the head was not to be had in time, which no script waits for:
// QuotaPipelineTest.
inline constexpr absl::string_view kAskedForTheHead = "journal_end_stalled";

// Those of the sources, and of the store's tables.
template <class State>
std::vector<std::string> StatementsOf(const FaultDomain<State>& domain) {
  std::vector<std::string> all;
  for (const std::string& source : domain.sources) {
    const std::vector<std::string> statements = StatementsIn(source);
    EXPECT_FALSE(statements.empty()) << source;
    all.insert(all.end(), statements.begin(), statements.end());
  }
  for (const SqlTableText* table : dynamic_cast<const TableStore<State>&>(*domain.store).tables()) {
    const std::vector<std::string> statements = table->statements();
    all.insert(all.end(), statements.begin(), statements.end());
  }
  return all;
}

// Runs the script without a fault, finds out which calls it makes, and runs it again once for each
// of CasesFor.
template <class State>
void EveryCallFailsOnce(const FaultDomain<State>& domain) {
  FaultBench first(domain.schema);
  const SweepResult<State> good = RunWith(domain, first, {});
  ASSERT_THAT(good.failures, ::testing::IsEmpty());
  const SweepResult<State> doubtful =
      RunWith(domain, first, {{"write/commit", 1, FaultKind::kDoneThenLost}});
  for (const std::string& statement : StatementsOf(domain)) {
    if (absl::StartsWith(statement, kAskedOfPrimaries) || statement == kAskedForTheHead) continue;
    EXPECT_TRUE(std::any_of(doubtful.sites.begin(), doubtful.sites.end(),
                            [&](const auto& site) {
                              return absl::StartsWith(site.first.substr(site.first.find('/') + 1),
                                                      statement);
                            }))
        << "The script does not reach the statement " << statement;
  }
  const auto cases = CasesFor(good, doubtful);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    FaultBench bench(domain.schema);
    for (size_t i = next++; i < cases.size(); i = next++) {
      SCOPED_TRACE(
          absl::StrJoin(cases[i], " and ", [](std::string* out, const PlannedFault& fault) {
            absl::StrAppend(out, fault.site, " #", fault.occurrence, ": ", ToString(fault.kind));
          }));
      const SweepResult<State> result = RunWith(domain, bench, cases[i]);
      EXPECT_THAT(result.pending, ::testing::IsEmpty()) << "the fault was not reached";
      const FaultKind kind = cases[i].back().kind;
      const auto of_kind = [&](const PlannedFault& fault) { return fault.kind == kind; };
      ExpectHarmless(result.failures, kind, absl::c_count_if(cases[i], of_kind));
      EXPECT_EQ(result.contents, good.contents);
    }
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  std::cout << domain.schema << ": " << doubtful.sites.size() << " sites, " << kFaultKinds.size()
            << " kinds of fault, " << cases.size() << " runs\n";
  for (const auto& [site, count] : doubtful.sites)
    std::cout << "  " << site.substr(0, 70) << " (" << count << ")\n";
}

}  // namespace muster::storage
