#include "tests/model/quota_model.h"

namespace muster::model {

int64_t QuotaModel::HeldOf(const std::string& quota) const {
  int64_t held = 0;
  for (const auto& [key, holding] : holdings_) held += key.first == quota ? holding.nodes : 0;
  return held;
}

std::optional<int64_t> QuotaModel::NodesOf(const std::string& quota,
                                           const std::string& pool) const {
  const auto holding = holdings_.find({quota, pool});
  return holding == holdings_.end() ? std::nullopt : std::optional(holding->second.nodes);
}

int64_t QuotaModel::GenerationOf(const std::string& quota, const std::string& pool) const {
  const auto holding = holdings_.find({quota, pool});
  return holding == holdings_.end() ? 0 : holding->second.generation;
}

QuotaTold QuotaModel::Sync(const QuotaAsk& ask) {
  const bool gone = released_.count(ask.pool) > 0;
  // "A pool's uid, once released, is refused for good" (11).
  if (gone && !ask.release) return {"POOL_RELEASED"};
  const bool repeated = gone && !NodesOf(ask.quota, ask.pool).has_value();
  // "A request with an older generation than the last is refused" (4).
  if (!repeated && ask.generation < GenerationOf(ask.quota, ask.pool))
    return {"GENERATION_TOO_OLD"};
  const int64_t limit = limits_.count(ask.quota) > 0 ? limits_.at(ask.quota) : 0;
  bool refused = false;
  if (ask.release) {
    released_.insert(ask.pool);
    holdings_.erase({ask.quota, ask.pool});
  } else {
    Holding& holding = holdings_[{ask.quota, ask.pool}];
    const int64_t others = HeldOf(ask.quota) - holding.nodes;
    // "A growth that does not fit is refused whole. The holding stays what it was" (4).
    refused = ask.nodes > holding.nodes && others + ask.nodes > limit;
    if (!refused) holding.nodes = ask.nodes;
    holding.generation = ask.generation;
  }
  // "A missing row and a limit of 0 are both NotSet" (1); "a limit may be lowered below what is
  // held: the key is then Over until it has shrunk" (4).
  const int64_t held = HeldOf(ask.quota);
  const bool over = refused || held > limit;
  return {"",
          limit == 0 ? "NOT_SET"
          : over     ? "OVER"
                     : "UNDER",
          NodesOf(ask.quota, ask.pool).value_or(0), held};
}

}  // namespace muster::model
