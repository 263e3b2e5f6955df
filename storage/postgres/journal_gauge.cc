#include "storage/postgres/journal_gauge.h"

#include <utility>

#include "services/common/steady_clock.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"

namespace muster::storage {
namespace {

// Counts from the oldest row that is there, even if it is forgotten already: deleting may have
// failed. Revisions have no gaps.
constexpr Statement kMeasure = {
    "journal_measure",
    "SELECT h.revision, coalesce(h.revision - oldest.revision + 1, 0),"
    " coalesce((extract(epoch FROM clock_timestamp() - oldest.commit_time) * 1000000)::bigint, 0)"
    " FROM journal_head h LEFT JOIN"
    " (SELECT revision, commit_time FROM journal ORDER BY revision LIMIT 1) AS oldest ON true"};

}  // namespace

JournalGauge::JournalGauge(ConnectOptions connect, absl::Duration interval)
    : pool_(std::move(connect), 1), interval_(interval), thread_([this] { Run(); }) {}

JournalGauge::~JournalGauge() {
  stopper_.Stop();
  thread_.join();
}

std::optional<JournalGauge::Figures> JournalGauge::last() const {
  MutexLock lock(mutex_);
  return last_;
}

void JournalGauge::Run() {
  do {
    const std::optional<Figures> figures = Ask();
    MutexLock lock(mutex_);
    last_ = figures;
  } while (stopper_.Sleep(interval_));
}

std::optional<JournalGauge::Figures> JournalGauge::Ask() {
  Figures figures;
  const absl::Duration asked_at = TheSteadyClock()->Now();
  TransactionRunner runner(&pool_, {.max_attempts = 1});
  const absl::Status status = runner.RunStatement(
      [&](Transaction& tx) {
        const auto rows = tx.Exec(kMeasure);
        figures = {rows[0][0].as<int64_t>(), rows[0][1].as<int64_t>(),
                   absl::Microseconds(rows[0][2].as<int64_t>()), asked_at};
        return absl::OkStatus();
      },
      "measure");
  pool_.DropIdle();
  if (!status.ok()) return std::nullopt;
  return figures;
}

}  // namespace muster::storage
