#pragma once

// Includes libpqxx: for storage/ only.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/journal_packing.h"
#include "storage/postgres/later_fields.h"
#include "storage/postgres/sql_table.h"
#include "storage/postgres/store.h"

// A domain's store, made of a description of each kind of row.
namespace muster::storage {

// The same message always gives the same bytes, maps included, so that states can be compared by
// them.
inline std::string SerializeAlike(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

// A kind of row: its table, and how the journal and the watchers have it.
template <class Row>
struct Stored {
  SqlTable<Row> table;
  std::function<std::string(const Versioned<Row>&)> encode;
  std::function<absl::StatusOr<Row>(absl::string_view key, absl::string_view bytes)> decode;
  const google::protobuf::Message* prototype = nullptr;  // of what `encode` gives
};

template <class Row>
absl::Status NotA(absl::string_view key) {
  return absl::InternalError(absl::StrCat("Not a ", Row::kKind, ": ", key));
}

// Rows of a kind as messages and back, with the fields that only a later release knows
// (Row::later).
template <class Message, class Row, class ToProto, class FromProto>
struct MessagesOf {
  ToProto to_proto;
  FromProto from_proto;

  // The row's message without those fields.
  Message Plain(const Row& row) const {
    // Borrowed, not copied.
    return to_proto(
        Versioned<Row>{std::shared_ptr<const Row>(std::shared_ptr<void>(), &row), int64_t{0}});
  }
  // Whether `later` could be put into the message.
  bool Merge(absl::string_view later, Message& message) const {
    return MergeLater(later, message, [&]() -> std::string {
      const absl::StatusOr<Row> row = from_proto(message);
      return row.ok() ? SerializeAlike(Plain(*row)) : "";
    });
  }
  // The part of `row.later` that still applies to the row; the same for the journal and the tables.
  std::string LaterOf(const Row& row) const {
    if (row.later.empty()) return "";
    Message message = Plain(row);
    Merge(row.later, message);
    return UnknownFieldsOf(message);
  }
};

// Returns the fields of a row that this release knows and the column `later` is to hold, as a
// serialized message. Null: there are none.
template <class Row>
using RestOfRow = std::function<std::string(const Row&)>;

// The column `later`: the fields of the row's message that no other column holds. These are the
// ones that only a later release knows, if it wrote the row, and `rest`. Where other columns say
// something else of the same field, this column counts. Packed (journal_packing.h), and read as the
// releases before wrote it, too, which is plain.
template <class Row, class Messages>
SqlColumn<Row> LaterColumn(Messages messages, RestOfRow<Row> rest) {
  return {"later", "bytea",
          [messages, rest = std::move(rest)](const Row& row, SqlArray& out) {
            const std::string bytes = (rest ? rest(row) : "") + messages.LaterOf(row);
            bytes.empty() ? out.AddNull() : out.AddBytes(Pack("", bytes));
          },
          [messages](const char* text, Row& row) {
            if (text == nullptr) return;
            auto message = messages.Plain(row);
            if (!messages.Merge(Unpack("", FromSqlBytes(text)), message))
              throw std::runtime_error(absl::StrCat("Not of a ", Row::kKind, ": later"));
            absl::StatusOr<Row> whole = messages.from_proto(message);
            if (!whole.ok()) throw std::runtime_error(whole.status().ToString());
            row = *std::move(whole);
            row.later = UnknownFieldsOf(message);
          }};
}

// A kind that stands in the journal as a Message: `to_proto` makes it of a Versioned<Row>,
// `from_proto` returns a StatusOr<Row>. `rest` gives the fields that have no column of their own.
template <class Message, class Row, class ToProto, class FromProto>
Stored<Row> StoredAs(const SqlTable<Row>& table, ToProto to_proto, FromProto from_proto,
                     RestOfRow<std::type_identity_t<Row>> rest = nullptr) {
  const MessagesOf<Message, Row, ToProto, FromProto> messages{to_proto, from_proto};
  return {table.With(LaterColumn<Row>(messages, std::move(rest))),
          [messages](const Versioned<Row>& row) {
            Message message = messages.to_proto(row);
            if (!row.row->later.empty()) messages.Merge(row.row->later, message);
            return SerializeAlike(message);
          },
          [from_proto](absl::string_view key, absl::string_view bytes) -> absl::StatusOr<Row> {
            Message message;
            if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
              return NotA<Row>(key);
            absl::StatusOr<Row> row = from_proto(message);
            if (row.ok()) row->later = UnknownFieldsOf(message);
            return row;
          },
          &Message::default_instance()};
}

// As above, where every field has a column except those named in `later`: fields that this release
// is the first to know, or in which it is the first to know a part. The release before it loads
// them as fields that it does not know, and keeps them.
template <class Message, class Row, class ToProto, class FromProto>
Stored<Row> StoredAs(const SqlTable<Row>& table, ToProto to_proto, FromProto from_proto,
                     std::vector<std::string> later) {
  for (const std::string& field : later) {
    if (Message::descriptor()->FindFieldByName(field) == nullptr)
      throw std::logic_error(absl::StrCat(Row::kKind, " has no field ", field));
  }
  if (later.empty()) return StoredAs<Message>(table, to_proto, from_proto);
  const MessagesOf<Message, Row, ToProto, FromProto> messages{to_proto, from_proto};
  return StoredAs<Message>(table, to_proto, from_proto,
                           RestOfRow<Row>([messages, later = std::move(later)](const Row& row) {
                             return FieldsOf(messages.Plain(row), later);
                           }));
}

template <class State, class Change = typename State::Change>
class TableStore;

// Kinds stand in the order of the State's: one that refers to another comes after it. Rows are put
// in that order, and removed in the reverse order.
template <class State, class... Rows>
class TableStore<State, ChangeOf<Rows...>> : public Store<State> {
 public:
  using Change = typename State::Change;

  explicit TableStore(Stored<Rows>... kinds) : kinds_(std::move(kinds)...) {}

  std::vector<std::string> Kinds() const override { return {Rows::kKind...}; }

  bool Knows(absl::string_view kind) const override { return ((kind == Rows::kKind) || ...); }

  void Load(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) const override {
    (LoadKind<Rows>(tx, emit), ...);
  }

  void Write(StatementSink& out, absl::Span<const Revised<Change>> changes) const override {
    std::tuple<typename SqlTable<Rows>::Write...> writes(Kind<Rows>().table...);
    for (const Revised<Change>& change : changes) {
      std::visit(
          [&](const auto& row) {
            std::get<typename SqlTable<RowOf<decltype(row)>>::Write>(writes).Add(
                change.change.key, row.get(), change.revision);
          },
          change.change.row);
    }
    (std::get<typename SqlTable<Rows>::Write>(writes).Put(out), ...);
    RemoveFromLast(out, writes, std::index_sequence_for<Rows...>());
  }

  std::string Encode(const Revised<Change>& change) const override {
    return std::visit(
        [&](const auto& row) {
          using Row = RowOf<decltype(row)>;
          return Kind<Row>().encode(Versioned<Row>{row, change.revision});
        },
        change.change.row);
  }

  absl::StatusOr<Change> Decode(absl::string_view kind, absl::string_view key,
                                const std::string* bytes) const override {
    absl::StatusOr<Change> change = absl::InternalError(
        absl::StrCat("The journal holds a ", kind, " (", key, "), which is unknown."));
    const auto decode_if = [&]<class Row>() {
      if (kind == Row::kKind) change = DecodeKind<Row>(key, bytes);
    };
    (decode_if.template operator()<Rows>(), ...);
    return change;
  }

  std::unique_ptr<google::protobuf::Message> Parse(absl::string_view kind,
                                                   const std::string& bytes) const override {
    std::unique_ptr<google::protobuf::Message> message;
    const auto parse_if = [&]<class Row>() {
      if (kind != Row::kKind) return;
      message.reset(Kind<Row>().prototype->New());
      if (!message->ParseFromString(bytes)) message = nullptr;
    };
    (parse_if.template operator()<Rows>(), ...);
    return message;
  }

  // All tables, those of lists included.
  std::vector<const SqlTableText*> tables() const {
    std::vector<const SqlTableText*> all;
    (Append(all, Kind<Rows>().table.texts()), ...);
    return all;
  }

 private:
  template <class Pointer>
  using RowOf = std::remove_const_t<typename std::remove_reference_t<Pointer>::element_type>;

  template <class Row>
  const Stored<Row>& Kind() const {
    return std::get<Stored<Row>>(kinds_);
  }

  static void Append(std::vector<const SqlTableText*>& all,
                     const std::vector<const SqlTableText*>& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  template <class Row>
  void LoadKind(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) const {
    Kind<Row>().table.Load(tx, [&](Row row, int64_t revision) {
      std::string key = row.Key();
      emit({Change{std::move(key), std::make_shared<const Row>(std::move(row))}, revision});
    });
  }

  template <class Writes, size_t... at>
  static void RemoveFromLast(StatementSink& out, const Writes& writes, std::index_sequence<at...>) {
    (std::get<sizeof...(at) - 1 - at>(writes).Remove(out), ...);
  }

  template <class Row>
  absl::StatusOr<Change> DecodeKind(absl::string_view key, const std::string* bytes) const {
    if (bytes == nullptr) return Change{std::string(key), std::shared_ptr<const Row>()};
    ASSIGN_OR_RETURN(Row row, Kind<Row>().decode(key, *bytes));
    if (row.Key() != key) return NotA<Row>(key);
    return Change{std::string(key), std::make_shared<const Row>(std::move(row))};
  }

  const std::tuple<Stored<Rows>...> kinds_;
};

}  // namespace muster::storage
