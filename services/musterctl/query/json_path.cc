#include "services/musterctl/query/json_path.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"

namespace muster::musterctl {
namespace {

using nlohmann::json;
using Found = std::vector<const json*>;

void AddChildren(const json& value, Found& out) {
  if (!value.is_object() && !value.is_array()) return;
  for (const json& child : value) out.push_back(&child);
}

// The value itself, and everything below it that has the field.
void AddDeep(const json& value, const std::string& field, Found& out) {
  if (value.is_object()) {
    const auto it = value.find(field);
    if (it != value.end()) out.push_back(&*it);
  }
  if (!value.is_object() && !value.is_array()) return;
  for (const json& child : value) AddDeep(child, field, out);
}

// From the end, when it is below zero.
int64_t Place(int64_t index, const json& list) {
  const auto size = static_cast<int64_t>(list.size());
  return index < 0 ? index + size : index;
}

bool Compare(const json& left, PathFilter::Operator op, const json& right) {
  using Operator = PathFilter::Operator;
  const bool comparable = (left.is_number() && right.is_number()) || left.type() == right.type();
  switch (op) {
    case Operator::kExists:
      return true;
    case Operator::kEqual:
      return comparable && left == right;
    case Operator::kUnequal:
      return !comparable || left != right;
    case Operator::kLess:
      return comparable && left < right;
    case Operator::kAtMost:
      return comparable && left <= right;
    case Operator::kGreater:
      return comparable && left > right;
    case Operator::kAtLeast:
      return comparable && left >= right;
  }
  return false;
}

bool Passes(const PathFilter& filter, const json& item, const json& root) {
  const Found left = filter.left.Find(item, root);
  if (left.empty()) return false;
  if (!filter.right) return Compare(*left.front(), filter.op, filter.value);
  const Found right = filter.right->Find(item, root);
  return !right.empty() && Compare(*left.front(), filter.op, *right.front());
}

void TakeStep(const PathStep& step, const json& value, const json& root, Found& out) {
  switch (step.type) {
    case PathStep::Type::kRoot:
      out.push_back(&root);
      return;
    case PathStep::Type::kField:
      if (value.is_object() && value.contains(step.field)) out.push_back(&value.at(step.field));
      return;
    case PathStep::Type::kIndex: {
      if (!value.is_array()) return;
      const int64_t at = Place(*step.from, value);
      if (at >= 0 && at < static_cast<int64_t>(value.size()))
        out.push_back(&value[static_cast<size_t>(at)]);
      return;
    }
    case PathStep::Type::kSlice: {
      if (!value.is_array()) return;
      const auto size = static_cast<int64_t>(value.size());
      const int64_t from = std::max<int64_t>(0, Place(step.from.value_or(0), value));
      const int64_t to = std::min(size, Place(step.to.value_or(size), value));
      for (int64_t at = from; at < to; ++at) out.push_back(&value[static_cast<size_t>(at)]);
      return;
    }
    case PathStep::Type::kWildcard:
      return AddChildren(value, out);
    case PathStep::Type::kDeep:
      return AddDeep(value, step.field, out);
    case PathStep::Type::kFilter: {
      Found children;
      AddChildren(value, children);
      for (const json* child : children) {
        if (Passes(*step.filter, *child, root)) out.push_back(child);
      }
      return;
    }
  }
}

using Part = JsonPathTemplate::Part;

absl::Status RenderParts(const std::vector<Part>& parts, const json& here, const json& root,
                         std::string& out) {
  for (const Part& part : parts) {
    if (part.type == Part::Type::kText) {
      out += part.text;
      continue;
    }
    RETURN_IF_ERROR(part.path.CheckBounds(here, root));
    const Found found = part.path.Find(here, root);
    for (size_t i = 0; i < found.size(); ++i) {
      if (part.type == Part::Type::kRange) {
        RETURN_IF_ERROR(RenderParts(part.parts, *found[i], root, out));
      } else {
        absl::StrAppend(&out, i > 0 ? " " : "", PathText(*found[i]));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<const json*> JsonPath::Find(const json& here, const json& root) const {
  Found found = {&here};
  for (const PathStep& step : steps_) {
    Found next;
    for (const json* value : found) TakeStep(step, *value, root, next);
    found = std::move(next);
  }
  return found;
}

absl::Status JsonPath::CheckBounds(const json& here, const json& root) const {
  Found found = {&here};
  for (const PathStep& step : steps_) {
    Found next;
    for (const json* value : found) {
      if (step.type == PathStep::Type::kIndex && value->is_array()) {
        const int64_t at = Place(*step.from, *value);
        if (at < 0 || at >= static_cast<int64_t>(value->size())) {
          return absl::OutOfRangeError(
              absl::StrCat("jsonpath: index ", *step.from, " of a list that has ", value->size()));
        }
      }
      TakeStep(step, *value, root, next);
    }
    found = std::move(next);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> JsonPathTemplate::Render(const json& root) const {
  std::string out;
  RETURN_IF_ERROR(RenderParts(parts_, root, root, out));
  return out;
}

std::string PathText(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

}  // namespace muster::musterctl
