#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

// The command line: what may be said, and what was said. Pure. Flags may stand before or after the
// command, as `--flag value`, `--flag=value`, `-f value` or, for a switch, `--flag`.
namespace muster::musterctl {

// One flag. A flag without `value` is a switch.
struct Flag {
  std::string name = {};      // without dashes
  char letter = 0;            // short form, 0: none
  std::string value = {};     // what its value is called in the help, e.g. `FILE`
  std::string meaning = {};   // with unit
  std::string standard = {};  // its value when it is not given
  std::string variable = {};  // environment variable that gives it, empty: none
  bool repeated = false;      // may be given more than once
  // An empty value, as from a shell's variable that is not set, is wrong use: what is done without
  // the flag is not what whoever gives it wants.
  bool is_never_empty = false;
  // For a switch: the values it takes as `--flag=WORD`. `--flag` alone means the first, `none` as
  // if it were not given.
  std::vector<std::string> words = {};
  std::vector<std::string> offered = {};  // values that completion offers
};

struct Session;

struct Command {
  std::string name = {};
  // The function that carries it out (commands.h). Has no default, so that no row goes without.
  absl::Status (*run)(Session& session);
  std::string usage = {};     // e.g. `get KIND [NAME]`
  std::string summary = {};   // one line
  std::string details = {};   // for its own help, may be empty
  std::string examples = {};  // lines of the same, without indentation
  std::vector<Flag> flags = {};
  bool is_offline = false;  // asks no server
  bool is_hidden = false;   // not in the help
  // Exit code 1 says that something differs, as of diff -f: then 2 says that it failed, too.
  bool is_comparison = false;
};

// A parsed command line. Every flag that the command knows has its value here, given or standard.
struct CommandLine {
  std::string command = {};
  std::vector<std::string> arguments = {};
  std::map<std::string, std::vector<std::string>> flags = {};
  std::set<std::string> given = {};  // flags that the line itself says
  bool help = false;

  // The last value of a flag, empty when there is none.
  std::string Get(absl::string_view flag) const;
  bool Has(absl::string_view flag) const { return !Get(flag).empty(); }
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// Every command, in the order of the help; and the flags that all of them take.
const std::vector<Command>& Commands();
const std::vector<Flag>& GlobalFlags();
// Null when there is none.
const Command* FindCommand(absl::string_view name);

// INVALID_ARGUMENT with a sentence for people. An empty command line is a call for help.
absl::StatusOr<CommandLine> ParseArgs(absl::Span<const std::string> args,
                                      const Environment& environment);

// The help of one command; null: of musterctl itself.
std::string Help(const Command* command);

// A duration such as `90s`, `1h30m` or, as ages are printed, `7d` or `1d12h`; a day is 24 hours.
// False: it is none.
bool ParseLength(absl::string_view text, absl::Duration& length);
// One above zero; `field` names the flag in the error.
absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view field, absl::string_view text);
// A decimal integer that fits 64 bits.
absl::StatusOr<int64_t> ParseCount(absl::string_view field, absl::string_view text);

}  // namespace muster::musterctl
