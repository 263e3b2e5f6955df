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

// What the commands need of the world.
struct World {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  Environment environment = {};
  std::function<std::shared_ptr<Api>(const ApiOptions&)> connect = Api::Create;
  const Clock& clock;
  const SteadyClock& steady;  // for what is waited for
  std::function<void(absl::Duration)> sleep = {};
  Terminal* terminal = nullptr;  // null: nobody sits there
  std::ostream* progress =
      nullptr;  // a terminal that is told how far things are; null: nobody looks
  // Runs a command line of a shell on the terminal; its exit code. Null: none can be run.
  std::function<int(const std::string& command)> execute = {};
  // What `out` shows with escape codes obeyed: for what is made here alone. Run sets it.
  std::ostream* screen = nullptr;
};

// Exit codes.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUse = 2;

// Runs one command line (without the program's name) and returns the exit code.
int Run(absl::Span<const std::string> args, World& world);

// One command, its line parsed. Output goes to world.out as it comes; an error is returned, not
// printed.
struct Session {
  const CommandLine& line;
  const Scope& scope;
  Api& api;
  World& world;
  absl::Duration timeout = {};  // of each call
  bool of_cells = false;        // `api` is several cells: what is shown says which
  // Each cell by itself, for what is followed; of one server that alone, without a name.
  std::vector<Cell> cells = {};
  std::string request_id = {};  // of the line
};
absl::Status Get(Session& session);
absl::Status Describe(Session& session);
absl::Status Events(Session& session);
absl::Status Rollout(Session& session);
// Whether the line goes back to a revision by its number: the same number is another profile's once that is done.
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
// Whether the line deletes what is chosen anew each time: the same one may come to ask for other things.
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

// Parts of Commands(), by what they are about.
std::vector<Command> ReadCommands();
std::vector<Command> ChangeCommands();
std::vector<Command> OrderCommands();
std::vector<Command> ConfigurationCommands();
std::vector<Command> ServerCommands();
std::vector<Command> PastCommands();

// KIND, the first argument.
absl::StatusOr<Kind> ParseKindArgument(const CommandLine& line);
// KIND and NAME, the only two arguments.
absl::StatusOr<ResourceId> ReadResourceId(const CommandLine& line);
// NOT_FOUND, saying what named it: the cluster of the scope does not exist. For where nothing was found.
absl::Status CheckCluster(Session& session);
// The same for where `id` was not found (empty: none of its kind was), if it was looked for in that cluster.
absl::Status CheckClusterOf(Session& session, const ResourceId& id);
// `1h` ago, a time such as 2026-11-26T09:00:00Z, or a revision.
absl::StatusOr<Moment> ReadMoment(absl::string_view flag, const std::string& text, absl::Time now);

// Waits until the pool is `healthy` (or, with `deleted`, gone) and prints a line whenever it
// changed. DEADLINE_EXCEEDED past `timeout`, naming what is still amiss. Goes on while the server
// is away. `uid`: of the pool that is meant, if that is known.
absl::Status WaitForPool(Session& session, const ResourceId& id, bool deleted,
                         absl::Duration timeout, const std::string& uid = "");

// Waits until a Node is drained, or back from its reboot, as it was ordered, and prints a line whenever
// it changed. `before`: as it was at the order. FAILED_PRECONDITION: that was taken back, or it leaves;
// DEADLINE_EXCEEDED past `timeout`. Goes on while the server is away.
absl::Status WaitForNode(Session& session, const ResourceId& id, NodeVerb verb,
                         const lifecycle::v1::Node& before, absl::Duration timeout);

// What an order to a NodePool's configuration came to, or would: `is at PROFILE`, or when it will be.
std::string ReachedBy(const configuration::v1::PoolConfiguration& configuration, bool dry_run);

// Every file of `-f`, parsed and checked as a whole.
absl::StatusOr<std::vector<Manifest>> ReadManifests(Session& session);

// `diff -f`: what manifests would change.
absl::Status DiffFiles(Session& session);

// The exit code is kFailed, and nothing is left to be said.
absl::Status SaidAlready();

// A refusal of a manifest, which says where that stands, its fields as they are called there.
absl::Status AtManifest(const absl::Status& status, const Manifest& manifest);

}  // namespace muster::musterctl
