#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace muster::testing {

// Why the API server refuses a request. Thrown while a request is carried out, caught where it is
// answered.
struct Refusal {
  int code = 0;
  std::string reason = {};
  std::string message = {};
  nlohmann::json causes = nlohmann::json::array();
  int retry_after = 0;  // seconds; 0: not said
};

// A `metav1.Status`.
nlohmann::json StatusBody(const Refusal& refusal);
// A refusal with the code that a test asked for.
Refusal RefusalOf(int code, int retry_after);

// One of the causes of a 422.
struct Invalid {
  std::string field = {};
  std::string message = {};
};

Refusal BadRequest(absl::string_view message);
Refusal NotFound(absl::string_view resource, absl::string_view name);
Refusal AlreadyExists(absl::string_view resource, absl::string_view name);
Refusal Conflict(absl::string_view resource, absl::string_view name, absl::string_view message);
Refusal Expired(absl::string_view message);
Refusal Unprocessable(absl::string_view kind, absl::string_view name,
                      const std::vector<Invalid>& faults);

}  // namespace muster::testing
