#include "services/common/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/mutex.h"

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

absl::string_view NameOf(Level level) {
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

void AppendString(std::string& out, absl::string_view text) {
  using Json = nlohmann::json;
  out += Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
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

bool Enabled(Level level) { return level >= g_level.load(std::memory_order_relaxed); }

std::optional<Level> ParseLevel(absl::string_view text) {
  for (const Level level : {Level::kDebug, Level::kInfo, Level::kWarn, Level::kError}) {
    if (text == NameOf(level)) return level;
  }
  return std::nullopt;
}

void Write(Level level, absl::string_view msg, absl::Span<const Field> fields) {
  if (!Enabled(level)) return;
  // The wall clock of people who read logs, not the injected one.
  std::string line = absl::StrCat("{\"ts\":\"", Format(absl::Now()), "\",\"level\":\"",
                                  NameOf(level), "\",\"msg\":");
  AppendString(line, msg);
  for (const Field& field : fields) {
    line += ',';
    AppendString(line, field.key);
    line += ':';
    field.value.AppendTo(line);
  }
  line += '}';
  Output& output = TheOutput();
  MutexLock lock(output.mutex);
  if (output.sink) {
    output.sink(line);
  } else {
    Stderr().log(spdlog::level::info, line);
  }
}

void SetSink(Sink sink) {
  Output& output = TheOutput();
  MutexLock lock(output.mutex);
  output.sink = std::move(sink);
}

}  // namespace muster::log
