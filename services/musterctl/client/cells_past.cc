#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/common/timestamp.h"
#include "services/musterctl/client/cells.h"

// The past of several cells: each is asked for its own, by a time.
namespace muster::musterctl {
namespace {

// The changes of all cells, the newest first, at most `limit`; those of the same time in the order
// of the cells.
ToldChanges NewestFirst(const ToldChanges& all, int limit) {
  const auto time = [&](size_t at) {
    return FromTimestamp(all.answer.changes(static_cast<int>(at)).change_time());
  };
  std::vector<size_t> order(all.cells.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return time(a) > time(b); });
  ToldChanges sorted;
  sorted.answer.set_complete(all.answer.complete());
  sorted.answer.set_next_page_token(all.answer.next_page_token());
  if (order.size() > static_cast<size_t>(limit)) {
    order.resize(static_cast<size_t>(limit));
    sorted.answer.set_next_page_token("there are more");
  }
  for (const size_t at : order) {
    *sorted.answer.add_changes() = all.answer.changes(static_cast<int>(at));
    sorted.cells.push_back(all.cells[at]);
  }
  return sorted;
}

}  // namespace

absl::Status CellsApi::CheckMoment(const Moment& then) const {
  if (std::holds_alternative<absl::Time>(then)) return absl::OkStatus();
  return OneCellOnly("a revision (a time is of all)");
}

absl::StatusOr<ToldChanges> CellsApi::ListChanges(const ResourceId& resource, int limit,
                                                  absl::Time since) {
  std::vector<Answer<ToldChanges>> answers;
  const Round round = AskEach(
      [&](const Cell& cell) { return cell.api->ListChanges(resource, limit, since); }, answers);
  RETURN_IF_ERROR(Conclude(round));
  if (answers.empty()) return NobodyHas(resource, round);
  ToldChanges all;
  all.answer.set_complete(true);
  for (const Answer<ToldChanges>& answer : answers) {
    const history::v1::ListChangesResponse& told = answer.said.answer;
    if (!told.complete()) all.answer.set_complete(false);
    if (!told.next_page_token().empty()) all.answer.set_next_page_token(told.next_page_token());
    for (const history::v1::Change& change : told.changes()) {
      *all.answer.add_changes() = change;
      all.cells.push_back(answer.cell->name);
    }
  }
  return NewestFirst(all, limit);
}

absl::StatusOr<std::vector<ToldPast>> CellsApi::GetPast(const ResourceId& resource,
                                                        const Moment& then) {
  RETURN_IF_ERROR(CheckMoment(then));
  std::vector<Answer<std::vector<ToldPast>>> answers;
  Round round =
      AskEach([&](const Cell& cell) { return cell.api->GetPast(resource, then); }, answers);
  // A cell had it: that the journals of others do not reach back that far does not matter.
  if (!answers.empty()) PassOver(round, absl::IsOutOfRange);
  RETURN_IF_ERROR(Conclude(round));
  if (answers.empty()) return NobodyHas(resource, round);
  std::vector<ToldPast> all;
  for (Answer<std::vector<ToldPast>>& answer : answers) {
    for (ToldPast& told : answer.said) {
      told.cell = answer.cell->name;
      all.push_back(std::move(told));
    }
  }
  return all;
}

absl::StatusOr<std::vector<Item>> CellsApi::ListPast(Kind kind, const std::string& pool,
                                                     const Moment& then) {
  RETURN_IF_ERROR(CheckMoment(then));
  return ReadItems([&](const Cell& cell) { return cell.api->ListPast(kind, pool, then); });
}

}  // namespace muster::musterctl
