#pragma once

// Includes libpqxx: for storage/ only.
#include <functional>
#include <memory>
#include <pqxx/pqxx>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "storage/postgres/answer_watchdog.h"
#include "storage/postgres/wakeup.h"

// libpq's connection.
struct pg_conn;

namespace muster::storage {

// Keeps what libpqxx does not give away: libpq's connection below its own.
class ConnectPolicy : public pqxx::connect_direct {
 public:
  using pqxx::connect_direct::connect_direct;
  handle do_startconnect(handle before) override {
    return handle_ = pqxx::connect_direct::do_startconnect(before);
  }
  pg_conn* libpq() const { return handle_; }

 private:
  handle handle_ = nullptr;
};

// A connection of libpqxx whose libpq is at hand.
class RawConnection : private ConnectPolicy, public pqxx::connection_base {
 public:
  // Throws pqxx::broken_connection.
  explicit RawConnection(const std::string& conninfo)
      : ConnectPolicy(conninfo),
        pqxx::connection_base(static_cast<pqxx::connectionpolicy&>(*this)) {
    init();
  }
  ~RawConnection() { close(); }
  pg_conn* libpq() const { return ConnectPolicy::libpq(); }
};

// One connection, and which statements were prepared on it. Not thread-safe.
class Connection {
 public:
  // Throws pqxx::broken_connection. `watchdog`, unless null, cuts it when its server owes an answer
  // for too long. `losses`: WritableHost::losses before it is made.
  explicit Connection(const std::string& conninfo, AnswerWatchdog* watchdog = nullptr,
                      int64_t losses = 0)
      : raw_(conninfo),
        losses_(losses),
        asked_(std::make_shared<AskedSocket>(raw_.sock())),
        warnings_(raw_, warning_) {
// Deprecated, and the only way to stop libpqxx from reconnecting behind our back.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    raw_.inhibit_reactivation(true);
#pragma GCC diagnostic pop
    if (watchdog != nullptr) watchdog->Watch(asked_);
  }

  // While one lives, the server owes an answer.
  class Question {
   public:
    explicit Question(Connection& connection) : connection_(connection) { connection.Asks(); }
    ~Question() { connection_.Heard(); }
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;

   private:
    Connection& connection_;
  };
  // The same in two calls: for a question that ends elsewhere than it begins.
  void Asks() { asked_->Asks(); }
  void Heard() { asked_->Heard(); }

  pqxx::connection_base& raw() { return raw_; }
  pg_conn* libpq() { return raw_.libpq(); }
  // True at the first call for `name`: the caller must then prepare that statement with libpqxx.
  bool FirstUse(const std::string& name) { return prepared_.insert(name).second; }
  // Statements that a StatementPipeline has prepared, under names that libpqxx does not use.
  bool IsPipelined(absl::string_view name) const { return pipelined_.count(name) > 0; }
  void SetPipelined(absl::string_view name) { pipelined_.emplace(name); }
  // The server's last warning since this was last called; empty: there was none.
  std::string TakeWarning() { return std::exchange(warning_, std::string()); }
  // Whether the server said something since its last answer: as a rule that it has ended the
  // session. Anything sent to it now would have an unknown outcome.
  bool HasNews() const { return IsReadable(raw_.sock()); }
  int64_t losses() const { return losses_; }
  // When its server was started, as the server says it: another server has another time.
  const std::string& server_start() const { return server_start_; }
  void SetServerStart(std::string time) { server_start_ = std::move(time); }
  // The connection must not be used again.
  void MarkBroken() { broken_ = true; }
  bool broken() const { return broken_; }

 private:
  class Warnings final : public pqxx::errorhandler {
   public:
    Warnings(pqxx::connection_base& connection, std::string& last)
        : pqxx::errorhandler(connection), last_(last) {}
    bool operator()(const char message[]) noexcept override {
      try {
        last_ = std::string(message);
      } catch (const std::exception&) {
        // That there was one is all that matters, and memory for one character is always there.
        last_.assign(1, '?');
      }
      return false;  // not printed
    }

   private:
    std::string& last_;
  };

  RawConnection raw_;
  const int64_t losses_;
  const std::shared_ptr<AskedSocket> asked_;
  std::string server_start_;
  std::string warning_;
  Warnings warnings_;  // after what it refers to
  std::set<std::string> prepared_;
  std::set<std::string, std::less<>> pipelined_;
  bool broken_ = false;
};

}  // namespace muster::storage
