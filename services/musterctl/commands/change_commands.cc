#include <utility>

#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/flags.h"

// Commands that bring resources to a state, as data.
namespace muster::musterctl {
namespace {

Command ApplyCommand() {
  return {
      .name = "apply",
      .run = Apply,
      .usage = "apply -f FILE|DIR|- [-R] [--must-fit] [--dry-run[=server|none]]",
      .summary = "Brings resources to what a manifest says.",
      .details =
          "Every document of every file is read and checked before anything is sent. Resources "
          "are\n"
          "sent in the order zones, instance types, machines, quotas, releases, clusters, "
          "NodePools,\n"
          "whatever their order in the files. Kinds of apiVersion muster/v1: Zone, InstanceType,\n"
          "MachineSet, Machine, Quota, Release, Cluster; of compute.coreweave.com/v1alpha1: "
          "NodePool.\n"
          "Of a NodePool that is configured the fields that changed are named.\n"
          "--dry-run has the server check each, and shows what a NodePool would cost in quota, "
          "wait for,\n"
          "lose and reboot; what is needed (its cluster, a machine's zone) must be there by then.",
      .examples =
          "apply -f pool.yaml\n"
          "apply -f pools/ -R --dry-run=server\n"
          "apply -f pool.yaml --must-fit\n"
          "get np train -o yaml | musterctl apply -f -",
      .flags = {FileFlag(), RecursiveFlag(), MustFitFlag(), DryRunFlag()}};
}

Command ScaleCommand() {
  return {.name = "scale",
          .run = Scale,
          .usage = "scale nodepool/NAME... --replicas N | --remove MACHINE... [--dry-run]",
          .summary = "Sets a NodePool's targetNodes, and may name the Nodes that are to go.",
          .details =
              "With --remove alone the target falls by those of the Nodes named that would "
              "otherwise\n"
              "stay or be replaced. Under IdleOnly one that has work goes once it is idle, and no\n"
              "other in its place.",
          .examples =
              "scale nodepool/train --replicas=5\n"
              "scale nodepool train --nodes 5 --dry-run\n"
              "scale np/train --remove g1a2b3c",
          .flags = {{.name = "nodes",
                     .value = "N",
                     .meaning = "Nodes wanted, 0 to 100000.",
                     .is_never_empty = true},
                    {.name = "replicas",
                     .value = "N",
                     .meaning = "The same, in kubectl's word.",
                     .is_never_empty = true},
                    {.name = "remove",
                     .value = "MACHINE",
                     .meaning = "Node that is to go first. May be repeated.",
                     .repeated = true},
                    MustFitFlag(),
                    DryRunFlag(),
                    RequestIdFlag()}};
}

constexpr char kDeleteDetails[] =
    "A NodePool disappears once its Nodes are drained and gone; --wait=false does not wait for "
    "that.\n"
    "Quotas, clusters, zones, instance types, machines (`set-state ... retired` first) and\n"
    "withdrawn releases go by KIND/NAME;\n"
    "what is still used is refused with the reason, but for quotas: nothing grows without.\n"
    "Deleting what is not there is an error unless --ignore-not-found. A quota's NAME is\n"
    "ZONE~INSTANCETYPE~CLASS. --timeout is how long to wait for a NodePool, as --wait-timeout.\n"
    "-f takes what `apply -f` takes: NodePools first, and once they are gone what they need: "
    "clusters,\n"
    "releases, quotas, machines (each of a MachineSet), zones, instance types. --dry-run tries "
    "each by\n"
    "itself: of what is in use because of what goes before it here, it says so.";

Command DeleteCommand() {
  return {.name = "delete",
          .run = Delete,
          .usage = "delete KIND/NAME... | KIND NAME... | nodepools --all|-l SELECTOR | -f FILE",
          .summary = "Deletes NodePools, and waits until they are gone, and what else was made.",
          .details = kDeleteDetails,
          .examples =
              "delete nodepool/train nodepool/eval\n"
              "delete np -l team=ml --wait=false\n"
              "delete -f pools/ -R --ignore-not-found\n"
              "delete zone/US-EAST-04A --dry-run",
          .flags = {
              FileFlag(),
              RecursiveFlag(),
              {.name = "all",
               .meaning = "All NodePools of the cluster, or all quotas of the organization."},
              SelectorFlag(),
              DryRunFlag(),
              {.name = "wait",
               .meaning = "Wait until the NodePools are gone. Default: so; --wait=false: do not."},
              {.name = "wait-timeout",
               .value = "DURATION",
               .meaning = "How long to wait for a NodePool to be gone.",
               .standard = "20m"},
              {.name = "ignore-not-found", .meaning = "Succeed when there is nothing to delete."},
              RequestIdFlag()}};
}

Command EditCommand() {
  return {.name = "edit",
          .run = Edit,
          .usage = "edit KIND/NAME [--must-fit] [--dry-run]",
          .summary = "Opens a resource in your editor, and applies what you changed.",
          .details =
              "The editor: $MUSTER_EDITOR, else $EDITOR, else vi. Where it is refused, or somebody "
              "else changed it\n"
              "meanwhile, your file is kept and named. Of a NodePool only the fields that you "
              "changed are written,\n"
              "and only others' changes of the same fields are in your way.",
          .examples =
              "edit nodepool/train\n"
              "edit nodepool/train --dry-run",
          .flags = {MustFitFlag(), DryRunFlag()}};
}

Command PatchCommand() {
  return {.name = "patch",
          .run = Patch,
          .usage = "patch KIND/NAME... -p JSON [--type merge|json] [--must-fit] [--dry-run]",
          .summary = "Changes fields of a resource, and nothing else of it.",
          .details =
              "Read, changed, and written if nobody else changed it meanwhile; else again. Of a "
              "NodePool only\n"
              "the changed fields are written.",
          .examples =
              "patch nodepool/train -p '{\"spec\":{\"nodeLabels\":{\"team\":\"ml\"}}}'\n"
              "patch np/train --type json -p "
              "'[{\"op\":\"remove\",\"path\":\"/spec/nodeTaints\"}]'",
          .flags = {{.name = "patch", .letter = 'p', .value = "JSON", .meaning = "The patch."},
                    {.name = "patch-file",
                     .value = "FILE",
                     .meaning = "File with the patch, `-` for standard input."},
                    {.name = "type",
                     .value = "TYPE",
                     .meaning = "merge (RFC 7386) or json (RFC 6902).",
                     .standard = "merge"},
                    MustFitFlag(),
                    DryRunFlag()}};
}

Command RolloutCommand() {
  return {
      .name = "rollout",
      .run = Rollout,
      .usage = "rollout status|history|undo|pause|resume nodepool/NAME... [--dry-run]",
      .summary = "Follows and steers how a NodePool's Nodes come to its configuration.",
      .details =
          "status: until the reconfiguration that was last asked for is over; exit code 1 when "
          "it halted, or Nodes\n"
          "are left and nothing is under way for them, as when it was cancelled or the "
          "configuration is disabled;\n"
          "0 when all are up to date, however it ended, or when those are that it was of "
          "(--machine).\n"
          "history: the configurations that it had. undo: back to an earlier one (rollback).\n"
          "To begin one: reconfigure; to take a pending configuration: promote.\n"
          "--dry-run is of undo, pause and resume.",
      .examples =
          "rollout status nodepool/train --timeout=1h\n"
          "rollout history np/train\n"
          "rollout undo np/train --to-revision=2 --dry-run",
      .flags = {{.name = "watch",
                 .letter = 'w',
                 .meaning = "Of status: until it is over. Default: so; --watch=false: once."},
                {.name = "to-revision",
                 .value = "N|PROFILE",
                 .meaning = "Of undo: to this one of history. Default: the newest earlier one "
                            "that is neither disabled nor withdrawn. With --request-id a PROFILE: "
                            "numbers move.",
                 .is_never_empty = true},
                NoHeadersFlag(),
                DryRunFlag(),
                RequestIdFlag()}};
}

}  // namespace

std::vector<Command> ChangeCommands() {
  return {ApplyCommand(), EditCommand(),    PatchCommand(),
          ScaleCommand(), RolloutCommand(), DeleteCommand()};
}

}  // namespace muster::musterctl
