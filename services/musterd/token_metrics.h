#pragma once

#include <prometheus/collectable.h>

#include <vector>

#include "services/tokens/token_checker.h"

namespace muster::musterd {

// `muster_token_keys_reloads_total` and `muster_refused_tokens_total`. `tokens` must outlive it.
class TokenMetrics final : public prometheus::Collectable {
 public:
  explicit TokenMetrics(const tokens::TokenChecker* tokens) : tokens_(*tokens) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const tokens::TokenChecker& tokens_;
};

}  // namespace muster::musterd
