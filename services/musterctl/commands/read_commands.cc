#include <utility>

#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/flags.h"

// Commands that look and change nothing, as data.
namespace muster::musterctl {
namespace {

Flag OfMachines(std::string name, std::string value, const std::string& which) {
  return {.name = std::move(name),
          .value = std::move(value),
          .meaning = "Only machines " + which + ".",
          .is_never_empty = true};
}

constexpr char kGetDetails[] =
    "KIND: nodepools (np), nodes, events, clusters, holdings, quotas, zones, instancetypes,\n"
    "machines, claims, releases, configurations, profiles; singular forms too. NAME is the id,\n"
    "without its path, or the whole resource name; of a Node POOL/MACHINE or MACHINE, of a\n"
    "configuration the NodePool's uid, of a holding QUOTA/UID. What -o name prints every command "
    "takes.\n"
    "TEMPLATE is kubectl's JSONPath: {.spec.x}, [0], [*], ['key'], ..name, [?(@.a==\"b\")],\n"
    "{range .items[*]}{.metadata.name}{\"\\n\"}{end}. Tables fit the terminal, except with -o\n"
    "wide; long lists are printed as they come.";
constexpr char kGetExamples[] =
    "get np\n"
    "get nodepool/train -o yaml\n"
    "get nodes -l topology.kubernetes.io/zone=US-EAST-04A --sort-by=.status.stateTime\n"
    "get nodes --field-selector status.state!=PRODUCTION --no-headers\n"
    "get np -A -o custom-columns=NAME:.metadata.name,WANTED:.spec.targetNodes\n"
    "get np train -o jsonpath='{.status.conditions[?(@.type==\"Quota\")].reason}'";

Command GetCommand() {
  return {
      .name = "get",
      .run = Get,
      .usage = "get KIND [NAME...] | KIND/NAME... | KIND,KIND [flags]",
      .summary = "Shows resources.",
      .details = kGetDetails,
      .examples = kGetExamples,
      .flags = {
          OutputFlag(),
          WatchFlag(),
          AllClustersFlag(),
          SelectorFlag(),
          FieldSelectorFlag(),
          {.name = "sort-by",
           .value = "PATH",
           .meaning = "In the order of this field, e.g. .spec.targetNodes."},
          NoHeadersFlag(),
          {.name = "show-labels", .meaning = "Tables with a column of labels."},
          {.name = "ignore-not-found", .meaning = "Succeed where a NAME does not exist."},
          {.name = "at",
           .value = "WHEN",
           .meaning =
               "As it was then: how long ago (1h), a time (2026-11-26T09:00:00Z) or a "
               "revision (of one cell). A Node's NAME is POOL/MACHINE then; lists are of clusters, "
               "NodePools, Nodes, quotas and holdings. Ages are as of that time; of a revision, "
               "as of now.",
           .is_never_empty = true},
          {.name = "nodepool",
           .value = "NAME",
           .meaning = "Only Nodes or events of this NodePool.",
           .is_never_empty = true},
          OfMachines("zone", "ZONE", "in this zone"),
          OfMachines("instance-type", "TYPE", "of this instance type"),
          OfMachines("state", "STATE", "in this state: free, held, reclaiming, in_repair, retired"),
          OfMachines("claim", "UID", "held by this claim")}};
}

Command DescribeCommand() {
  return {.name = "describe",
          .run = Describe,
          .usage = "describe KIND [NAME...] | KIND/NAME... [-o wide|--all] [-l SELECTOR]",
          .summary = "Shows resources in full; NodePools and Nodes with their events.",
          .details =
              "A healthy new NodePool reads as in the API reference. Its nodeProfile and revisions "
              "are shown\n"
              "as soon as a configuration was staged after the first, waits or is disabled; with "
              "-o wide or\n"
              "--all always, and a reconfiguration that is over, too.",
          .examples =
              "describe nodepool train\n"
              "describe node/train/g1a2b3c\n"
              "describe quotas",
          .flags = {OutputFlag({"wide"}, "wide: all of a NodePool, as above."),
                    {.name = "all", .meaning = "The same as -o wide."},
                    SelectorFlag()}};
}

Command EventsCommand() {
  return {
      .name = "events",
      .run = Events,
      .usage = "events [--for nodepool/NAME|node/POOL/MACHINE] [--types TYPE] [--since WHEN]",
      .summary = "Shows events, the newest last.",
      .details = "--for of a NodePool: about it and its Nodes, also when it is gone.",
      .examples =
          "events --for nodepool/train --types Warning --since 1h\n"
          "events -w",
      .flags = {
          {.name = "for",
           .value = "KIND/NAME",
           .meaning = "Only those about this.",
           .is_never_empty = true},
          {.name = "types", .value = "TYPE[,TYPE]", .meaning = "Only Normal or only Warning ones."},
          {.name = "since",
           .value = "WHEN",
           .meaning = "Only those that happened since: how long ago (1h), or a time.",
           .is_never_empty = true},
          OutputFlag(),
          WatchFlag(),
          AllClustersFlag(),
          NoHeadersFlag()}};
}

Command WaitCommand() {
  return {
      .name = "wait",
      .run = Wait,
      .usage = "wait KIND/NAME... | nodepools --all|-l SELECTOR [--for=WHAT] [--timeout=5m]",
      .summary = "Waits for NodePools, or anything else, and shows how they get on.",
      .details =
          "healthy, of NodePools: Ready for the spec's last generation, and every Node in service "
          "(PRODUCTION).\n"
          "deleted: gone. As kubectl has it: condition=TYPE[=STATUS], delete, create, "
          "jsonpath={.path}[=VALUE]; what is missing goes to stderr then.\n"
          "Here --timeout is how long to wait in all (default 5m; 0: look once; below 0: a week).\n"
          "Goes on while the server is away; of several cells, one that may have it.",
      .examples =
          "wait nodepool train --for=healthy\n"
          "wait np/train np/eval --for=condition=AtTarget --timeout=10m\n"
          "wait nodepool/train --for=jsonpath='{.status.currentNodes}'=5",
      .flags = {{.name = "for",
                 .value = "WHAT",
                 .meaning = "healthy, deleted, condition=TYPE[=STATUS], delete, create or "
                            "jsonpath={.path}[=VALUE].",
                 .standard = "healthy"},
                {.name = "all", .meaning = "For all of the kind in the cluster."},
                SelectorFlag()}};
}

Command ExplainCommand() {
  return {
      .name = "explain",
      .run = Explain,
      .usage = "explain nodepool/NAME [-o wide] | explain claim/UID | explain KIND[.FIELD...]",
      .summary = "Says why a NodePool is not where it should be, or what a field means.",
      .details =
          "Of a NodePool: what must be mended first stands first, and who must act. `claim` asks\n"
          "capacity alone; UID is the NodePool's. Of KIND.FIELD: as the API says it.",
      .examples =
          "explain nodepool/train\n"
          "explain nodepool.spec.lifecycle\n"
          "explain nodepool --recursive",
      .flags = {{.name = "recursive", .meaning = "Of fields: all below, without their meaning."},
                WideFlag()}};
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
      .examples = "check quota US-EAST-04A~gd-8xh100ib-i128~default --nodes=16",
      .flags = {{.name = "nodes", .value = "N", .meaning = "Nodes that the NodePool is to have."},
                {.name = "pool-uid",
                 .value = "UID",
                 .meaning = "An existing NodePool, whose Nodes count already. Default: a new "
                            "one.",
                 .is_never_empty = true}}};
}

Command PlacementsCommand() {
  return {
      .name = "find",
      .run = Find,
      .usage =
          "find placements TYPE=NODES[:spot]... [--zone ZONE]... [-o yaml | --apply --name NAME "
          "[--must-fit]]",
      .summary = "Ranks zones by whether these Nodes can be had there now; reserves nothing.",
      .details =
          "All are to be had in one zone; what one takes is not there for the next. Whatever\n"
          "its priority, a new request stands behind all that wait in its class. Of several cells "
          "all\n"
          "zones are ranked.\n"
          "-o yaml writes the manifest of the NodePool that the recommended zone would have, with "
          "a\n"
          "cluster where --cluster says one; --apply makes it. The cluster must be in that zone. "
          "Of "
          "spot its\n"
          "computeClass is filled in; its Nodes bear the label compute.coreweave.com/compute-class "
          "by themselves.",
      .examples =
          "find placements gd-8xh100ib-i128=4\n"
          "find placements gd-8xa100-i128=8:spot -o yaml --name batch > pool.yaml\n"
          "find placements gd-8xa100-i128=8:spot --zone RNO2A --apply --name batch",
      .flags = {{.name = "zone",
                 .value = "ZONE",
                 .meaning = "Only this zone. May be repeated.",
                 .repeated = true},
                OutputFlag({"yaml", "json"}, "yaml or json: the manifest."),
                {.name = "name",
                 .value = "NAME",
                 .meaning = "Of the NodePool; of further ones NAME-2, ... Default: by its type, "
                            "of further ones of that TYPE-2, ..."},
                {.name = "labels", .value = "K=V,...", .meaning = "nodeLabels of the NodePool."},
                {.name = "apply", .meaning = "Make it; needs --name."},
                MustFitFlag(),
                DryRunFlag()}};
}

Command TopCommand() {
  return {
      .name = "top",
      .run = Top,
      .usage = "top [--once] [--interval=1s] [--zone ZONE] [--color WHEN]",
      .summary = "Shows the fleet, quotas, queue and troubled NodePools, live.",
      .details =
          "All organizations, unless --organization is given here. Follows the watches of the "
          "four\n"
          "services, of several cells those of each, and goes on trying while a server is away.\n"
          "Keys: q ends; j, k, arrows, page up and down, g, G move in the NodePools. On the map:\n"
          ". free, h held, a assigned, b booting, r registered, P production, c reconfiguring,\n"
          "T triage, l leaving, s reclaimed from spot, F boot failed, R in repair, - retired.\n"
          "With --once, --timeout is for all of it; cells that are not known by then are named.",
      .examples =
          "top --zone US-EAST-04A\n"
          "top --once --color=never",
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

}  // namespace

std::vector<Command> ReadCommands() {
  return {GetCommand(),     DescribeCommand(), EventsCommand(),     WaitCommand(),
          ExplainCommand(), CheckCommand(),    PlacementsCommand(), TopCommand()};
}

}  // namespace muster::musterctl
