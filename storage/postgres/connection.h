#pragma once

// Includes libpqxx: for storage/ only.
#include <pqxx/pqxx>
#include <set>
#include <string>
#include <utility>

namespace muster::storage {

// One connection, and which statements were prepared on it. Not thread-safe.
class Connection {
 public:
  // Throws pqxx::broken_connection.
  explicit Connection(const std::string& conninfo) : raw_(conninfo), warnings_(raw_, warning_) {
// Deprecated, and the only way to stop libpqxx from reconnecting behind our back.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    raw_.inhibit_reactivation(true);
#pragma GCC diagnostic pop
  }

  pqxx::connection& raw() { return raw_; }
  // True the first time it is asked for `name`.
  bool FirstUse(const std::string& name) { return prepared_.insert(name).second; }
  // The same for statements that are sent as SQL's EXECUTE: libpqxx prepares them on the server
  // only when told to.
  bool FirstQueued(const std::string& name) { return queued_.insert(name).second; }
  // What the server has warned of since it was last asked; empty: of nothing.
  std::string TakeWarning() { return std::exchange(warning_, std::string()); }
  // The connection must not be used again.
  void MarkBroken() { broken_ = true; }
  bool broken() const { return broken_; }

 private:
  class Warnings final : public pqxx::errorhandler {
   public:
    Warnings(pqxx::connection& connection, std::string& last)
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

  pqxx::connection raw_;
  std::string warning_;
  Warnings warnings_;  // after what it refers to
  std::set<std::string> prepared_;
  std::set<std::string> queued_;
  bool broken_ = false;
};

}  // namespace muster::storage
