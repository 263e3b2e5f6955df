#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

// Logs: one JSON object a line, with `ts` (RFC 3339, microseconds, UTC), `level`, `msg`, then the
// fields in their order, then `trace_id` and `span_id` of CurrentTrace where there is one. On
// stderr unless log_output.h says otherwise.
//
//   log::Info("pool planned", {{"pool", name}, {"nodes", 5}});
//
// `msg` is a constant sentence; what varies is a field. An error is logged once, where it is
// handled. Thread-safe: lines never mix. Bytes that are not UTF-8 are written as U+FFFD, and at
// most kMaxTextBytes of a text, so that no caller can make a line as long as he likes. Do not log
// secrets: nothing here hides them.
namespace muster::log {

enum class Level { kDebug, kInfo, kWarn, kError };

// The most that is written of one text; of the rest, only its length is.
inline constexpr size_t kMaxTextBytes = 4096;

// A field's value. It refers to strings given as views: use it only as an argument.
class Value {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a field is written {"key", value}.
  template <class T>
  requires std::convertible_to<const T&, absl::string_view> Value(const T& text)
      : kind_(Kind::kText), text_(absl::string_view(text)) {}
  template <std::integral T>
  Value(T number) {
    if constexpr (std::same_as<T, bool>) {
      kind_ = Kind::kBool;
      signed_ = number ? 1 : 0;
    } else if constexpr (std::unsigned_integral<T>) {
      kind_ = Kind::kUnsigned;
      unsigned_ = number;
    } else {
      kind_ = Kind::kSigned;
      signed_ = number;
    }
  }
  // Infinite and not-a-number are written as null.
  Value(double number) : kind_(Kind::kDouble), double_(number) {}
  // Seconds, as a number.
  Value(absl::Duration duration) : Value(absl::ToDoubleSeconds(duration)) {}
  // RFC 3339 in UTC.
  Value(absl::Time time);
  // `CODE: message`, without payloads.
  Value(const absl::Status& status);
  // A list of texts.
  Value(const std::vector<std::string>& texts) : kind_(Kind::kList), list_(&texts) {}
  // NOLINTEND

  // Appends the value as JSON.
  void AppendTo(std::string& out) const;

 private:
  // Plain members: with a variant g++ 12's sanitizer builds warn of members that were never set.
  enum class Kind { kText, kOwned, kList, kBool, kSigned, kUnsigned, kDouble };
  Kind kind_ = Kind::kBool;
  absl::string_view text_ = {};
  std::string owned_ = {};
  const std::vector<std::string>* list_ = nullptr;
  int64_t signed_ = 0;
  uint64_t unsigned_ = 0;
  double double_ = 0;
};

struct Field {
  absl::string_view key = {};
  Value value = false;
};

// Lines below the level are dropped. At start: kInfo. Any thread, at any time.
void SetLevel(Level level);
Level CurrentLevel();
bool Enabled(Level level);
// `debug`, `info`, `warn` (or `warning`), `error`; nullopt for anything else.
std::optional<Level> ParseLevel(absl::string_view text);
absl::string_view LevelName(Level level);

void Write(Level level, absl::string_view msg, absl::Span<const Field> fields);
// The line that Write writes, without its newline.
std::string RenderLine(Level level, absl::Time time, absl::string_view msg,
                       absl::Span<const Field> fields);

using Fields = std::initializer_list<Field>;
inline void Debug(absl::string_view msg, Fields fields = {}) { Write(Level::kDebug, msg, fields); }
inline void Info(absl::string_view msg, Fields fields = {}) { Write(Level::kInfo, msg, fields); }
inline void Warn(absl::string_view msg, Fields fields = {}) { Write(Level::kWarn, msg, fields); }
inline void Error(absl::string_view msg, Fields fields = {}) { Write(Level::kError, msg, fields); }

// Gets every line, without its newline, one at a time. It must not log.
using Sink = std::function<void(absl::string_view line)>;
// Sends the lines there instead of stderr; an empty sink means stderr again. For tests.
void SetSink(Sink sink);

}  // namespace muster::log
