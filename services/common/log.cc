#include "services/common/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "services/common/log_writer.h"
#include "services/common/mutex.h"
#include "services/common/trace_context.h"

namespace muster::log {
namespace {

constexpr char kTimeFormat[] = "%Y-%m-%d%ET%H:%M:%E6SZ";

std::atomic<Level> g_level = Level::kInfo;

struct Output {
  Mutex mutex;
  Sink sink MUSTER_GUARDED_BY(mutex);
};

// Never destroyed: a thread may still log while the process exits.
Output& TheOutput() {
  static Output* const output = new Output;
  return *output;
}

spdlog::logger& Stderr() {
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger("muster", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

// What JSON holds as it is, which is nearly all that is ever written.
bool IsPlain(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// Whether a terminal may act on the character instead of showing it: DEL, C1 controls, and marks
// that turn the direction of what follows. JSON lets them stand.
bool IsActedOn(uint32_t character) {
  return (character >= 0x7F && character <= 0x9F) || character == 0x061C ||
         (character >= 0x200E && character <= 0x200F) ||
         (character >= 0x202A && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

// How many bytes the character has that begins with this one, in valid UTF-8.
size_t LengthOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xE0) return 2;
  return first < 0xF0 ? 3 : 4;
}

// Appends JSON, in valid UTF-8, with those characters as `\uNNNN`.
void AppendEscaped(std::string& out, absl::string_view json) {
  while (!json.empty()) {
    const auto first = static_cast<unsigned char>(json[0]);
    const size_t length = std::min(LengthOf(first), json.size());
    uint32_t character = length == 1 ? first : first & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; ++i)
      character = character << 6 | (static_cast<unsigned char>(json[i]) & 0x3FU);
    if (IsActedOn(character)) {
      absl::StrAppendFormat(&out, "\\u%04x", character);
    } else {
      absl::StrAppend(&out, json.substr(0, length));
    }
    json.remove_prefix(length);
  }
}

void AppendWhole(std::string& out, absl::string_view text) {
  using Json = nlohmann::json;
  if (IsPlain(text)) return absl::StrAppend(&out, "\"", text, "\"");
  AppendEscaped(out, Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace));
}

void AppendString(std::string& out, absl::string_view text) {
  if (text.size() <= kMaxTextBytes) return AppendWhole(out, text);
  // Not within a character.
  size_t end = kMaxTextBytes;
  while (end > kMaxTextBytes - 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  AppendWhole(out, absl::StrCat(text.substr(0, end), "... (", text.size(), " bytes)"));
}

void AppendList(std::string& out, const std::vector<std::string>& texts) {
  out += '[';
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out += ',';
    AppendString(out, text);
  }
  out += ']';
}

std::string Format(absl::Time time) {
  return absl::FormatTime(kTimeFormat, time, absl::UTCTimeZone());
}

}  // namespace

Value::Value(absl::Time time) : kind_(Kind::kOwned), owned_(Format(time)) {}

Value::Value(const absl::Status& status)
    : kind_(Kind::kOwned), owned_(status.ToString(absl::StatusToStringMode::kWithNoExtraData)) {}

void Value::AppendTo(std::string& out) const {
  switch (kind_) {
    case Kind::kText:
      return AppendString(out, text_);
    case Kind::kOwned:
      return AppendString(out, owned_);
    case Kind::kList:
      return AppendList(out, *list_);
    case Kind::kBool:
      out += signed_ != 0 ? "true" : "false";
      return;
    case Kind::kSigned:
      return absl::StrAppend(&out, signed_);
    case Kind::kUnsigned:
      return absl::StrAppend(&out, unsigned_);
    case Kind::kDouble:
      out += nlohmann::json(double_).dump();
      return;
  }
}

void SetLevel(Level level) { g_level.store(level, std::memory_order_relaxed); }

Level CurrentLevel() { return g_level.load(std::memory_order_relaxed); }

bool Enabled(Level level) { return level >= g_level.load(std::memory_order_relaxed); }

std::optional<Level> ParseLevel(absl::string_view text) {
  for (const Level level : {Level::kDebug, Level::kInfo, Level::kWarn, Level::kError}) {
    if (text == LevelName(level)) return level;
  }
  if (text == "warning") return Level::kWarn;
  return std::nullopt;
}

absl::string_view LevelName(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarn:
      return "warn";
    case Level::kError:
      return "error";
  }
  return "error";
}

std::string RenderLine(Level level, absl::Time time, absl::string_view msg,
                       absl::Span<const Field> fields) {
  std::string line;
  line.reserve(512);
  absl::StrAppend(&line, "{\"ts\":\"", Format(time), "\",\"level\":\"", LevelName(level),
                  "\",\"msg\":");
  AppendString(line, msg);
  for (const Field& field : fields) {
    line += ',';
    AppendString(line, field.key);
    line += ':';
    field.value.AppendTo(line);
  }
  if (const TraceContext trace = CurrentTrace::Get(); trace.valid()) {
    absl::StrAppend(&line, ",\"trace_id\":\"", trace.TraceId(), "\",\"span_id\":\"", trace.SpanId(),
                    "\"");
  }
  line += '}';
  return line;
}

void Write(Level level, absl::string_view msg, absl::Span<const Field> fields) {
  if (!Enabled(level)) return;
  // The wall clock of people who read logs, not the injected one.
  const std::string line = RenderLine(level, absl::Now(), msg, fields);
  Output& output = TheOutput();
  {
    MutexLock lock(output.mutex);
    if (output.sink) return output.sink(line);
  }
  if (const internal::Writer writer = internal::g_writer) return writer(line);
  Stderr().log(spdlog::level::info, line);
}

void SetSink(Sink sink) {
  Output& output = TheOutput();
  MutexLock lock(output.mutex);
  output.sink = std::move(sink);
}

}  // namespace muster::log
