#pragma once

#include <cstdint>
#include <string>

#include "services/kubernetes/core/status_facts.h"

// Whether a NodePool is healthy, in one word: what `kubectl wait --for=condition=Ready` and what
// goes by kstatus (Flux, Argo CD, Helm) read. As Muster says it of the pool, but for what only the
// adapter knows of the object and of the v1 Nodes.
namespace muster::kubernetes {

struct Summary {
  std::string status = {};  // of Ready: True, False or Unknown
  std::string reason = {};
  std::string message = {};
  // It is not ready and will not be by itself: the pool's owner, who sets quotas or who runs Muster
  // must act.
  bool stalled = false;
};

// `conditions`: the current edition's, each with the generation of the object that it speaks of.
Summary Summarize(const StatusFacts& facts, const Json& conditions);

// The generation of the object that all of them speak of.
int64_t SummarizedGeneration(const StatusFacts& facts, const Json& conditions);

}  // namespace muster::kubernetes
