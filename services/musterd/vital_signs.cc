#include "services/musterd/vital_signs.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/log.h"
#include "services/rpc/client/health.h"

namespace muster::musterd {
namespace {

// How often health is told what the lanes know; together with the lanes' poll of 1 s readiness
// follows Postgres within 5 s.
constexpr absl::Duration kTurn = absl::Milliseconds(250);
// How often, in turns, the server is asked whether it answers, and how long it may take. It is also
// how often the reserve of files is taken again.
constexpr int kTurnsBetweenCalls = 20;
constexpr absl::Duration kAnswerPatience = absl::Seconds(10);

}  // namespace

VitalSigns::VitalSigns(Options options) : options_(std::move(options)) {
  daemon::Life::Options life = options_.life;
  life.on_change = [this](bool alive) {
    for (const Told& told : options_.servers) told.server->SetServing(kLive, alive);
  };
  life_ = std::make_unique<daemon::Life>(std::move(life));
  for (rpc::ListenerWatch::Options listener : options_.listeners) {
    listener.on_dead = [this](const std::string& what) { OnDead(what); };
    listeners_.push_back(std::make_unique<rpc::ListenerWatch>(std::move(listener)));
  }
  thread_ = std::thread([this] { Run(); });
}

void VitalSigns::Silence() {
  if (stopper_.stopped()) return;
  stopper_.Stop();
  {
    MutexLock lock(telling_);
    silent_ = true;
  }
  listeners_.clear();
  life_->Stop();
}

void VitalSigns::Stop() {
  Silence();
  if (thread_.joinable()) thread_.join();
}

void VitalSigns::Run() {
  int turns = 0;
  bool answers = true;
  do {
    LookAtFiles();
    const bool ready = TellReadiness();
    if (turns++ % kTurnsBetweenCalls == 0) {
      answers = Answers();
      files_.Refill();
    }
    if (answers) life_->Beat(ready);
  } while (stopper_.Sleep(kTurn));
}

bool VitalSigns::TellReadiness() {
  std::vector<bool> ready;
  for (const ServicePart& part : *options_.parts) ready.push_back(part.ready());
  const bool all = std::find(ready.begin(), ready.end(), false) == ready.end();
  MutexLock lock(telling_);
  if (silent_) return all;
  for (const Told& told : options_.servers) {
    for (size_t i = 0; i < ready.size(); ++i)
      told.server->SetServing((*options_.parts)[i].rpc.name, ready[i]);
  }
  for (const Told& told : options_.servers) {
    told.server->SetServing("", all);
    for (const std::string& name : told.whole) told.server->SetServing(name, all);
  }
  return all;
}

bool VitalSigns::Answers() {
  return rpc::AskHealth(options_.servers.front().server->InProcessChannel(), "", kAnswerPatience) !=
         rpc::HealthAnswer::kNone;
}

void VitalSigns::LookAtFiles() {
  if (FileReserve::CanOpen() || !files_.Release()) return;
  log::Error("no file can be opened any more: clients have taken all that the limit allows",
             {{"given_back", kReservedFiles}});
}

void VitalSigns::OnDead(const std::string& what) {
  {
    MutexLock lock(failure_mutex_);
    failure_ = absl::StrCat("The listener is dead: ", what, ".");
  }
  log::Error("the listener is dead; the process ends, to be started anew", {{"error", what}});
  kill(getpid(), SIGTERM);
}

std::string VitalSigns::failure() const {
  MutexLock lock(failure_mutex_);
  return failure_;
}

}  // namespace muster::musterd
