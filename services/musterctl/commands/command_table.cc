#include <utility>

#include "services/musterctl/commands/args.h"
#include "services/musterctl/commands/commands.h"

// What musterctl can do, as data: the parser, the help and Run read it.
namespace muster::musterctl {
namespace {

Flag OutputFlag() {
  return {.name = "output",
          .letter = 'o',
          .value = "FORMAT",
          .meaning = "wide, json, yaml or name; a table when not given."};
}

Flag PoolFlag() {
  return {.name = "nodepool", .value = "NAME", .meaning = "Only Nodes or events of this NodePool."};
}

Flag OfMachines(std::string name, std::string value, const std::string& which) {
  return {.name = std::move(name),
          .value = std::move(value),
          .meaning = "Only machines " + which + "."};
}

Flag FileFlag() {
  return {.name = "filename",
          .letter = 'f',
          .value = "FILE",
          .meaning = "Manifest to read, `-` for standard input. May be repeated.",
          .repeated = true};
}

Flag DryRunFlag() {
  return {.name = "dry-run", .meaning = "Change nothing; say what would come of it."};
}

Flag RequestIdFlag() {
  return {.name = "request-id",
          .value = "ID",
          .meaning =
              "Name of this order, up to 60 printable characters: given again within a day, "
              "the same order is done once. Default: a random one."};
}

Command GetCommand() {
  return {
      .name = "get",
      .run = Get,
      .usage = "get KIND [NAME] [-o FORMAT] [-w]",
      .summary = "Shows resources.",
      .details =
          "KIND: nodepools (np), nodes, events, clusters, quotas, zones, instancetypes, machines,\n"
          "claims, releases, configurations, profiles; singular forms too. NAME is the id, "
          "without\n"
          "its path; of a configuration the NodePool's uid.",
      .flags = {
          OutputFlag(),
          {.name = "watch",
           .letter = 'w',
           .meaning = "Go on with every change, until interrupted. Ends when no server answers "
                      "within --timeout at first; reconnects later."},
          {.name = "at",
           .value = "WHEN",
           .meaning =
               "As it was then: how long ago (1h), a time (2026-11-26T09:00:00Z) or a "
               "revision. A Node's NAME is POOL/MACHINE then; lists are of clusters, NodePools, "
               "Nodes and quotas."},
          PoolFlag(),
          OfMachines("zone", "ZONE", "in this zone"),
          OfMachines("instance-type", "TYPE", "of this instance type"),
          OfMachines("state", "STATE", "in this state: free, held, reclaiming, in_repair, retired"),
          OfMachines("claim", "UID", "held by this claim")}};
}

Command ApplyCommand() {
  return {
      .name = "apply",
      .run = Apply,
      .usage = "apply -f FILE [--dry-run]",
      .summary = "Brings resources to what a manifest says.",
      .details =
          "Every document of every file is read and checked before anything is sent. Resources "
          "are\n"
          "sent in the order zones, instance types, machines, quotas, releases, clusters, "
          "NodePools,\n"
          "whatever their order in the files. Kinds of apiVersion muster/v1: Zone, InstanceType,\n"
          "MachineSet, Machine, Quota, Release, Cluster; of compute.coreweave.com/v1alpha1: "
          "NodePool.\n"
          "--dry-run shows what each NodePool would cost in quota, wait for, lose and reboot; what "
          "it\n"
          "needs (its cluster) must be there. Zones, instance types and machines are only "
          "compared.",
      .flags = {FileFlag(), DryRunFlag()}};
}

Command DescribeCommand() {
  return {.name = "describe",
          .run = Describe,
          .usage = "describe nodepool|node NAME [-o wide|--all]",
          .summary = "Shows one NodePool or Node in full, with its events.",
          .details =
              "A healthy new NodePool reads as in the API reference. Its nodeProfile and revisions "
              "are shown\n"
              "as soon as a configuration was staged after the first, waits or is disabled; with "
              "-o wide or\n"
              "--all always, and a reconfiguration that is over, too.",
          .flags = {OutputFlag(), {.name = "all", .meaning = "The same as -o wide."}}};
}

Command ScaleCommand() {
  return {.name = "scale",
          .run = Scale,
          .usage = "scale nodepool NAME --nodes N | --remove MACHINE... [--dry-run]",
          .summary = "Sets a NodePool's targetNodes, and may name the Nodes that are to go.",
          .details =
              "With --remove alone the target falls by the number of Nodes named. Under IdleOnly "
              "one that\n"
              "has work goes once it is idle, and no other in its place.",
          .flags = {{.name = "nodes", .value = "N", .meaning = "Nodes wanted, 0 to 100000."},
                    {.name = "remove",
                     .value = "MACHINE",
                     .meaning = "Node that is to go first. May be repeated.",
                     .repeated = true},
                    DryRunFlag(),
                    RequestIdFlag()}};
}

Command DeleteCommand() {
  return {
      .name = "delete",
      .run = Delete,
      .usage = "delete nodepool|quota NAME [--wait|--dry-run] | delete -f FILE [...]",
      .summary = "Asks for the deletion of NodePools or quotas.",
      .details =
          "A NodePool disappears once its Nodes are drained and gone. Deleting what is not there "
          "is\n"
          "an error unless --ignore-not-found. A quota's NAME is ZONE~INSTANCETYPE~CLASS.",
      .flags = {
          FileFlag(),
          DryRunFlag(),
          {.name = "wait", .meaning = "Wait until the NodePools are gone (see --wait-timeout)."},
          {.name = "wait-timeout",
           .value = "DURATION",
           .meaning = "How long to wait for a NodePool to be gone.",
           .standard = "20m"},
          {.name = "ignore-not-found", .meaning = "Succeed when there is nothing to delete."},
          RequestIdFlag()}};
}

Command CheckCommand() {
  return {
      .name = "check",
      .run = Check,
      .usage = "check quota NAME --nodes N [--pool-uid UID]",
      .summary = "Says whether a NodePool of N Nodes would be within quota; changes nothing.",
      .details =
          "NAME is ZONE~INSTANCETYPE~CLASS. Where it does not fit, who holds the rest is listed "
          "and\n"
          "the exit code is 1.",
      .flags = {{.name = "nodes", .value = "N", .meaning = "Nodes that the NodePool is to have."},
                {.name = "pool-uid",
                 .value = "UID",
                 .meaning = "An existing NodePool, whose Nodes count already. Default: a new "
                            "one."}}};
}

Command ExplainCommand() {
  return {.name = "explain",
          .run = Explain,
          .usage = "explain nodepool NAME | explain claim UID",
          .summary = "Says why a NodePool is not where it should be, and who must act.",
          .details =
              "What must be mended first stands first. `claim` asks capacity alone; UID is the\n"
              "NodePool's."};
}

Command FindCommand() {
  return {.name = "find",
          .run = Find,
          .usage = "find placements TYPE=NODES[:spot]... [--zone ZONE]...",
          .summary = "Ranks zones by whether these Nodes can be had there now; reserves nothing.",
          .details =
              "All are to be had in one zone; what one takes is not there for the next. Whatever\n"
              "its priority, a new request stands behind all that wait in its class.",
          .flags = {{.name = "zone",
                     .value = "ZONE",
                     .meaning = "Only this zone. May be repeated.",
                     .repeated = true}}};
}

Command TopCommand() {
  return {.name = "top",
          .run = Top,
          .usage = "top [--once] [--interval=1s] [--zone ZONE] [--color WHEN]",
          .summary = "Shows the fleet, quotas, queue and troubled NodePools, live.",
          .details =
              "All organizations, unless --organization is given here. Follows the watches of the "
              "four\n"
              "services, and goes on trying while a server is away. Keys: q ends; j, k, arrows, "
              "page up\n"
              "and down, g, G move in the NodePools. On the map: . free, h held, a assigned, b "
              "booting,\n"
              "r registered, P production, c reconfiguring, T triage, l leaving, s reclaimed from "
              "spot,\n"
              "F boot failed, R in repair, - retired. With --once, --timeout is for all of it.",
          .flags = {{.name = "once", .meaning = "Print one page when all is known, and end."},
                    {.name = "interval",
                     .value = "DURATION",
                     .meaning = "How often it is drawn at most, 100ms to 1h.",
                     .standard = "1s"},
                    {.name = "zone", .value = "ZONE", .meaning = "Only what is in this zone."},
                    {.name = "color",
                     .value = "WHEN",
                     .meaning = "auto, always or never; auto: on a terminal, unless NO_COLOR is "
                                "set.",
                     .standard = "auto"}}};
}

Command WaitCommand() {
  return {
      .name = "wait",
      .run = Wait,
      .usage = "wait nodepool NAME --for=healthy|deleted [--timeout=5m]",
      .summary = "Waits for a NodePool and shows how it gets on.",
      .details =
          "healthy: valid, within quota, capacity sufficient, target met, Nodes up to date, all "
          "for\n"
          "the spec's last generation, and every Node in service (PRODUCTION).\n"
          "Here --timeout is how long to wait in all (default 5m).\n"
          "Goes on while the server is away.",
      .flags = {{.name = "for",
                 .value = "WHAT",
                 .meaning = "healthy or deleted.",
                 .standard = "healthy"}}};
}

constexpr char kReleaseDetails[] =
    "CHANNEL is stable or latest; COMPONENT gpu-driver, ncore-image, kubernetes or kernel. The\n"
    "NodePools that follow are looked at again, and their strategies say what becomes of them.";

std::vector<Command> ConfigurationCommands() {
  return {{.name = "publish",
           .run = Publish,
           .usage = "publish release CHANNEL~COMPONENT~VERSION",
           .summary = "Says that this was released; one that was withdrawn is in force again.",
           .details = kReleaseDetails,
           .flags = {RequestIdFlag()}},
          {.name = "withdraw",
           .run = Withdraw,
           .usage = "withdraw release CHANNEL~COMPONENT~VERSION",
           .summary = "Takes a release back: no NodePool comes to it any more.",
           .details = kReleaseDetails,
           .flags = {RequestIdFlag()}},
          {.name = "promote",
           .run = Promote,
           .usage = "promote nodepool NAME [PROFILE] | promote POOL_UID [PROFILE]",
           .summary = "Makes a NodePool's pending configuration the active one.",
           .details = "With PROFILE only if it is the pending one. Waits while Nodes are in "
                      "delivery.",
           .flags = {RequestIdFlag()}},
          {.name = "rollback",
           .run = Rollback,
           .usage = "rollback nodepool NAME [PROFILE] | rollback POOL_UID [PROFILE]",
           .summary = "Makes a NodePool's former configuration the active one.",
           .details = "Without PROFILE the one that was active before. Waits while Nodes are in\n"
                      "delivery. The one rolled back from is not staged again by itself.",
           .flags = {RequestIdFlag()}},
          {.name = "enable",
           .run = Enable,
           .usage = "enable revision POOL_UID PROFILE",
           .summary = "Lets a revision be booted again that failed too often.",
           .flags = {RequestIdFlag()}}};
}

Command ReconfigureCommand() {
  return {
      .name = "reconfigure",
      .run = Reconfigure,
      .usage = "reconfigure nodepool NAME [--machine M]... [flags]",
      .summary = "Reboots Nodes into the NodePool's active configuration, rack by rack.",
      .details =
          "Nodes that are on it already are left alone. Without --evict-active each Node is "
          "cordoned\n"
          "and rebooted once it is idle. See pause, resume, cancel; `describe nodepool` "
          "shows how far it is.",
      .flags = {{.name = "machine",
                 .value = "M",
                 .meaning = "Only this Node. May be repeated.",
                 .repeated = true},
                {.name = "evict-active", .meaning = "Move work away instead of waiting for it."},
                {.name = "max-unavailable",
                 .value = "N|P%",
                 .meaning = "Most Nodes out of service at once. Default: the NodePool's, or 1."},
                {.name = "allowed-failures",
                 .value = "N",
                 .meaning = "Boots that may fail before it halts.",
                 .standard = "0"},
                DryRunFlag(),
                RequestIdFlag()}};
}

std::vector<Command> OrderCommands() {
  return {ReconfigureCommand(),
          {.name = "pause",
           .run = Pause,
           .usage = "pause reconfiguration NAME",
           .summary = "Reboots no further Node of the NodePool until resumed.",
           .flags = {RequestIdFlag()}},
          {.name = "resume",
           .run = Resume,
           .usage = "resume reconfiguration NAME",
           .summary = "Goes on after a pause or halt; failures until now are forgotten.",
           .flags = {RequestIdFlag()}},
          {.name = "cancel",
           .run = Cancel,
           .usage = "cancel reconfiguration NAME",
           .summary = "Ends reconfigure reboots; Nodes that wait for theirs are let go.",
           .flags = {RequestIdFlag()}},
          {.name = "protect",
           .run = Protect,
           .usage = "protect node POOL/MACHINE --for DURATION",
           .summary = "Keeps a Node from scale-down for a time.",
           .flags = {{.name = "for", .value = "DURATION", .meaning = "How long, e.g. 8h."}}},
          {.name = "unprotect",
           .run = Unprotect,
           .usage = "unprotect node POOL/MACHINE",
           .summary = "Ends a Node's protection.",
           .flags = {RequestIdFlag()}},
          {.name = "reserve",
           .run = Reserve,
           .usage = "reserve node POOL/MACHINE",
           .summary = "Moves a Node to the control plane: drained, replaced, out of service.",
           .flags = {RequestIdFlag()}},
          {.name = "unreserve",
           .run = Unreserve,
           .usage = "unreserve node POOL/MACHINE",
           .summary = "Takes that back, until the Node's drain began.",
           .flags = {RequestIdFlag()}}};
}

std::vector<Command> ClusterCommands() {
  return {
      {.name = "bind",
       .run = Bind,
       .usage = "bind cluster NAME --kubernetes-uid UID [--replaces UID] [--dry-run]",
       .summary = "Says which Kubernetes a cluster is; its adapter serves no other.",
       .details =
           "UID: kubectl get namespace kube-system -o jsonpath={.metadata.uid}. NodePools that "
           "are\n"
           "there already are held against that Kubernetes: where it does not have them they go.",
       .flags = {{.name = "kubernetes-uid", .value = "UID", .meaning = "Of the Kubernetes."},
                 {.name = "replaces",
                  .value = "UID",
                  .meaning = "Of the Kubernetes that it was until now, if it was told."},
                 DryRunFlag(),
                 RequestIdFlag()}},
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
                  .standard = "1h"},
                 DryRunFlag(),
                 RequestIdFlag()}}};
}

}  // namespace

const std::vector<Command>& Commands() {
  static const auto& commands = *new std::vector<Command>([] {
    std::vector<Command> all = {
        GetCommand(),  DescribeCommand(), ApplyCommand(),   ScaleCommand(), DeleteCommand(),
        WaitCommand(), CheckCommand(),    ExplainCommand(), FindCommand(),  TopCommand()};
    for (Command& command : PastCommands()) all.push_back(std::move(command));
    for (Command& command : OrderCommands()) all.push_back(std::move(command));
    for (Command& command : ClusterCommands()) all.push_back(std::move(command));
    for (Command& command : ConfigurationCommands()) all.push_back(std::move(command));
    for (Command& command : ServerCommands()) all.push_back(std::move(command));
    all.push_back({.name = "version",
                   .run = nullptr,
                   .usage = "version",
                   .summary = "Says which musterctl this is."});
    return all;
  }());
  return commands;
}

}  // namespace muster::musterctl
