#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/musterctl/commands/args.h"

// Flags that several commands take.
namespace muster::musterctl {

// `formats`: those that the command has; `meaning` says so.
inline Flag OutputFlag(std::vector<std::string> formats, std::string meaning) {
  return {.name = "output",
          .letter = 'o',
          .value = "FORMAT",
          .meaning = std::move(meaning),
          .offered = std::move(formats)};
}

inline Flag OutputFlag() {
  return OutputFlag({"wide", "json", "yaml", "name", "jsonpath=", "custom-columns="},
                    "wide, json, yaml, name, jsonpath=TEMPLATE or "
                    "custom-columns=HEADER:PATH,...; a table when not given.");
}

// Of commands whose tables have no other format.
inline Flag WideFlag() {
  return OutputFlag({"wide"}, "wide: tables that are not cut to the terminal.");
}

inline Flag FileFlag() {
  return {.name = "filename",
          .letter = 'f',
          .value = "FILE",
          .meaning =
              "Manifest to read, or a folder of them (*.yaml, *.yml, *.json), `-` for "
              "standard input. May be repeated.",
          .repeated = true};
}

inline Flag RecursiveFlag() {
  return {.name = "recursive", .letter = 'R', .meaning = "Of folders, also the folders in them."};
}

inline Flag DryRunFlag() {
  return {.name = "dry-run",
          .meaning = "Change nothing; say what would come of it. The server is asked.",
          .words = {"server"}};
}

inline Flag MustFitFlag() {
  return {.name = "must-fit",
          .meaning = "Of NodePools: only if quota covers it now; else it is refused."};
}

inline Flag RequestIdFlag() {
  return {.name = "request-id",
          .value = "ID",
          .meaning =
              "Name of this order, up to 64 printable characters: given again within a day, "
              "the same order is done once. Default: a random one.",
          .is_never_empty = true};
}

inline Flag SelectorFlag() {
  return {.name = "selector",
          .letter = 'l',
          .value = "SELECTOR",
          .meaning =
              "Only those with these labels (of NodePools nodeLabels): k=v, k!=v, k in "
              "(a,b), k notin (a), k, !k, with commas between."};
}

inline Flag FieldSelectorFlag() {
  return {.name = "field-selector",
          .value = "SELECTOR",
          .meaning =
              "Only those with these fields: PATH=VALUE, PATH!=VALUE, with commas between; "
              "any field of -o json."};
}

inline Flag AllClustersFlag() {
  return {.name = "all-clusters",
          .letter = 'A',
          .meaning = "Of all clusters: of all organizations, or with --organization of that one."};
}

inline Flag NoHeadersFlag() { return {.name = "no-headers", .meaning = "Tables without headers."}; }

inline Flag WatchFlag() {
  return {.name = "watch",
          .letter = 'w',
          .meaning =
              "Go on with every change, until interrupted. Ends when no server answers "
              "within --timeout at first; reconnects later. Of several cells each by itself."};
}

}  // namespace muster::musterctl
