#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/common/mutex.h"
#include "services/common/open_files.h"
#include "services/common/stopper.h"
#include "services/daemon/life.h"
#include "services/musterd/service_part.h"
#include "services/rpc/listener_watch.h"
#include "services/rpc/server.h"

namespace muster::musterd {

// The service name under which health tells whether the process lives, whatever it waits for.
// Whether it is ready is told under "".
inline constexpr char kLive[] = "live";

// File descriptors kept aside for the log, the databases' connections and the check of our own
// listener.
inline constexpr size_t kReservedFiles = 32;

// Finds out whether a process lives and whether it is ready, and tells health, systemd and, when
// its listener is dead, the process itself, by a SIGTERM.
//
// One loop goes through all that hangs when the process does (the locks of its services, the
// threads of gRPC); each turn that ends is a sign of life. The database is not part of it: while it
// is away the process lives, and is not ready. Thread-safe.
class VitalSigns {
 public:
  // A server, and those of its services that are ready when all parts are. The parts themselves are
  // told one by one.
  struct Told {
    rpc::Server* server = nullptr;
    std::vector<std::string> whole = {};
  };
  struct Options {
    std::vector<Told> servers = {};  // the first one is asked whether it answers; all outlive it
    const std::vector<ServicePart>* parts = nullptr;          // outlives it
    std::vector<rpc::ListenerWatch::Options> listeners = {};  // but for on_dead
    daemon::Life::Options life = {};                          // but for on_change
  };

  explicit VitalSigns(Options options);
  // Stop.
  ~VitalSigns() { Stop(); }

  // Tells nobody anything any more, except systemd that the process ends. Does not wait for a
  // service that hangs. Idempotent; to be called from one thread, as Stop is.
  void Silence();
  // The same, and waits until no service is asked any more.
  void Stop();

  // Why it has sent the process a SIGTERM; empty: it has not.
  std::string failure() const;

 private:
  void Run();
  // Tells health of the parts; returns whether all of them are ready.
  bool TellReadiness();
  // Whether the server's threads answer.
  bool Answers();
  // Releases the reserved descriptors when no file can be opened any more. Run takes them again
  // when there is room.
  void LookAtFiles();
  void OnDead(const std::string& what);

  const Options options_;
  FileReserve files_{kReservedFiles};
  Mutex telling_;
  bool silent_ MUSTER_GUARDED_BY(telling_) = false;
  mutable Mutex failure_mutex_;
  std::string failure_ MUSTER_GUARDED_BY(failure_mutex_);
  Stopper stopper_;
  std::unique_ptr<daemon::Life> life_;
  std::vector<std::unique_ptr<rpc::ListenerWatch>> listeners_;
  std::thread thread_;
};

}  // namespace muster::musterd
