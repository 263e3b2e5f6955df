#include "services/musterctl/client/cells.h"

#include <algorithm>
#include <deque>
#include <future>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/client/page_queue.h"

// How several cells are asked, and reads. Changes are in cells_changes.cc, the past in
// cells_past.cc, FindPlacements in cells_find.cc.
namespace muster::musterctl {
namespace {

std::string Text(const ResourceId& resource) {
  return absl::StrCat(KindWord(resource.kind), " \"", resource.id, "\"");
}

using ListOf = absl::FunctionRef<absl::Status(const Cell& cell, const PageReceiver& take)>;

// Lists the cells at the same time; `receive` gets all pages of one cell before those of the next.
// Returns how each list ended; OK for cells whose turn did not come because `receive` wanted no
// more.
std::vector<absl::Status> PagesInTurn(const std::vector<const Cell*>& asked, ListOf list,
                                      const PageReceiver& receive) {
  std::deque<PageQueue> queues(asked.size());
  std::vector<std::future<void>> lists;
  // Runs before the threads are joined, also after an exception: a list whose queue is full would
  // block for ever.
  absl::Cleanup close = [&] {
    for (PageQueue& queue : queues) queue.Close();
  };
  for (size_t i = 0; i < asked.size(); ++i) {
    lists.push_back(RunAsync([&, i] {
      PageQueue& queue = queues[i];
      absl::Status how = absl::InternalError("the list broke off");
      const absl::Cleanup end = [&] { queue.End(std::move(how)); };
      how = list(*asked[i], [&](std::vector<Item> page) { return queue.Put(std::move(page)); });
    }));
  }
  std::vector<absl::Status> ends(asked.size());
  bool wants_more = true;
  for (size_t i = 0; i < asked.size() && wants_more; ++i) {
    while (auto page = queues[i].Take()) {
      wants_more = receive(*std::move(page));
      if (!wants_more) break;
    }
    if (wants_more) ends[i] = queues[i].end();
  }
  std::move(close).Invoke();
  for (std::future<void>& each : lists) each.get();
  return ends;
}

}  // namespace

CellNames NamesOf(const std::vector<Cell>& cells) {
  CellNames names;
  for (const Cell& cell : cells) names.push_back(cell.name);
  return names;
}

absl::Status InSeveral(absl::string_view what, const CellNames& names, const std::string& meant) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, " in several cells: ", absl::StrJoin(names, ", "),
                   "; say which is meant, e.g. --context=", meant));
}

absl::Status InCell(const std::string& cell, const absl::Status& status) {
  const std::string message = absl::StrCat("cell ", cell, ": ", status.message());
  std::optional<error::Detail> detail = error::DetailOf(status);
  if (!detail) return absl::Status(status.code(), message);
  for (error::FieldViolation& field : detail->fields)
    absl::StrAppend(&field.description, " (cell ", cell, ")");
  return error::Make(status.code(), message, *detail);
}

std::vector<const Cell*> CellsApi::Present() const {
  std::vector<const Cell*> present;
  for (const Cell& cell : cells_) {
    if (!away_.contains(&cell)) present.push_back(&cell);
  }
  return present;
}

bool CellsApi::Round::is_one_failure() const {
  return std::all_of(failures.begin(), failures.end(),
                     [&](const auto& each) { return each.second == failures.front().second; });
}

void CellsApi::PassOver(Round& round, absl::FunctionRef<bool(const absl::Status&)> is_none) const {
  std::erase_if(round.failures, [&](const auto& each) { return is_none(each.second); });
  round.is_whole = round.failures.empty() && Present().size() == cells_.size();
}

CellsApi::Round CellsApi::RoundOf(const std::vector<const Cell*>& asked,
                                  const std::vector<absl::Status>& said) const {
  Round round{.is_whole = asked.size() == cells_.size()};
  for (size_t i = 0; i < asked.size(); ++i) {
    if (said[i].ok()) {
      round.answered.push_back(asked[i]);
    } else if (absl::IsNotFound(said[i])) {
      round.missing = said[i];
    } else {
      round.is_whole = false;
      round.failures.emplace_back(asked[i], said[i]);
    }
  }
  return round;
}

void CellsApi::TellOf(const Cell& cell, const absl::Status& error) {
  if (PassesBy(error) && !told_.insert(&cell).second) return;
  tell_(InCell(cell.name, error));
}

absl::Status CellsApi::TellFailures(const Round& round) {
  const auto& failures = round.failures;
  const bool is_answered = !round.answered.empty() || !round.missing.ok();
  if (is_answered) {
    for (const auto& [cell, status] : failures) {
      TellOf(*cell, status);
      if (IsAway(status)) away_.insert(cell);
    }
    return absl::OkStatus();
  }
  if (failures.empty()) return absl::UnavailableError("no cell answers");
  const Cell& last_cell = *failures.back().first;
  const absl::Status& last = failures.back().second;
  // All cells return the same error if the request itself is wrong: it is reported once, without a
  // cell.
  if (failures.size() > 1 && !IsAway(last) && round.is_one_failure()) return last;
  for (auto each = failures.begin(); each + 1 != failures.end(); ++each)
    TellOf(*each->first, each->second);
  return InCell(last_cell.name, last);
}

absl::Status CellsApi::Conclude(const Round& round) {
  RETURN_IF_ERROR(TellFailures(round));
  is_partial_ = is_partial_ || !round.is_whole;
  return absl::OkStatus();
}

absl::Status CellsApi::ConcludeRead(const Round& round) {
  RETURN_IF_ERROR(Conclude(round));
  return round.answered.empty() && round.is_whole ? round.missing : absl::OkStatus();
}

absl::Status CellsApi::ConcludeChange(Round round) {
  // What one cell refuses is not done with because another has nothing to change.
  const bool is_refused =
      absl::c_any_of(round.failures, [](const auto& failure) { return !IsAway(failure.second); });
  if (is_refused) round.missing = absl::OkStatus();
  RETURN_IF_ERROR(Conclude(round));
  return round.answered.empty() ? round.missing : absl::OkStatus();
}

absl::Status CellsApi::NobodyHas(const ResourceId& resource, const Round& round) {
  if (round.is_whole) return round.missing;
  const std::string why = absl::StrCat(Text(resource), " is in none of the cells that answer");
  const bool passes_by =
      absl::c_all_of(round.failures, [](const auto& failure) { return PassesBy(failure.second); });
  return passes_by ? KnownByOthers(why) : absl::FailedPreconditionError(why);
}

const CellsApi::Home* CellsApi::Known(Kind kind, const std::string& id) const {
  const auto found = homes_.find({kind, id});
  return found == homes_.end() ? nullptr : &found->second;
}

absl::Status CellsApi::OneCellOnly(absl::string_view what) const {
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": of one cell at a time; say by --context which of ",
                   absl::StrJoin(NamesOf(cells_), ", ")));
}

absl::Status CellsApi::ListPages(Kind kind, const ListRange& range, const PageReceiver& receive) {
  const auto list = [&](const Cell& cell, const PageReceiver& take) {
    return cell.api->ListPages(kind, range, [&](std::vector<Item> items) {
      for (Item& item : items) item.cell = cell.name;
      return take(std::move(items));
    });
  };
  const Home* home = range.pool.empty() ? nullptr : Known(Kind::kNodePool, range.pool);
  if (home != nullptr) return list(*home->cell, receive);
  const std::vector<const Cell*> asked = Present();
  return ConcludeRead(RoundOf(asked, PagesInTurn(asked, list, receive)));
}

absl::StatusOr<std::vector<Item>> CellsApi::ListMachines(
    const capacity::v1::ListMachinesRequest& filter) {
  return ReadItems([&](const Cell& cell) { return cell.api->ListMachines(filter); });
}

absl::StatusOr<std::vector<Item>> CellsApi::GetEvery(Kind kind, const std::string& id) {
  const auto get = [&](const Cell& cell) -> absl::StatusOr<Item> {
    ASSIGN_OR_RETURN(Item item, cell.api->Get(kind, id));
    item.cell = cell.name;
    return item;
  };
  std::vector<Item> found;
  if (const Home* home = Known(kind, id)) {
    ASSIGN_OR_RETURN(found.emplace_back(), get(*home->cell));
    return found;
  }
  std::vector<Answer<Item>> answers;
  const Round round = AskEach(get, answers);
  RETURN_IF_ERROR(TellFailures(round));
  // Not partial: no answer of some cells was used for all. A command that waits may still find the
  // resource.
  if (answers.empty()) return NobodyHas({kind, id}, round);
  is_partial_ = is_partial_ || !round.is_whole;
  for (Answer<Item>& answer : answers) found.push_back(std::move(answer.said));
  if (found.size() == 1) {
    const Home home{round.answered.front(), round.is_whole};
    homes_[{kind, id}] = home;
    homes_[{kind, NameOf(found[0])}] = home;
  }
  return found;
}

absl::StatusOr<Item> CellsApi::Get(Kind kind, const std::string& id) {
  ASSIGN_OR_RETURN(std::vector<Item> found, GetEvery(kind, id));
  if (found.size() == 1) return std::move(found[0]);
  CellNames names;
  for (const Item& item : found) names.push_back(item.cell);
  return InSeveral(absl::StrCat(Text({kind, id}), " is"), names, names[0]);
}

absl::StatusOr<CellsApi::Home> CellsApi::Find(const ResourceId& resource) {
  if (const Home* home = Known(resource.kind, resource.id)) return *home;
  RETURN_IF_ERROR(Get(resource.kind, resource.id).status());
  return *Known(resource.kind, resource.id);
}

absl::StatusOr<CellsApi::Home> CellsApi::FindForChange(const ResourceId& resource) {
  ASSIGN_OR_RETURN(const Home home, Find(resource));
  if (home.is_sure) return home;
  return absl::FailedPreconditionError(absl::StrCat(
      Text(resource), " is in cell ", home.cell->name,
      ", and one that does not answer may have it, too: nothing was changed; --context=",
      home.cell->name, " says that this one is meant"));
}

absl::StatusOr<Api*> CellsApi::ToAsk(const ResourceId& resource) {
  ASSIGN_OR_RETURN(const Home home, Find(resource));
  return home.cell->api.get();
}

absl::StatusOr<lifecycle::v1::NodePool> CellsApi::GetNodePool(const std::string& id) {
  ASSIGN_OR_RETURN(Api* const api, ToAsk({Kind::kNodePool, id}));
  return api->GetNodePool(id);
}

absl::StatusOr<std::vector<lifecycle::v1::Event>> CellsApi::PoolEvents(
    const std::string& name, const std::string& pool_uid) {
  // All cells are asked: the uid belongs to one NodePool, whichever cell it is in.
  using Events = std::vector<lifecycle::v1::Event>;
  ASSIGN_OR_RETURN(
      const std::vector<Answer<Events>> answers,
      ReadEach<Events>([&](const Cell& cell) { return cell.api->PoolEvents(name, pool_uid); }));
  Events all;
  for (const Answer<Events>& answer : answers)
    all.insert(all.end(), answer.said.begin(), answer.said.end());
  return all;
}

absl::StatusOr<lifecycle::v1::ExplainNodePoolResponse> CellsApi::ExplainNodePool(
    const std::string& id) {
  ASSIGN_OR_RETURN(Api* const api, ToAsk({Kind::kNodePool, id}));
  return api->ExplainNodePool(id);
}

absl::StatusOr<capacity::v1::ExplainClaimResponse> CellsApi::ExplainClaim(
    const std::string& pool_uid) {
  ASSIGN_OR_RETURN(Api* const api, ToAsk({Kind::kClaim, pool_uid}));
  return api->ExplainClaim(pool_uid);
}

// Calls that several cells cannot answer together.

absl::StatusOr<quota::v1::CheckQuotaResponse> CellsApi::CheckQuota(
    const quota::v1::CheckQuotaRequest&) {
  return OneCellOnly("check");
}

absl::StatusOr<access::v1::GetCallerResponse> CellsApi::GetCaller() {
  return OneCellOnly("what a server says of itself and of you");
}

absl::StatusOr<access::v1::CheckAccessResponse> CellsApi::CheckAccess(
    const access::v1::CheckAccessRequest&) {
  return OneCellOnly("what you may do");
}

absl::StatusOr<debug::v1::CompareStateResponse> CellsApi::CompareState() {
  return OneCellOnly("debug");
}

absl::StatusOr<debug::v1::AuditBooksResponse> CellsApi::AuditBooks(
    const debug::v1::AuditBooksRequest&) {
  return OneCellOnly("debug");
}

absl::StatusOr<debug::v1::LogLevel> CellsApi::GetLogLevel() { return OneCellOnly("debug"); }

absl::StatusOr<debug::v1::LogLevel> CellsApi::SetLogLevel(debug::v1::LogLevel) {
  return OneCellOnly("debug");
}

absl::Status CellsApi::Watch(const WatchRange&, const type::v1::WatchStart&, const WatchReceiver&) {
  return OneCellOnly("a watch");
}

absl::StatusOr<std::unique_ptr<FleetLink>> CellsApi::WatchFleet(page::WatchSink&) {
  return OneCellOnly("top");
}

}  // namespace muster::musterctl
