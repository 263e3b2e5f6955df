#pragma once

#include <google/rpc/status.pb.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/faults.h"
#include "services/common/generation.h"
#include "services/rpc/status.h"

// Requests that are lists of requests, and answers that are lists of answers or errors.
namespace muster::rpc {

struct BatchShape {
  absl::string_view field = {};  // the list, e.g. `holdings`
  size_t max = 0;                // entries; at least 1
  absl::string_view key = {};    // the field in which no two entries may be equal; empty: none
};

// Parses the entries with `parse(entry, path, faults)`, `path` being e.g. `holdings[3]`.
// `key_of(entry)`: what must not stand in the batch twice; an empty one is for `parse` to refuse.
// A batch of another size than allowed is one fault, and not looked into.
template <class Entries, class KeyOf, class Parse>
auto ParseBatch(const Entries& entries, const BatchShape& shape, KeyOf key_of, Parse parse,
                error::Faults& faults) {
  std::vector<decltype(parse(entries[0], absl::string_view(), faults))> commands;
  const auto size = static_cast<size_t>(entries.size());
  if (size == 0 || size > shape.max) {
    faults.Add(shape.field,
               absl::StrCat("has ", size, " entries; allowed are 1 to ", shape.max, "."));
    return commands;
  }
  std::set<absl::string_view> keys;
  for (const auto& entry : entries) {
    if (faults.full()) {
      faults.StopLooking();
      break;
    }
    const std::string path = error::At(shape.field, commands.size());
    commands.push_back(parse(entry, path, faults));
    const absl::string_view key = key_of(entry);
    if (!key.empty() && !keys.insert(key).second) {
      faults.Add(error::Below(path, shape.key), "stands in the batch twice.");
    }
  }
  return commands;
}

// Parses an entry of a Check with `parse(entry, path, faults)`: one without a generation is newer
// than any.
template <class Entry, class Parse>
auto ParseChecked(Entry entry, absl::string_view path, Parse parse, error::Faults& faults) {
  const bool newest = entry.generation() == 0;
  if (newest) entry.set_generation(1);
  auto command = parse(entry, path, faults);
  if (newest) command.generation = kNewestGeneration;
  return command;
}

// Adds one result for each outcome, in order: filled by `render(value, result)`, or its `error`
// set.
template <class Outcome, class Result, class Render>
void RenderResults(const std::vector<absl::StatusOr<Outcome>>& outcomes,
                   google::protobuf::RepeatedPtrField<Result>* results, Render render) {
  results->Reserve(static_cast<int>(outcomes.size()));
  for (const absl::StatusOr<Outcome>& outcome : outcomes) {
    Result* result = results->Add();
    if (outcome.ok()) {
      render(*outcome, *result);
    } else {
      *result->mutable_error() = ToRpcStatus(outcome.status());
    }
  }
}
// The same for entries whose answer is only whether they were taken.
inline void RenderResults(const std::vector<absl::Status>& outcomes,
                          google::protobuf::RepeatedPtrField<google::rpc::Status>* results) {
  for (const absl::Status& outcome : outcomes) *results->Add() = ToRpcStatus(outcome);
}

}  // namespace muster::rpc
