#pragma once

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/clock.h"
#include "services/common/steady_clock.h"
#include "services/musterctl/client/api.h"
#include "services/musterctl/commands/args.h"
#include "services/musterctl/commands/terminal.h"
#include "services/musterctl/commands/wrong_use.h"
#include "services/musterctl/manifest/manifest.h"

namespace muster::musterctl {

// What the commands need of the process around them.
struct ProcessEnv {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  Environment environment = {};
  std::function<std::shared_ptr<Api>(const ApiOptions&)> connect = Api::Create;
  const Clock& clock;
  const SteadyClock& steady;  // for waits
  std::function<void(absl::Duration)> sleep = {};
  Terminal* terminal = nullptr;  // null: there is none
  std::ostream* progress =
      nullptr;  // a terminal that shows how far things are; null: there is none
  // Runs a shell's command line on the terminal and returns its exit code. Null: none can be run.
  std::function<int(const std::string& command)> execute = {};
  // Where `out` goes, but without escape codes being made harmless: only for text that musterctl
  // itself makes. Run sets it.
  std::ostream* screen = nullptr;
};

// Exit codes.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUse = 2;  // and any failure of a command that compares

// Runs one command line (without the program's name) and returns the exit code.
int Run(absl::Span<const std::string> args, ProcessEnv& env);

// What a command gets: its parsed line, and what it works with. It writes its output to env.out
// as it comes, and returns an error instead of printing it.
struct Session {
  const CommandLine& line;
  const Scope& scope;
  Api& api;
  ProcessEnv& env;
  absl::Duration timeout = {};  // of each call
  bool of_cells = false;        // `api` is several cells: output has to say which
  // Each cell by itself, for watches; if there is one server, that one, without a name.
  std::vector<Cell> cells = {};
  std::string request_id = {};  // of the command line
  int order = 0;                // that is carried out, from 1: for_each.h
};
absl::Status Get(Session& session);
absl::Status Describe(Session& session);
absl::Status Events(Session& session);
absl::Status Rollout(Session& session);
// Whether the line is a rollback to a revision by its number. Such a line must not be repeated:
// once it is done, the number is that of another profile.
bool IsByNumber(const CommandLine& line);
absl::Status ApiResources(Session& session);
absl::Status Completion(Session& session);
absl::Status CompleteWords(Session& session);
absl::Status Version(Session& session);
absl::Status Edit(Session& session);
absl::Status Patch(Session& session);
absl::Status Apply(Session& session);
absl::Status Scale(Session& session);
absl::Status Delete(Session& session);
// Whether the line is a delete by --all or -l: said again, it may choose other resources.
bool IsChosen(const CommandLine& line);
absl::Status Wait(Session& session);
absl::Status Check(Session& session);
absl::Status Auth(Session& session);
absl::Status Config(Session& session);
absl::Status Debug(Session& session);
absl::Status Explain(Session& session);
absl::Status Find(Session& session);
absl::Status History(Session& session);
absl::Status Diff(Session& session);
absl::Status Top(Session& session);
absl::Status Publish(Session& session);
absl::Status Withdraw(Session& session);
absl::Status Promote(Session& session);
absl::Status Rollback(Session& session);
absl::Status Enable(Session& session);
absl::Status Reconfigure(Session& session);
absl::Status Pause(Session& session);
absl::Status Resume(Session& session);
absl::Status Cancel(Session& session);
absl::Status Protect(Session& session);
absl::Status Unprotect(Session& session);
absl::Status Reserve(Session& session);
absl::Status Unreserve(Session& session);
absl::Status Cordon(Session& session);
absl::Status Uncordon(Session& session);
absl::Status Drain(Session& session);
absl::Status Reboot(Session& session);
absl::Status SetState(Session& session);
absl::Status Bind(Session& session);
absl::Status Allow(Session& session);

// The parts of Commands(), by subject.
std::vector<Command> ReadCommands();
std::vector<Command> ChangeCommands();
std::vector<Command> OrderCommands();
std::vector<Command> ConfigurationCommands();
std::vector<Command> ServerCommands();
std::vector<Command> PastCommands();

// Reads KIND, the first argument.
absl::StatusOr<Kind> ParseKindArgument(const CommandLine& line);
// Reads KIND and NAME (or KIND/NAME), the only arguments.
absl::StatusOr<ResourceId> ReadResourceId(const CommandLine& line);
// To be called when nothing was found. NOT_FOUND: the cluster of the scope does not exist; the
// message says what named it.
absl::Status CheckCluster(Session& session);
// The same when `id` was not found (empty id: nothing of its kind was); OK if it was not looked for
// in the scope's cluster.
absl::Status CheckClusterOf(Session& session, const ResourceId& id);
// Reads a moment: a duration before now (`1h`), a time such as 2026-11-26T09:00:00Z, or a revision.
// One that is yet to come is wrong use.
absl::StatusOr<Moment> ReadMoment(absl::string_view flag, const std::string& text, absl::Time now);
// Notes what the past does not tell of such resources, because it is worked out when they are read.
void NoteUntold(Session& session, Kind kind);
// If the status, of GetPast, is NOT_FOUND: notes that the resource was not there at that moment,
// for it may have been at others.
void NoteNotThere(Session& session, const ResourceId& resource, const Moment& then,
                  const absl::Status& status);

// While it lives, a call ends with the wait that it is part of (Api::EndWithin): a server that does
// not answer holds up nobody for longer than was said, but for the last look at each name.
class WaitLimit {
 public:
  WaitLimit(Api& api, absl::Duration left) : api_(api) { api_.EndWithin(left); }
  WaitLimit(const WaitLimit&) = delete;
  WaitLimit& operator=(const WaitLimit&) = delete;
  ~WaitLimit() { api_.EndWithin(absl::InfiniteDuration()); }

 private:
  Api& api_;
};

// Waits until the pool is `healthy` (or, with `deleted`, gone) and prints a line whenever it
// changed. DEADLINE_EXCEEDED past `timeout`, naming what is still amiss. Goes on while the server
// is away. `uid`: the uid of the pool that is meant; empty: whichever has the name.
absl::Status WaitForPool(Session& session, const ResourceId& id, bool deleted,
                         absl::Duration timeout, const std::string& uid = "");

// Waits until a Node that was ordered to drain or reboot is drained, or back, and prints a line
// whenever it changed. `before`: the Node as the order's answer had it. FAILED_PRECONDITION: the
// order was taken back, or a Node to reboot leaves; DEADLINE_EXCEEDED past `timeout`. Goes on while
// the server is away.
absl::Status WaitForNode(Session& session, const ResourceId& id, NodeVerb verb,
                         const lifecycle::v1::Node& before, absl::Duration timeout);

// The result of an order about a NodePool's configuration in words: `is at PROFILE`, or when it
// will be.
std::string ReachedBy(const configuration::v1::PoolConfiguration& configuration, bool dry_run);

// The manifests of all files of `-f`, parsed and checked as a whole.
absl::StatusOr<std::vector<Manifest>> ReadManifests(Session& session);
// Of contexts of several clusters none was chosen for `what`.
absl::Status NoPlace(absl::string_view what);

// `diff -f`: what manifests would change.
absl::Status DiffFiles(Session& session);

// An error for which Run prints nothing and returns kFailed, because all was printed already.
absl::Status AlreadyPrinted();

// The server's error for a manifest, with the manifest's place and the names that its fields have
// there.
absl::Status AtManifest(const absl::Status& status, const Manifest& manifest);

}  // namespace muster::musterctl
