#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/musterctl/query/json_path.h"

namespace muster::musterctl {

// `-l`: requirements separated by commas, all of which must hold: `k=v`, `k==v`, `k!=v`, `k in
// (a,b)`, `k notin (a)`, `k`, `!k`. As in Kubernetes, what lacks the key fits `!=` and `notin`.
// INVALID_ARGUMENT names the requirement.
class LabelSelector {
 public:
  static absl::StatusOr<LabelSelector> Parse(absl::string_view text);
  // `labels`: an object of strings; null: there are none.
  bool Matches(const nlohmann::json& labels) const;
  // The selector as a filter of the API's lists, for labels in the map at `path`; empty: a filter
  // cannot say it.
  std::string Filter(absl::string_view path) const;

 private:
  struct Requirement {
    std::string key = {};
    bool wants = true;                     // the value must be one of `values`; false: must not
    std::vector<std::string> values = {};  // empty: the key must be there, with any value
  };
  std::vector<Requirement> requirements_;
};

// `--field-selector`: `path=value` or `path!=value`, separated by commas, for any field by its
// path. A missing field counts as an empty value.
class FieldSelector {
 public:
  static absl::StatusOr<FieldSelector> Parse(absl::string_view text);
  bool Matches(const nlohmann::json& object) const;
  // The paths that it names, once each.
  std::set<std::string> Paths() const;
  // Takes those out of `paths` that some object has.
  void DropKnown(const std::vector<nlohmann::json>& objects, std::set<std::string>& paths) const;

 private:
  struct Requirement {
    std::string text = {};
    JsonPath path = JsonPath();
    bool equal = true;
    std::string value = {};
  };
  std::vector<Requirement> requirements_;
};

}  // namespace muster::musterctl
