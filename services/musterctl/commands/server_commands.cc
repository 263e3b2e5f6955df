#include <vector>

#include "services/musterctl/commands/args.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/flags.h"

// What is about servers, not about what they keep. As data, as in command_table.cc.
namespace muster::musterctl {
namespace {

Flag OperatorServerFlag() {
  return {.name = "operator-server",
          .value = "HOST:PORT",
          .meaning = "Where the operators' listener is.",
          .standard = "127.0.0.1:7603",
          .variable = "MUSTER_OPERATOR_SERVER"};
}

Command AuthCommand() {
  return {.name = "auth",
          .run = Auth,
          .usage = "auth whoami | auth can-i METHOD [RESOURCE]",
          .summary = "Who you are to the server, and what its policy lets you do.",
          .details =
              "METHOD: of the API, e.g. ApplyNodePool. RESOURCE: its full name, e.g.\n"
              "organizations/acme/clusters/c1/nodePools/train; needed where the method is about "
              "one.\n"
              "can-i: exit code 1 when you may not.",
          .examples =
              "auth whoami\n"
              "auth can-i ApplyNodePool organizations/acme/clusters/c1/nodePools/train"};
}

Command DebugCommand() {
  return {.name = "debug",
          .run = Debug,
          .usage =
              "debug compare | debug audit [--settle DURATION] [-o wide] | debug log-level [LEVEL]",
          .summary = "A server's memory, tables and journal; the books of the services; its log.",
          .details =
              "compare: one line a service of the server, and one a difference.\n"
              "audit: pools, Nodes, charges, machines and configurations side by side, then a "
              "line for\n"
              "each that differs. What is on its way does not count.\n"
              "log-level: what this one server logs; with debug, info, warning or error: from now "
              "on.\n"
              "All ask the server's operators' listener (musterd --operator_listen).\n"
              "Exit code 1 when anything differs.",
          .examples =
              "debug compare\n"
              "debug audit --settle=10s\n"
              "debug log-level debug",
          .flags = {{.name = "settle",
                     .value = "DURATION",
                     .meaning = "How long a difference must stand, up to 60s. Default: 5s."},
                    WideFlag(),
                    OperatorServerFlag()}};
}

Command ConfigCommand() {
  return {
      .name = "config",
      .run = Config,
      .usage =
          "config get-contexts | use-context NAME[,NAME...] | set-context NAME [FLAG ...] | "
          "delete-context NAME",
      .summary = "Keeps servers by name, with what they are called by.",
      .details =
          "A context is what --server, --operator-server, --organization, --cluster and the "
          "files of TLS or\n"
          "of a token say when it is set; an empty value takes one out. They are kept in "
          "$MUSTER_CONFIG, or\n"
          "muster/config.yaml below $XDG_CONFIG_HOME or ~/.config, which names files of secrets "
          "and holds none.\n"
          "Where no context is the current one, that which is set becomes it.\n"
          "What counts, most first: flags, --context, environment, the current context; a token "
          "and a\n"
          "certificate are one choice, so that who says the one takes back the other.\n"
          "Several with commas between are cells, asked at the same time and read as one: get,\n"
          "describe, events, find and history say of each thing its CELL, diff is of the cell "
          "that has it,\n"
          "and top names the cells above the page. What one does not answer is an error\n"
          "beside what others say, and exit code 1. A change goes to the cell that has what\n"
          "is changed (a NodePool's has its cluster, a cluster's, machine's and quota's its\n"
          "zone); releases and instance types go to all by publish, withdraw, apply and\n"
          "delete. An edit or patch is of one cell, and what is of one cell (a revision,\n"
          "check, auth, debug, version) is refused. See deploy/cells.md.",
      .examples =
          "config set-context lab --server=lab.example.org:7600 --cluster=c1\n"
          "config use-context lab\n"
          "config use-context east,west\n"
          "config get-contexts",
      .flags = {OperatorServerFlag()},
      .is_offline = true};
}

Command ApiResourcesCommand() {
  return {.name = "api-resources",
          .run = ApiResources,
          .usage = "api-resources [-o wide|name]",
          .summary = "Lists the kinds of resources.",
          .examples = "api-resources -o wide",
          .flags = {OutputFlag({"wide", "name"}, "wide or name."), NoHeadersFlag()},
          .is_offline = true};
}

Command CompletionCommand() {
  return {
      .name = "completion",
      .run = Completion,
      .usage = "completion bash|zsh|fish",
      .summary = "Prints a script that completes commands, flags, and names that the server tells.",
      .details =
          "bash, in ~/.bashrc: source <(musterctl completion bash); zsh, in ~/.zshrc:\n"
          "source <(musterctl completion zsh); fish: musterctl completion fish | source.",
      .examples =
          "completion bash > ~/.local/share/bash-completion/completions/musterctl\n"
          "completion fish | source",
      .is_offline = true};
}

Command VersionCommand() {
  return {.name = "version",
          .run = Version,
          .usage = "version [--client]",
          .summary = "Says which musterctl this is, and whether a server answers.",
          .examples = "version --client",
          .flags = {{.name = "client", .meaning = "Ask no server."}}};
}

}  // namespace

std::vector<Command> ServerCommands() {
  return {AuthCommand(),
          DebugCommand(),
          ConfigCommand(),
          ApiResourcesCommand(),
          CompletionCommand(),
          VersionCommand(),
          {.name = "__complete",
           .run = CompleteWords,
           .usage = "__complete -- WORDS",
           .is_hidden = true}};
}

}  // namespace muster::musterctl
