#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/posix_terminal.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const muster::SystemClock clock;
  muster::musterctl::PosixTerminal terminal(0, 1);
  muster::musterctl::ProcessEnv env{
      .in = std::cin,
      .out = std::cout,
      .err = std::cerr,
      .environment = [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        if (value == nullptr) return std::nullopt;
        return value;
      },
      .clock = clock,
      .steady = *muster::TheSteadyClock(),
      .sleep = absl::SleepFor,
      .terminal = terminal.exists() ? &terminal : nullptr,
      .progress = isatty(STDERR_FILENO) == 1 ? &std::cerr : nullptr,
      // The user's own editor, in the words of the user's environment.
      .execute =
          [](const std::string& command) {
            const int status =
                std::system(command.c_str());  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
            if (status == -1) return status;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
          }};
  return muster::musterctl::Run(args, env);
}
