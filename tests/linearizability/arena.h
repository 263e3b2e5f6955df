#pragma once

#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "storage/postgres/journal_packing.h"
#include "storage/postgres/store.h"
#include "tests/integration/mini_muster.h"
#include "tests/linearizability/ask.h"
#include "tests/linearizability/call.h"
#include "tests/linearizability/rough_database.h"
#include "tests/linearizability/witness.h"

namespace muster::linearizability {

inline constexpr int kClients = 32;

// MUSTER_SEED, else a random one. Prints it.
inline unsigned Seed() {
  const char* given = std::getenv("MUSTER_SEED");
  unsigned seed = std::random_device{}();
  if (given != nullptr && !absl::SimpleAtoi(given, &seed)) throw std::runtime_error("MUSTER_SEED");
  std::cout << "seed " << seed << " (MUSTER_SEED=" << seed << " asks the same again)\n";
  return seed;
}

// Two replicas of every service over one Postgres. Clients hold and claim for pools that lifecycle
// does not know, so the books are not audited.
inline testing::MiniMuster::Options TwoReplicas() {
  return {.processes = {"capacity,quota,lifecycle,configuration",
                        "capacity,quota,lifecycle,configuration"},
          .audit_books = false};
}

// Has 32 clients ask `calls_each` times each, one after the other, half of them at each replica.
// `make(client, channels)` gives the function that asks once. With `kill`, replica 1 is killed and
// started again half-way; without, a client stops after a call of unknown outcome. Returns all
// calls, in no order.
template <class State>
std::vector<Call<State>> Play(
    testing::MiniMuster& muster, int calls_each, bool kill,
    const std::function<std::function<Call<State>()>(int, const Channels&)>& make) {
  std::mutex mutex;
  std::condition_variable half_done;
  std::vector<Call<State>> calls;
  const auto half = static_cast<size_t>(kClients * calls_each / 2);
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      const auto own = static_cast<size_t>(client % 2);
      const auto ask = make(client, {muster.channel(own), muster.channel(1 - own)});
      for (int i = 0; i < calls_each; ++i) {
        Call<State> call = ask();
        const bool lost = call.outcome == Outcome::kUnknown;
        const std::lock_guard lock(mutex);
        calls.push_back(std::move(call));
        if (calls.size() == half) half_done.notify_all();
        if (lost && !kill) return;
      }
    });
  }
  if (kill) {
    {
      std::unique_lock lock(mutex);
      half_done.wait(lock, [&] { return calls.size() >= half; });
    }
    muster.Kill(1);
    muster.Start();
  }
  for (std::thread& client : clients) client.join();
  return calls;
}

// Reads a schema's whole journal. `mark` and `time`: see Journal::Row.
template <class State>
Journal<State> ReadJournal(const testing::MiniMuster& muster, const std::string& schema,
                           const storage::Store<State>& store,
                           std::string (*mark)(const typename State::Change&),
                           absl::Time (*time)(const typename State::Change&)) {
  Journal<State> journal;
  journal.encode = [&store](const Revised<typename State::Change>& change) {
    return store.Encode(change);
  };
  for (const auto& row : muster.database().Query(
           absl::StrCat("SELECT revision, batch, kind, key, encode(change, 'hex') FROM ",
                        WholeJournal(muster.database(), schema), " ORDER BY revision, batch"))) {
    typename Journal<State>::Row entry;
    if (!absl::SimpleAtoi(*row[0], &entry.revision)) throw std::runtime_error(*row[0]);
    entry.batch = *row[1];
    if (row[4].has_value()) entry.bytes = storage::Unpack(*row[3], absl::HexStringToBytes(*row[4]));
    auto change = store.Decode(*row[2], *row[3], row[4].has_value() ? &entry.bytes : nullptr);
    if (!change.ok()) throw std::runtime_error(change.status().ToString());
    entry.change = {*std::move(change), entry.revision};
    entry.mark = mark(entry.change.change);
    entry.time = time(entry.change.change);
    journal.rows.push_back(std::move(entry));
  }
  return journal;
}

// Turns the rows up to `revision` into the state before the history; of keys that begin with
// `ballast` (unless that is empty) they are dropped.
template <class State>
void BeginAfter(Journal<State>& journal, int64_t revision, absl::string_view ballast = "") {
  size_t count = 0;
  while (count < journal.rows.size() && journal.rows[count].revision <= revision) {
    const auto& row = journal.rows[count++];
    if (ballast.empty() || !absl::StartsWith(row.change.change.key, ballast))
      journal.before.Apply(row.change.change, row.revision);
  }
  journal.rows.erase(journal.rows.begin(), journal.rows.begin() + static_cast<long>(count));
  journal.revision = revision;
}

}  // namespace muster::linearizability
