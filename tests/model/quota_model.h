#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

// The rules of quota in the plainest code: limits and holdings in lists that are added up
// anew for every request.
namespace muster::model {

struct QuotaAsk {
  std::string quota = {};  // org, zone, instance type and compute class
  std::string pool = {};
  int64_t generation = 0;
  int64_t nodes = 0;
  bool release = false;
};

// The answer to a pool. After an error everything else is empty.
struct QuotaTold {
  std::string error = {};
  std::string verdict = {};  // UNDER, OVER, NOT_SET
  int64_t nodes = 0;         // what it is charged for now
  int64_t held = 0;          // by all
  bool operator==(const QuotaTold&) const = default;
};

class QuotaModel {
 public:
  void SetLimit(const std::string& quota, int64_t limit) { limits_[quota] = limit; }
  void DropLimit(const std::string& quota) { limits_.erase(quota); }
  QuotaTold Sync(const QuotaAsk& ask);

  int64_t HeldOf(const std::string& quota) const;
  // nullopt: none.
  std::optional<int64_t> NodesOf(const std::string& quota, const std::string& pool) const;
  // The generation of the last request that was answered; 0: none.
  int64_t GenerationOf(const std::string& quota, const std::string& pool) const;

 private:
  struct Holding {
    int64_t nodes = 0;
    int64_t generation = 0;
  };
  std::map<std::string, int64_t> limits_ = {};
  std::map<std::pair<std::string, std::string>, Holding> holdings_ = {};  // by quota and pool
  std::set<std::string> released_ = {};
};

}  // namespace muster::model
