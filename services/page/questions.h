#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "services/page/page_watches.h"

namespace muster::page {

// What the page asks the services when somebody looks closer, beside what the watches tell. The
// answers are the services' own, as JSON (google.protobuf's). Thread-safe; blocks.
class Questions {
 public:
  struct Answer {
    int status = 200;  // of HTTP
    std::string json = {};
  };

  explicit Questions(const Channels& channels);
  ~Questions();

  // `{"explained": ExplainNodePoolResponse, "events": [Event, ...]}`, the youngest events first.
  Answer Pool(const std::string& name) const;
  // ExplainClaimResponse of the pool's claim.
  Answer Claim(absl::string_view pool_uid) const;

 private:
  const Channels channels_;
};

}  // namespace muster::page
