#include <utility>

#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/flags.h"

// Orders to NodePools, Nodes, machines and clusters, as data.
namespace muster::musterctl {
namespace {

// With the flags that nearly all of them have.
Command AsOrder(Command command) {
  command.flags.push_back(DryRunFlag());
  command.flags.push_back(RequestIdFlag());
  return command;
}

Command ReconfigureCommand() {
  return AsOrder(
      {.name = "reconfigure",
       .run = Reconfigure,
       .usage = "reconfigure nodepool/NAME... [--machine M]... [flags]",
       .summary = "Reboots Nodes into the NodePool's active configuration, rack by rack.",
       .details =
           "Nodes that are on it already are left alone. Without --evict-active each Node is "
           "cordoned\n"
           "and rebooted once it is idle. See pause, resume, cancel; `describe nodepool` "
           "shows how far it is.",
       .examples = "reconfigure nodepool/train --dry-run\n"
                   "reconfigure nodepool/train --max-unavailable=25% --allowed-failures=1\n"
                   "reconfigure nodepool/train --machine g1a2b3c --evict-active",
       .flags = {{.name = "machine",
                  .value = "M",
                  .meaning = "Only this Node, of one NodePool. May be repeated.",
                  .repeated = true},
                 {.name = "evict-active", .meaning = "Move work away instead of waiting for it."},
                 {.name = "max-unavailable",
                  .value = "N|P%",
                  .meaning = "Most Nodes out of service at once. Default: the NodePool's, or 1.",
                  .is_never_empty = true},
                 {.name = "allowed-failures",
                  .value = "N",
                  .meaning = "Boots that may fail before it halts.",
                  .standard = "0"}}});
}

Flag WaitFlag(const std::string& until) {
  return {.name = "wait",
          .meaning =
              "Wait until it is " + until + "; --timeout is how long for each then. Default: 20m."};
}

Command DrainCommand() {
  return AsOrder(
      {.name = "drain",
       .run = Drain,
       .usage = "drain node/POOL/MACHINE... [--force] [--wait|--dry-run]",
       .summary = "Cordons a Node and moves its work away.",
       .details =
           "Begins once the NodePool's disruption budget allows it; what it waits for `explain\n"
           "nodepool` and `describe node` say. The Node stays, empty, until uncordon.\n"
           "--wait waits until no work can come any more, too: until the Node's agent has said so, "
           "or\n"
           "else until its cordonEffectiveTime (`describe node`), by the servers' "
           "--cordon_patience.",
       .examples = "drain node/train/g1a2b3c --wait --timeout=1h\n"
                   "drain node/train/g1a2b3c --force --dry-run",
       .flags = {{.name = "force",
                  .meaning = "At once: no disruption budget is asked, all work is deleted."},
                 WaitFlag("drained")}});
}

Command RebootCommand() {
  return AsOrder(
      {.name = "reboot",
       .run = Reboot,
       .usage = "reboot node/POOL/MACHINE... [--drain|--force] [--wait|--dry-run]",
       .summary = "Reboots a Node, into the NodePool's active configuration, once it is idle.",
       .details =
           "Until then no new work starts on it, as the NodePool's disruption budget allows.\n"
           "`uncordon` takes it back until it begins.",
       .examples = "reboot node/train/g1a2b3c --wait\n"
                   "reboot node/train/g1a2b3c --drain --dry-run",
       .flags = {{.name = "drain", .meaning = "Moves its work away first, does not wait for it."},
                 {.name = "force", .meaning = "At once, whatever runs on it."},
                 WaitFlag("back")}});
}

std::vector<Command> NodeCommands() {
  return {AsOrder({.name = "cordon",
                   .run = Cordon,
                   .usage = "cordon node/POOL/MACHINE... [--dry-run]",
                   .summary = "Lets no new work start on a Node; what runs there goes on.",
                   .details = "It stays in its NodePool, through reboots too, until uncordon.",
                   .examples = "cordon node/train/g1a2b3c"}),
          AsOrder({.name = "uncordon",
                   .run = Uncordon,
                   .usage = "uncordon node/POOL/MACHINE... [--dry-run]",
                   .summary = "Takes back cordon, drain, and a reboot that has not begun.",
                   .examples = "uncordon node/train/g1a2b3c node/train/g4d5e6f"}),
          DrainCommand(), RebootCommand()};
}

Command SetStateCommand() {
  return AsOrder(
      {.name = "set-state",
       .run = SetState,
       .usage = "set-state machine/MACHINE... free|in-repair|retired [--dry-run]",
       .summary = "Says that a machine is mended, broken, or gone for good.",
       .details = "free: what was in repair may be granted again, and is at once where somebody "
                  "waits.\n"
                  "in-repair: nobody gets it. retired: the same for ever; it may be deleted then.\n"
                  "One that a NodePool holds is refused: `reserve node` moves it out, to repair.",
       .examples = "set-state machine/g1a2b3c free\n"
                   "set-state machine/g1a2b3c machine/g4d5e6f retired --dry-run"});
}

Command BindCommand() {
  return AsOrder(
      {.name = "bind",
       .run = Bind,
       .usage = "bind cluster NAME --kubernetes-uid UID [--replaces UID] [--dry-run]",
       .summary = "Says which Kubernetes a cluster is; its adapter serves no other.",
       .details =
           "UID: kubectl get namespace kube-system -o jsonpath={.metadata.uid}. NodePools that "
           "came\n"
           "from an object are held against that Kubernetes: where it does not have them they go;\n"
           "those that were made by Muster's own API stay.",
       .examples =
           "bind cluster example --kubernetes-uid=2c3f1f0e-5a0b-4f3c-9b1d-7a9e0c5d4e21 --dry-run",
       .flags = {{.name = "kubernetes-uid", .value = "UID", .meaning = "Of the Kubernetes."},
                 {.name = "replaces",
                  .value = "UID",
                  .meaning = "Of the Kubernetes that it was until now, if it was told.",
                  .is_never_empty = true}}});
}

Command AllowCommand() {
  return AsOrder(
      {.name = "allow",
       .run = Allow,
       .usage = "allow removals CLUSTER [--node-pools N] [--nodes N] [--for DURATION]",
       .summary = "Lets the Kubernetes adapter go on with removals that it holds.",
       .details =
           "It holds them when more than a few NodePools or Nodes would go because one side does "
           "not\n"
           "know them, and says how many: condition RemovalsHeld, event CWRemovalsHeld. If it is "
           "more by\n"
           "then, they are held on. Takes the place of the order before it; 0 and 0 ends it.",
       .examples = "allow removals example --node-pools=2 --nodes=40 --for=10m\n"
                   "allow removals example",
       .flags = {{.name = "node-pools",
                  .value = "N",
                  .meaning = "NodePools that may go, at most.",
                  .standard = "0"},
                 {.name = "nodes",
                  .value = "N",
                  .meaning = "Nodes that may go, at most.",
                  .standard = "0"},
                 {.name = "for",
                  .value = "DURATION",
                  .meaning = "How long it holds, up to 24h.",
                  .standard = "1h"}}});
}

std::vector<Command> ReconfigureCommands() {
  return {ReconfigureCommand(),
          AsOrder({.name = "pause",
                   .run = Pause,
                   .usage = "pause nodepool/NAME... | pause reconfiguration NAME... [--dry-run]",
                   .summary = "Reboots no further Node of the NodePool until resumed.",
                   .examples = "pause nodepool/train"}),
          AsOrder({.name = "resume",
                   .run = Resume,
                   .usage = "resume nodepool/NAME... | resume reconfiguration NAME... [--dry-run]",
                   .summary = "Goes on after a pause or halt; failures until now are forgotten.",
                   .examples = "resume nodepool/train --dry-run"}),
          AsOrder({.name = "cancel",
                   .run = Cancel,
                   .usage = "cancel nodepool/NAME... | cancel reconfiguration NAME... [--dry-run]",
                   .summary = "Ends reconfigure reboots; Nodes that wait for theirs are let go.",
                   .examples = "cancel nodepool/train nodepool/eval"})};
}

// What keeps a Node where it is, and what takes it away.
std::vector<Command> KeepCommands() {
  return {
      {.name = "protect",
       .run = Protect,
       .usage = "protect node/POOL/MACHINE... --for DURATION [--dry-run]",
       .summary = "Keeps a Node from scale-down for a time.",
       .examples = "protect node/train/g1a2b3c --for=8h",
       .flags = {{.name = "for", .value = "DURATION", .meaning = "How long, e.g. 8h."},
                 DryRunFlag()}},
      AsOrder({.name = "unprotect",
               .run = Unprotect,
               .usage = "unprotect node/POOL/MACHINE... [--dry-run]",
               .summary = "Ends a Node's protection.",
               .examples = "unprotect node/train/g1a2b3c"}),
      AsOrder({.name = "reserve",
               .run = Reserve,
               .usage = "reserve node/POOL/MACHINE... [--dry-run]",
               .summary = "Moves a Node to the control plane: drained, replaced, out of service.",
               .examples = "reserve node/train/g1a2b3c --dry-run"}),
      AsOrder({.name = "unreserve",
               .run = Unreserve,
               .usage = "unreserve node/POOL/MACHINE... [--dry-run]",
               .summary = "Takes that back, until the Node's drain began.",
               .examples = "unreserve node/train/g1a2b3c"})};
}

}  // namespace

std::vector<Command> OrderCommands() {
  std::vector<Command> all = ReconfigureCommands();
  for (Command& command : KeepCommands()) all.push_back(std::move(command));
  for (Command& command : NodeCommands()) all.push_back(std::move(command));
  for (Command& each : std::vector{SetStateCommand(), BindCommand(), AllowCommand()})
    all.push_back(std::move(each));
  return all;
}

}  // namespace muster::musterctl
