#include "services/daemon/flag_file.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "services/common/cause.h"
#include "services/common/edit_distance.h"
#include "services/common/read_file.h"

namespace muster::daemon {
namespace {

using Faults = std::vector<error::FieldViolation>;

// The flag of ours with that name; null: there is none. (Abseil's own, --flagfile among them, are
// for the command line.)
absl::CommandLineFlag* Find(absl::string_view name) {
  absl::CommandLineFlag* const flag = absl::FindCommandLineFlag(name);
  return flag != nullptr && absl::StrContains(flag->Filename(), "services/") ? flag : nullptr;
}

std::string Unknown(absl::string_view name) {
  constexpr size_t kNear = 3;
  std::string nearest;
  size_t least = kNear;
  for (const auto& [known, flag] : absl::GetAllFlags()) {
    const size_t distance = EditDistance(name, known);
    if (Find(known) == nullptr || distance >= least) continue;
    nearest = std::string(known);
    least = distance;
  }
  return nearest.empty() ? "is no flag that can stand in a file; --help shows all."
                         : absl::StrCat("is no flag; is --", nearest, " meant?");
}

std::string Allowed(const absl::CommandLineFlag& flag) {
  if (flag.IsOfType<absl::Duration>()) return "a duration, e.g. 500ms, 30s, 15m or 1h30m";
  if (flag.IsOfType<int>() || flag.IsOfType<int64_t>()) return "a whole number";
  if (flag.IsOfType<double>()) return "a number";
  if (flag.IsOfType<bool>()) return "true or false";
  return "what --help says of it";
}

// Faults as lines.
void Print(const absl::Status& status, const FlagFiles& files, std::ostream& out) {
  const auto detail = error::DetailOf(status);
  if (!detail || detail->fields.empty()) {
    out << error::ForOperators(status) << "\n";
    return;
  }
  for (const error::FieldViolation& fault : detail->fields) {
    out << files.PlaceOf(fault.field) << fault.field << " " << fault.description << "\n";
  }
}

}  // namespace

void FlagFiles::ReadLine(absl::string_view line, const std::string& place, Faults& faults) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
  if (text.empty() || text[0] == '#') return;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  absl::string_view name = parts.first;
  const auto wrong = [&](absl::string_view what) {
    faults.push_back({absl::StrCat(place, parts.first), std::string(what)});
  };
  if (!absl::ConsumePrefix(&name, "--")) return wrong("must be --flag=value, or begin with #.");
  std::string value(parts.second);
  absl::CommandLineFlag* flag = Find(name);
  if (!absl::StrContains(text, "=")) {
    if (flag == nullptr && absl::ConsumePrefix(&name, "no")) flag = Find(name);
    if (flag == nullptr || !flag->IsOfType<bool>())
      return wrong(flag == nullptr ? Unknown(parts.first.substr(2))
                                   : "must have a value, as --flag=value.");
    value = absl::StartsWith(parts.first, absl::StrCat("--", name)) ? "true" : "false";
  }
  if (flag == nullptr) return wrong(Unknown(name));
  if (absl::StripTrailingAsciiWhitespace(text) != text)
    return wrong("ends with white space, which would be part of its value.");
  const std::string key = absl::StrCat("--", name);
  if (const auto [at, is_new] = places_.emplace(key, place); !is_new)
    return wrong(absl::StrCat("was given before, at ", absl::StripSuffix(at->second, ": "), "."));
  std::string ignored;
  if (!flag->ParseFrom(value, &ignored))
    wrong(absl::StrCat("is \"", value, "\"; allowed is ", Allowed(*flag), "."));
}

absl::Status FlagFiles::Read(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text) return error::InvalidField(path, "cannot be read.");
  Faults faults;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n'))
    ReadLine(line, absl::StrCat(path, ":", ++number, ": "), faults);
  return faults.empty() ? absl::OkStatus() : error::InvalidFields(std::move(faults));
}

std::string FlagFiles::PlaceOf(absl::string_view flag) const {
  const auto found = places_.find(std::string(flag));
  return found == places_.end() ? "" : found->second;
}

int CheckConfig(const std::vector<std::string>& files, const std::function<absl::Status()>& check,
                std::ostream& out) {
  FlagFiles read;
  bool well = true;
  const auto hold = [&](const absl::Status& status) {
    if (status.ok()) return;
    Print(status, read, out);
    well = false;
  };
  for (const std::string& file : files) hold(read.Read(file));
  // Not after faults: flags that could not be read would then be reported as missing, too.
  if (well) hold(check());
  if (well) out << "good\n";
  return well ? 0 : 1;
}

}  // namespace muster::daemon
