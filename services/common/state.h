#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

// What every domain's state is made of: tables of immutable rows by key, changed by one function
// (StateBase::Apply), whether the change is decided here or read from the journal.
//
// A Row is a plain struct with `std::string Key() const` (its resource name; `const std::string&`
// where a member holds it: a table then keeps no second one), `operator==`, and `static constexpr
// char kKind[]` (its name in the journal). The names of all rows of a kind are of one collection
// (collections.h). It may have `Word later`: the bytes of what a later release said of it and this
// one does not know, which stay with it as long as it is there (storage/postgres/later_fields.h).
// One that may have many bytes has `size_t JournalBytes() const`: about how many its journal entry
// takes, what is always small aside.
namespace muster {

// A row and the revision of the change that made it so.
template <class Row>
struct Versioned {
  std::shared_ptr<const Row> row = {};
  int64_t revision = 0;
};

// What became of one resource: the row after the change, or null when it is gone. The alternative
// tells the kind.
template <class... Rows>
struct ChangeOf {
  std::string key = {};
  std::variant<std::shared_ptr<const Rows>...> row = {};

  bool deleted() const {
    return std::visit([](const auto& pointer) { return pointer == nullptr; }, row);
  }
  absl::string_view kind() const {
    return std::visit(
        [](const auto& pointer) -> absl::string_view {
          return std::remove_reference_t<decltype(pointer)>::element_type::kKind;
        },
        row);
  }
  // About how many bytes its journal entry takes, what is always small aside.
  size_t JournalBytes() const {
    return std::visit(
        [](const auto& pointer) -> size_t {
          if constexpr (requires { pointer->JournalBytes(); })
            return pointer == nullptr ? size_t{0} : pointer->JournalBytes();
          return 0;
        },
        row);
  }
};

// A change with its revision: what the journal holds.
template <class Change>
struct Revised {
  Change change = {};
  int64_t revision = 0;
};

// Rows of one kind, ordered by key.
template <class Row>
class Table {
 public:
  // Members are named as those of std::pair. The key refers to the row's own, if the row holds one.
  struct Entry {
    using Key = std::conditional_t<std::is_reference_v<decltype(std::declval<const Row&>().Key())>,
                                   absl::string_view, std::string>;

    // Mutable, as the elements of a set are const: only Table::Set replaces them, the key by an
    // equal one.
    mutable Key first = {};
    mutable Versioned<Row> second = {};
  };
  struct ByKey {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const { return a.first < b.first; }
    bool operator()(const Entry& a, absl::string_view b) const { return a.first < b; }
    bool operator()(absl::string_view a, const Entry& b) const { return a < b.first; }
  };
  using Map = absl::btree_set<Entry, ByKey>;

  // Null when there is none.
  const Row* Find(absl::string_view key) const {
    const auto it = rows_.find(key);
    return it == rows_.end() ? nullptr : it->second.row.get();
  }
  const Versioned<Row>* FindVersioned(absl::string_view key) const {
    const auto it = rows_.find(key);
    return it == rows_.end() ? nullptr : &it->second;
  }

  // Where the row of a key is, or would be. Holds until the table changes.
  struct Place {
    typename Map::iterator at = {};
    const Versioned<Row>* found = nullptr;  // null: there is none
  };
  Place PlaceOf(absl::string_view key) {
    const auto at = rows_.lower_bound(key);
    return {at, at != rows_.end() && at->first == key ? &at->second : nullptr};
  }
  // Sets the row of `key`, whose place it is, or removes it if `row` is null. Returns what was
  // there before.
  Versioned<Row> Set(Place place, const std::string& key, std::shared_ptr<const Row> row,
                     int64_t revision) {
    const bool found = place.found != nullptr;
    if (row == nullptr) {
      if (!found) return {};
      Versioned<Row> before = std::move(place.at->second);
      rows_.erase(place.at);
      return before;
    }
    if (!found) place.at = rows_.insert(place.at, Entry{typename Entry::Key(key)});
    if constexpr (std::is_same_v<typename Entry::Key, absl::string_view>)
      place.at->first = row->Key();
    return std::exchange(place.at->second, Versioned<Row>{std::move(row), revision});
  }
  // In order of key. For keyset paging: rows().upper_bound(last_key).
  const Map& rows() const { return rows_; }
  size_t size() const { return rows_.size(); }

 private:
  Map rows_;
};

// The base of a domain's State. Derived provides, for every Row,
//   void Reindex(const Row* before, const Row* after);
// called before the table changes, with one of them at least, which keeps the indexes that its
// decisions want, and changes no table. Copyable: rows are shared.
template <class Derived, class... Rows>
class StateBase {
 public:
  using Change = ChangeOf<Rows...>;

  // Makes the change. Returns the change that undoes it, with the revision that the row had. A
  // deletion of what is not there changes nothing: a journal has such ones once it was compacted,
  // or its history replaced in place.
  Revised<Change> Apply(const Change& change, int64_t revision);

  // The same of a row whose place is known: the look-up is what costs most.
  template <class Row>
  typename Table<Row>::Place PlaceOf(absl::string_view key) {
    return std::get<Table<Row>>(tables_).PlaceOf(key);
  }
  template <class Row>
  Revised<Change> ApplyAt(const typename Table<Row>::Place& place, const std::string& key,
                          const std::shared_ptr<const Row>& row, int64_t revision);

  template <class Row>
  const Table<Row>& table() const {
    return std::get<Table<Row>>(tables_);
  }

  // Calls f(std::type_identity<Row>()) for every kind of row.
  template <class F>
  static void ForEachKind(F f) {
    (f(std::type_identity<Rows>()), ...);
  }

  // Calls f(Revised<Change>) for every row of every table.
  template <class F>
  void ForEach(F f) const {
    (ForEachOf<Rows>(f), ...);
  }

  // The same for rows whose key begins with `prefix`, of the kinds for which `wanted(kind)` is
  // true, until `f` returns false; takes time only for these rows.
  template <class Wanted, class F>
  void ForEachUnder(const Wanted& wanted, absl::string_view prefix, F f) const {
    (void)(ForEachOfUnder<Rows>(wanted, prefix, f) && ...);
  }

  // The row with that key, of the kinds that `wanted(kind)` is true for.
  template <class Wanted>
  std::optional<Revised<Change>> FindKey(const Wanted& wanted, absl::string_view key) const {
    std::optional<Revised<Change>> found;
    (FindKeyOf<Rows>(wanted, key, found), ...);
    return found;
  }

  size_t size() const { return (table<Rows>().size() + ...); }

 private:
  template <class Row, class Wanted>
  void FindKeyOf(const Wanted& wanted, absl::string_view key,
                 std::optional<Revised<Change>>& found) const {
    if (!wanted(absl::string_view(Row::kKind))) return;
    if (const Versioned<Row>* row = table<Row>().FindVersioned(key))
      found = Revised<Change>{Change{std::string(key), row->row}, row->revision};
  }

  template <class Row, class F>
  void ForEachOf(F& f) const {
    for (const auto& [key, versioned] : table<Row>().rows()) {
      f(Revised<Change>{Change{std::string(key), versioned.row}, versioned.revision});
    }
  }

  // False: `f` returned false.
  template <class Row, class Wanted, class F>
  bool ForEachOfUnder(const Wanted& wanted, absl::string_view prefix, F& f) const {
    if (!wanted(absl::string_view(Row::kKind))) return true;
    const auto& rows = table<Row>().rows();
    for (auto it = rows.lower_bound(prefix);
         it != rows.end() && absl::StartsWith(it->first, prefix); ++it) {
      const bool goes_on =
          f(Revised<Change>{Change{std::string(it->first), it->second.row}, it->second.revision});
      if (!goes_on) return false;
    }
    return true;
  }

  std::tuple<Table<Rows>...> tables_;
};

template <class Derived, class... Rows>
Revised<ChangeOf<Rows...>> StateBase<Derived, Rows...>::Apply(const Change& change,
                                                              int64_t revision) {
  return std::visit(
      [&](const auto& row) -> Revised<Change> {
        using Row =
            std::remove_const_t<typename std::remove_reference_t<decltype(row)>::element_type>;
        return ApplyAt<Row>(PlaceOf<Row>(change.key), change.key, row, revision);
      },
      change.row);
}

template <class Derived, class... Rows>
template <class Row>
Revised<ChangeOf<Rows...>> StateBase<Derived, Rows...>::ApplyAt(
    const typename Table<Row>::Place& place, const std::string& key,
    const std::shared_ptr<const Row>& row, int64_t revision) {
  const Row* found = place.found == nullptr ? nullptr : place.found->row.get();
  if (found == nullptr && row == nullptr) return {Change{key, row}, 0};
  static_cast<Derived*>(this)->Reindex(found, row.get());
  Versioned<Row> before = std::get<Table<Row>>(tables_).Set(place, key, row, revision);
  return {Change{key, std::move(before.row)}, before.revision};
}

// Decisions are made on a staged state: a state that may be changed and taken back, and the list of
// what was changed. Not thread-safe; the state must outlive it.
template <class State>
class StagedState {
 public:
  using Change = typename State::Change;

  // `revision`: that of the last change in `state`. The first Put gets the next one.
  StagedState(State& state, int64_t revision) : state_(state), base_(revision) {}
  StagedState(const StagedState&) = delete;
  StagedState& operator=(const StagedState&) = delete;

  const State& state() const { return state_; }

  // Creates or replaces a row. False: it is so already, and nothing was changed. A row that is put
  // again since the last mark is one change, at the place of the first.
  template <class Row>
  bool Put(Row row) {
    std::string key = row.Key();
    const auto place = state_.template PlaceOf<Row>(key);
    const Versioned<Row>* before = place.found;
    if constexpr (requires { row.later; }) {
      if (before != nullptr && row.later.empty()) row.later = before->row->later;
    }
    if (before != nullptr && *before->row == row) return false;
    Revised<Change>* again = before == nullptr ? nullptr : PutSinceMark<Row>(key, before->revision);
    auto put = std::make_shared<const Row>(std::move(row));
    const int64_t at = again == nullptr ? revision() + 1 : again->revision;
    Revised<Change> undo = state_.template ApplyAt<Row>(place, key, put, at);
    Change change{std::move(key), std::move(put)};
    if (again == nullptr) {
      undo_.push_back(std::move(undo));
      changes_.push_back({std::move(change), at});
    } else {
      again->change = std::move(change);
    }
    return true;
  }

  // Removes a row. False: there is none.
  template <class Row>
  bool Delete(absl::string_view key) {
    const auto place = state_.template PlaceOf<Row>(key);
    if (place.found == nullptr) return false;
    Change change{std::string(key), std::shared_ptr<const Row>()};
    const int64_t at = revision() + 1;
    undo_.push_back(state_.template ApplyAt<Row>(place, change.key, nullptr, at));
    changes_.push_back({std::move(change), at});
    return true;
  }

  // What was changed, in order, with revisions base + 1, base + 2, ...
  const std::vector<Revised<Change>>& changes() const { return changes_; }
  // The resource as it was before changes()[i], with the revision that it had; 0: there was none.
  const Revised<Change>& before(size_t i) const { return undo_[i]; }
  // The revision of the last change.
  int64_t revision() const { return base_ + static_cast<int64_t>(changes_.size()); }

  // A point to go back to: `RollBack(mark)` takes back all that was changed after it.
  size_t Mark() { return mark_ = changes_.size(); }
  void RollBack(size_t mark = 0) {
    mark_ = std::min(mark_, mark);
    while (changes_.size() > mark) {
      state_.Apply(undo_.back().change, undo_.back().revision);
      undo_.pop_back();
      changes_.pop_back();
    }
  }

 private:
  // The change since the last mark that put the row of `key`, whose present revision is `revision`.
  // Null: it was not put since.
  template <class Row>
  Revised<Change>* PutSinceMark(const std::string& key, int64_t revision) {
    const int64_t at = revision - base_ - 1;
    if (at < static_cast<int64_t>(mark_) || at >= static_cast<int64_t>(changes_.size()))
      return nullptr;
    Revised<Change>& put = changes_[static_cast<size_t>(at)];
    // A row that was there before may have a revision beyond the base.
    const bool is_it =
        put.change.key == key && std::holds_alternative<std::shared_ptr<const Row>>(put.change.row);
    return is_it ? &put : nullptr;
  }

  State& state_;
  const int64_t base_;
  size_t mark_ = 0;  // the last
  std::vector<Revised<Change>> changes_;
  std::vector<Revised<Change>> undo_;
};

}  // namespace muster
