#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "tests/kubernetes/fake_api_server/resources.h"

namespace muster::testing {

// Which objects of a collection a request is about: those of a namespace, by label and field
// selectors.
class Selection {
 public:
  Selection() = default;
  // `labels` and `fields`: selectors as in a URL. Throws Refusal (400) for a field that is not
  // selectable, or for what cannot be read.
  Selection(const Resource& resource, absl::string_view space, absl::string_view labels,
            absl::string_view fields);

  bool Matches(const nlohmann::json& object) const;

 private:
  struct Requirement {
    std::vector<std::string> path = {};
    std::vector<std::string> values = {};
    bool negated = false;
    bool exists = false;  // any value will do
  };
  static bool Holds(const Requirement& requirement, const nlohmann::json& object);
  void AddLabels(absl::string_view labels);
  void AddFields(const Resource& resource, absl::string_view fields);

  std::vector<Requirement> requirements_;
};

}  // namespace muster::testing
