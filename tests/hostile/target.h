#pragma once

#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/integration/mini_muster.h"

// One large attack on a whole server, what it cost, and what others noticed.
namespace muster::testing {

// The bounds of an attack. Memory: 64 MiB, and twice the bytes of all requests that are under way
// at once (as they came, and in one piece to be parsed). CPU: 0.1 s a request, and 0.4 s a second
// for what the server does anyway, neighbours' calls included.
struct Load {
  int requests = 1;  // of 1 MiB each
  int at_once = 1;
  int64_t bytes = 0;        // further memory
  absl::Duration cpu = {};  // further CPU
};

class Target {
 public:
  explicit Target(MiniMuster& muster) : muster_(muster) {}
  MiniMuster& muster() { return muster_; }

  // Adds the complaint `what` unless `holds`.
  void Expect(bool holds, const std::string& what) {
    if (!holds) complaints_.push_back(what);
  }
  // Adds what another program than musterd cost; the table then shows this instead.
  void Charge(int64_t bytes, absl::Duration cpu) {
    charged_ = true;
    bytes_ = std::max(bytes_, bytes);
    cpu_ += cpu;
  }

  bool charged() const { return charged_; }
  int64_t bytes() const { return bytes_; }
  absl::Duration cpu() const { return cpu_; }
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  MiniMuster& muster_;
  std::vector<std::string> complaints_;
  bool charged_ = false;
  int64_t bytes_ = 0;
  absl::Duration cpu_ = {};
};

struct Attack {
  std::string row = {};  // of the review of hostile clients
  std::string what = {};
  std::string before = {};  // what the review found of it; empty: it did not try it so
  Load load = {};
  std::function<void(Target&)> run = {};
  MiniMuster::Options muster = {.audit_books = false};
  // Brings the Muster into the state in which the attack begins; null: nothing to do.
  std::function<void(MiniMuster&)> prepare = {};
  // It takes away what all need (the database, the files): neighbours may fail, health may say so.
  bool outage = false;
};

// attacks_requests.cc, attacks_state.cc, attacks_watches.cc, attacks_names.cc, attacks_outside.cc,
// attacks_floods.cc
std::vector<Attack> RequestAttacks();
std::vector<Attack> StateAttacks();
std::vector<Attack> WatchAttacks();
std::vector<Attack> NameAttacks();
std::vector<Attack> OutsideAttacks();
std::vector<Attack> FloodAttacks();

// Registers the machines `h{begin}` and so on, `count` of them, in zone RNO2A, each at `slot` of
// its rack. Throws if that is refused.
void RegisterMachines(const MiniMuster& muster, int begin, int count, int slot);

// A channel with a connection of its own: on one that it shared with an attack a call would wait
// behind the attack's bytes, and would not notice a dead listener. With tls it shows the
// certificate `ci`. `own`: further arguments.
std::shared_ptr<grpc::Channel> OwnChannel(const MiniMuster& muster,
                                          grpc::ChannelArguments own = {});

// `call(i)` for each i below `count`, all at once; returns when all are done.
void AtOnce(int count, const std::function<void(int)>& call);

}  // namespace muster::testing
