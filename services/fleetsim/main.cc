#include <csignal>
#include <iostream>
#include <thread>

#include "services/common/log.h"
#include "services/fleetsim/flags.h"

int main(int argc, char** argv) {
  const auto options = muster::fleetsim::MakeOptions(muster::fleetsim::ParseFlags(argc, argv));
  if (!options.ok()) {
    std::cerr << "error: " << options.status().message() << "\n";
    return 2;
  }
  // Blocked in every thread from here on: only sigwait sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const muster::SystemClock clock;
  muster::fleetsim::Agent agent(*options, clock);
  muster::log::Info("fleetsim runs", {{"server", options->server}, {"seed", options->fleet.seed}});
  std::thread runner([&agent] { agent.Run(); });
  int signal = 0;
  sigwait(&signals, &signal);
  agent.Stop();
  runner.join();

  const muster::fleetsim::AgentStats stats = agent.stats();
  muster::log::Info("fleetsim stopped", {{"nodes", agent.nodes()},
                                         {"accepted", stats.accepted},
                                         {"refused", stats.refused},
                                         {"lost", stats.lost},
                                         {"streams", stats.streams},
                                         {"registered", stats.registered}});
  return 0;
}
