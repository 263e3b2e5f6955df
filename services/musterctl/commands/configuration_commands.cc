#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/flags.h"

// Releases, and which configuration a NodePool is at, as data.
namespace muster::musterctl {
namespace {

constexpr char kReleaseDetails[] =
    "CHANNEL is stable or latest; COMPONENT gpu-driver, ncore-image, kubernetes or kernel. The\n"
    "NodePools that follow are looked at again, and their strategies say what becomes of them.";

}  // namespace

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

}  // namespace muster::musterctl
