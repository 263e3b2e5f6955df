#include "services/musterd/token_metrics.h"

#include <utility>

#include "services/rpc/metric_family.h"

namespace muster::musterd {

std::vector<prometheus::MetricFamily> TokenMetrics::Collect() const {
  const tokens::TokenChecker::Stats stats = tokens_.stats();
  prometheus::MetricFamily reloads =
      rpc::Counters("muster_token_keys_reloads_total",
                    "Times that the file with the keys of tokens was taken, the first included, or "
                    "changed into what cannot be used, so that the last stayed.");
  rpc::AddSample(reloads, {{"result", "taken"}}, stats.keys.taken);
  rpc::AddSample(reloads, {{"result", "refused"}}, stats.keys.refused);
  return {std::move(reloads),
          rpc::Gauge("muster_token_keys_refused",
                     "1: the file with the keys of tokens that is there now cannot be used, and "
                     "the last that could counts on; else 0.",
                     stats.keys.refused_now ? 1 : 0),
          rpc::Counter("muster_refused_tokens_total",
                       "Bearer tokens that were not taken; why, their callers were told.",
                       stats.refused)};
}

}  // namespace muster::musterd
