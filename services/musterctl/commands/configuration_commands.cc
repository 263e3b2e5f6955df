#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/flags.h"

// Releases, and which configuration a NodePool is at, as data.
namespace muster::musterctl {
namespace {

constexpr char kReleaseDetails[] =
    "CHANNEL is stable or latest; COMPONENT gpu-driver, ncore-image, kubernetes or kernel. The\n"
    "NodePools that follow are looked at again, and their strategies say what becomes of them.";

constexpr char kPromoteDetails[] =
    "With PROFILE only if it is the pending one. Waits while Nodes are in delivery. After\n"
    "`nodepool NAME` a second word is PROFILE.";
constexpr char kRollbackDetails[] =
    "Without PROFILE the newest that was active before and is neither disabled nor has a part\n"
    "that was withdrawn. Waits while Nodes are in delivery. The one rolled back from is not\n"
    "staged again by itself. After `nodepool NAME` a second word is PROFILE.";

}  // namespace

std::vector<Command> ConfigurationCommands() {
  return {{.name = "publish",
           .run = Publish,
           .usage = "publish release CHANNEL~COMPONENT~VERSION... | release/... [--dry-run]",
           .summary = "Says that this was released; one that was withdrawn is in force again.",
           .details = kReleaseDetails,
           .examples = "publish release stable~gpu-driver~580.65.06\n"
                       "publish release/latest~kubernetes~1.34 --dry-run",
           .flags = {DryRunFlag(), RequestIdFlag()}},
          {.name = "withdraw",
           .run = Withdraw,
           .usage = "withdraw release CHANNEL~COMPONENT~VERSION... | release/... [--dry-run]",
           .summary = "Takes a release back: no NodePool comes to it by itself any more.",
           .details = kReleaseDetails,
           .examples = "withdraw release stable~gpu-driver~580.65.06",
           .flags = {DryRunFlag(), RequestIdFlag()}},
          {.name = "promote",
           .run = Promote,
           .usage = "promote nodepool/NAME... [PROFILE] | promote POOL_UID [PROFILE]",
           .summary = "Makes a NodePool's pending configuration the active one.",
           .details = kPromoteDetails,
           .examples = "promote nodepool/train nodepool/eval --dry-run\n"
                       "promote nodepool train np-0123456789ab",
           .flags = {DryRunFlag(), RequestIdFlag()}},
          {.name = "rollback",
           .run = Rollback,
           .usage = "rollback nodepool/NAME... [PROFILE] | rollback POOL_UID [PROFILE]",
           .summary = "Makes a NodePool's former configuration the active one.",
           .details = kRollbackDetails,
           .examples = "rollback nodepool/train\n"
                       "rollback nodepool/train np-0123456789ab --dry-run",
           .flags = {DryRunFlag(), RequestIdFlag()}},
          {.name = "enable",
           .run = Enable,
           .usage = "enable revision nodepool/NAME... PROFILE | enable revision POOL_UID PROFILE",
           .summary = "Lets a revision be booted again that failed too often.",
           .examples = "enable revision nodepool/train np-0123456789ab",
           .flags = {DryRunFlag(), RequestIdFlag()}}};
}

}  // namespace muster::musterctl
