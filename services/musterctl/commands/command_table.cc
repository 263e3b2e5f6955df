#include <utility>

#include "services/musterctl/commands/args.h"
#include "services/musterctl/commands/commands.h"

// What musterctl can do, as data: the parser, the help and Run read it.
namespace muster::musterctl {

const std::vector<Command>& Commands() {
  static const auto& commands = *new std::vector<Command>([] {
    std::vector<Command> all;
    for (const auto part : {ReadCommands, ChangeCommands, PastCommands, OrderCommands,
                            ConfigurationCommands, ServerCommands}) {
      for (Command& command : part()) all.push_back(std::move(command));
    }
    return all;
  }());
  return commands;
}

}  // namespace muster::musterctl
