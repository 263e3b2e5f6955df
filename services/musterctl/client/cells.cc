#include "services/musterctl/client/cells.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

// How several cells are asked, and what is read of them. Changes: cells_changes.cc.
namespace muster::musterctl {
namespace {

// The same error, naming the cell.
absl::Status In(const Cell& cell, const absl::Status& status) {
  const std::string message = absl::StrCat("cell ", cell.name, ": ", status.message());
  std::optional<error::Detail> detail = error::DetailOf(status);
  if (!detail) return absl::Status(status.code(), message);
  for (error::FieldViolation& field : detail->fields)
    absl::StrAppend(&field.description, " (cell ", cell.name, ")");
  return error::Make(status.code(), message, *detail);
}

bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

std::string Text(const ResourceId& resource) {
  return absl::StrCat(KindWord(resource.kind), " \"", resource.id, "\"");
}

absl::Status InSeveral(const ResourceId& resource, const std::vector<Item>& found) {
  std::vector<std::string> names;
  for (const Item& item : found) names.push_back(item.cell);
  return absl::FailedPreconditionError(
      absl::StrCat(Text(resource), " is in several cells: ", absl::StrJoin(names, ", "),
                   "; say which is meant, e.g. --context=", names[0]));
}

}  // namespace

CellsApi::Round CellsApi::AskEach(absl::FunctionRef<absl::Status(const Cell&)> ask) {
  Round round;
  for (const Cell& cell : cells_) {
    if (away_.contains(&cell)) {
      round.is_whole = false;
      continue;
    }
    absl::Status status = ask(cell);
    if (status.ok()) {
      round.answered.push_back(&cell);
    } else if (absl::IsNotFound(status)) {
      round.missing = std::move(status);
    } else {
      round.is_whole = false;
      round.failures.emplace_back(&cell, std::move(status));
    }
  }
  return round;
}

absl::Status CellsApi::Conclude(const Round& round) {
  const auto& failures = round.failures;
  const bool is_answered = !round.answered.empty() || !round.missing.ok();
  if (is_answered) {
    for (const auto& [cell, status] : failures) {
      tell_(In(*cell, status));
      if (IsAway(status)) away_.insert(cell);
    }
    is_partial_ = is_partial_ || !round.is_whole;
    return absl::OkStatus();
  }
  if (failures.empty()) return absl::UnavailableError("no cell answers");
  const Cell& last_cell = *failures.back().first;
  const absl::Status& last = failures.back().second;
  // What is wrong with the question itself all say alike: it is said once.
  const bool is_same = failures.size() > 1 && !IsAway(last) &&
                       std::all_of(failures.begin(), failures.end(),
                                   [&](const auto& each) { return each.second == last; });
  if (is_same) return last;
  for (auto each = failures.begin(); each + 1 != failures.end(); ++each)
    tell_(In(*each->first, each->second));
  return In(last_cell, last);
}

absl::Status CellsApi::ReadEach(absl::FunctionRef<absl::Status(const Cell&)> ask) {
  const Round round = AskEach(ask);
  RETURN_IF_ERROR(Conclude(round));
  return round.answered.empty() && round.is_whole ? round.missing : absl::OkStatus();
}

const CellsApi::Home* CellsApi::Known(Kind kind, const std::string& id) const {
  const auto found = homes_.find({kind, id});
  return found == homes_.end() ? nullptr : &found->second;
}

absl::Status CellsApi::OneCellOnly(absl::string_view what) const {
  const std::string names = absl::StrJoin(
      cells_, ", ", [](std::string* out, const Cell& cell) { absl::StrAppend(out, cell.name); });
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": of one cell at a time; say by --context which of ", names));
}

absl::Status CellsApi::ListPages(Kind kind, const ListRange& range, const PageReceiver& receive) {
  bool wants_more = true;
  const auto list = [&](const Cell& cell) -> absl::Status {
    if (!wants_more) return absl::OkStatus();
    return cell.api->ListPages(kind, range, [&](std::vector<Item> items) {
      for (Item& item : items) item.cell = cell.name;
      wants_more = receive(std::move(items));
      return wants_more;
    });
  };
  const Home* home = range.pool.empty() ? nullptr : Known(Kind::kNodePool, range.pool);
  return home != nullptr ? list(*home->cell) : ReadEach(list);
}

absl::StatusOr<std::vector<Item>> CellsApi::ListMachines(
    const capacity::v1::ListMachinesRequest& filter) {
  std::vector<Item> all;
  RETURN_IF_ERROR(ReadEach([&](const Cell& cell) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<Item> items, cell.api->ListMachines(filter));
    for (Item& item : items) item.cell = cell.name;
    all.insert(all.end(), std::make_move_iterator(items.begin()),
               std::make_move_iterator(items.end()));
    return absl::OkStatus();
  }));
  return all;
}

absl::StatusOr<std::vector<Item>> CellsApi::GetEvery(Kind kind, const std::string& id) {
  std::vector<Item> found;
  const auto get = [&](const Cell& cell) -> absl::Status {
    ASSIGN_OR_RETURN(Item item, cell.api->Get(kind, id));
    item.cell = cell.name;
    found.push_back(std::move(item));
    return absl::OkStatus();
  };
  if (const Home* home = Known(kind, id)) {
    RETURN_IF_ERROR(get(*home->cell));
    return found;
  }
  const Round round = AskEach(get);
  RETURN_IF_ERROR(Conclude(round));
  if (found.empty()) {
    if (round.is_whole) return round.missing;
    return absl::FailedPreconditionError(
        absl::StrCat(Text({kind, id}), " is in none of the cells that answer"));
  }
  if (found.size() == 1) {
    const Home home{round.answered.front(), round.is_whole};
    homes_[{kind, id}] = home;
    homes_[{kind, NameOf(found[0])}] = home;
  }
  return found;
}

absl::StatusOr<Item> CellsApi::Get(Kind kind, const std::string& id) {
  ASSIGN_OR_RETURN(std::vector<Item> found, GetEvery(kind, id));
  if (found.size() > 1) return InSeveral({kind, id}, found);
  return std::move(found[0]);
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
  // A uid is that of one NodePool, wherever that is.
  std::vector<lifecycle::v1::Event> all;
  RETURN_IF_ERROR(ReadEach([&](const Cell& cell) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<lifecycle::v1::Event> events,
                     cell.api->PoolEvents(name, pool_uid));
    all.insert(all.end(), events.begin(), events.end());
    return absl::OkStatus();
  }));
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

// What has no answer of several.

absl::StatusOr<quota::v1::CheckQuotaResponse> CellsApi::CheckQuota(
    const quota::v1::CheckQuotaRequest&) {
  return OneCellOnly("check");
}

absl::StatusOr<capacity::v1::FindPlacementsResponse> CellsApi::FindPlacements(
    const capacity::v1::FindPlacementsRequest&) {
  return OneCellOnly("placements");
}

absl::StatusOr<history::v1::ListChangesResponse> CellsApi::ListChanges(const ResourceId&, int,
                                                                       absl::Time) {
  return OneCellOnly("what was");
}

absl::StatusOr<history::v1::GetPastResponse> CellsApi::GetPast(const ResourceId&, const Moment&) {
  return OneCellOnly("what was");
}

absl::StatusOr<std::vector<Item>> CellsApi::ListPast(Kind, const std::string&, const Moment&) {
  return OneCellOnly("what was");
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
