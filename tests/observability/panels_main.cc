// muster_panels ADDRESS [INTERVAL]: asks a Prometheus every query of every panel, and whether its
// rules work; prints a table. Exit code 1: something has no data, or does not work.
#include <iostream>

#include "tests/observability/panels.h"

int main(int argc, char** argv) {
  using namespace muster::testing;  // NOLINT(google-build-using-namespace): a main
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: muster_panels ADDRESS [INTERVAL], e.g. 127.0.0.1:7604 1m\n";
    return 2;
  }
  try {
    const Prometheus prometheus(argv[1]);
    const auto answers =
        AskAll(Dashboards(MUSTER_SOURCE_DIR "/deploy/observability/dashboards.yaml"), prometheus,
               argc == 3 ? argv[2] : "1m");
    std::cout << TableOf(answers);
    int faults = 0;
    for (const PanelAnswer& entry : answers) faults += entry.has_data() ? 0 : 1;
    for (const std::string& rule : prometheus.BrokenRules()) {
      std::cout << "rule " << rule << "\n";
      ++faults;
    }
    std::cout << answers.size() << " queries, " << faults << " faults\n";
    return faults == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
