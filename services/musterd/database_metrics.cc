#include "services/musterd/database_metrics.h"

#include <atomic>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/steady_clock.h"
#include "services/rpc/metric_family.h"

namespace muster::musterd {

using prometheus::MetricFamily;

namespace {

std::vector<MetricFamily> JournalFamilies(
    const std::map<std::string, std::unique_ptr<storage::JournalGauge>>& journals, int64_t most) {
  MetricFamily length = rpc::Gauges("muster_database_journal_changes",
                                    "Changes that the journal of a service holds.");
  MetricFamily age = rpc::Gauges("muster_database_journal_age_seconds",
                                 "How old the oldest change in the journal of a service is.");
  MetricFamily keep = rpc::Gauges("muster_database_journal_keep_changes",
                                  "Changes that it is to hold at most (--journal_keep).");
  MetricFamily revision =
      rpc::Gauges("muster_database_revision",
                  "Revision of a service's last change, as the database said in the last 30 s.");
  for (const auto& [service, journal] : journals) {
    rpc::AddSample(keep, {{"service", service}}, most);
    const std::optional<storage::JournalGauge::Figures> last = journal->last();
    if (!last.has_value()) continue;
    rpc::AddSample(length, {{"service", service}}, last->changes);
    rpc::AddSample(age, {{"service", service}}, absl::ToDoubleSeconds(last->age));
    rpc::AddSample(revision, {{"service", service}}, last->revision);
  }
  return {std::move(length), std::move(age), std::move(revision), std::move(keep)};
}

}  // namespace

class DatabaseMetrics::Observer final : public storage::DatabaseObserver {
 public:
  void ConnectionsChanged(int in_use, int idle) override {
    in_use_ += in_use;
    idle_ += idle;
  }
  void ConnectionRefused() override { ++refused_; }
  void Committed(absl::Duration transaction, absl::Duration commit) override {
    transactions_.Observe(transaction);
    commits_.Observe(commit);
  }
  void Failed(absl::string_view sqlstate) override {
    MutexLock lock(mutex_);
    ++failures_[std::string(sqlstate)];
  }
  void DoubtChanged(int commits) override { in_doubt_ += commits; }

  int64_t in_use() const { return in_use_; }
  int64_t idle() const { return idle_; }
  int64_t refused() const { return refused_; }
  int64_t in_doubt() const { return in_doubt_; }
  const rpc::Histogram& transactions() const { return transactions_; }
  const rpc::Histogram& commits() const { return commits_; }
  std::map<std::string, int64_t> failures() const {
    MutexLock lock(mutex_);
    return failures_;
  }

 private:
  std::atomic<int64_t> in_use_ = 0;
  std::atomic<int64_t> idle_ = 0;
  std::atomic<int64_t> refused_ = 0;
  std::atomic<int64_t> in_doubt_ = 0;
  rpc::Histogram transactions_{rpc::kCallBuckets};
  rpc::Histogram commits_{rpc::kCallBuckets};
  mutable Mutex mutex_;
  // The first three are what alerts ask for.
  std::map<std::string, int64_t> failures_ MUSTER_GUARDED_BY(mutex_) = {
      {"40001", 0}, {"40P01", 0}, {"connection", 0}};
};

DatabaseMetrics::DatabaseMetrics(std::shared_ptr<const Conninfo> conninfo)
    : conninfo_(std::move(conninfo)) {}
DatabaseMetrics::~DatabaseMetrics() = default;

std::shared_ptr<storage::DatabaseObserver> DatabaseMetrics::ObserverOf(const std::string& service) {
  MutexLock lock(mutex_);
  std::shared_ptr<Observer>& observer = observers_[service];
  if (observer == nullptr) observer = std::make_shared<Observer>();
  return observer;
}

void DatabaseMetrics::WatchJournal(const std::string& service, const storage::LaneOptions& lane) {
  MutexLock lock(mutex_);
  journals_[service] = std::make_unique<storage::JournalGauge>(lane.connect);
  journal_keep_ = lane.journal_keep;
}

std::optional<absl::Duration> DatabaseMetrics::JournalAge(const std::string& service) const {
  MutexLock lock(mutex_);
  const auto journal = journals_.find(service);
  const auto last = journal == journals_.end() ? std::nullopt : journal->second->last();
  return last ? std::optional(last->AgeAt(TheSteadyClock()->Now())) : std::nullopt;
}

void DatabaseMetrics::StopWatching() {
  std::map<std::string, std::unique_ptr<storage::JournalGauge>> stopped;
  MutexLock lock(mutex_);
  stopped.swap(journals_);
}

std::vector<MetricFamily> DatabaseMetrics::Collect() const {
  MetricFamily connections =
      rpc::Gauges("muster_database_connections",
                  "Connections to a service's database: in_use (or being opened) and idle.");
  MetricFamily refused = rpc::Counters("muster_database_connections_refused_total",
                                       "Connections that the database did not take.");
  MetricFamily transactions = rpc::Histograms(
      "muster_database_transaction_seconds",
      "How long a transaction that wrote took: head locked, decided, stored, committed.");
  MetricFamily commits =
      rpc::Histograms("muster_database_commit_seconds",
                      "How long the COMMIT of such a transaction took, with what was sent along.");
  MetricFamily failures = rpc::Counters(
      "muster_database_failed_attempts_total",
      "Attempts of transactions that failed so that another may help, by SQLSTATE; `connection`: "
      "the database said nothing.");
  MetricFamily in_doubt = rpc::Gauges("muster_database_commits_in_doubt",
                                      "Commits of which it is not known now whether they were "
                                      "done.");
  MetricFamily conninfo =
      rpc::Gauge("muster_database_conninfo_refused",
                 "1: the file with the connection string of the database that is there now cannot "
                 "be used, and the last that could counts on; else 0.",
                 conninfo_->reloads().refused_now ? 1 : 0);
  MutexLock lock(mutex_);
  for (const auto& [service, observer] : observers_) {
    const rpc::Labels labels = {{"service", service}};
    rpc::AddSample(connections, {{"service", service}, {"state", "in_use"}}, observer->in_use());
    rpc::AddSample(connections, {{"service", service}, {"state", "idle"}}, observer->idle());
    rpc::AddSample(refused, labels, observer->refused());
    observer->transactions().AddTo(transactions, labels);
    observer->commits().AddTo(commits, labels);
    for (const auto& [sqlstate, n] : observer->failures())
      rpc::AddSample(failures, {{"service", service}, {"sqlstate", sqlstate}}, n);
    rpc::AddSample(in_doubt, labels, observer->in_doubt());
  }
  std::vector<MetricFamily> families = {
      std::move(connections), std::move(refused),  std::move(transactions), std::move(commits),
      std::move(failures),    std::move(in_doubt), std::move(conninfo)};
  absl::c_move(JournalFamilies(journals_, journal_keep_), std::back_inserter(families));
  return families;
}

}  // namespace muster::musterd
