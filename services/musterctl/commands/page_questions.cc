#include "services/musterctl/commands/page_questions.h"

#include <utility>

#include "services/musterctl/print/words.h"

namespace muster::musterctl {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(50);
// How long an explanation counts while the pool itself does not change.
constexpr absl::Duration kVerdictAge = absl::Seconds(10);
// How often it is asked who reconciles.
constexpr absl::Duration kLeaderAge = absl::Seconds(5);

}  // namespace

std::optional<top::Verdict> AskWhoMustAct(FleetLink& link, const std::string& pool) {
  const auto answer = link.Explain(pool);
  if (!answer.ok()) return std::nullopt;
  using Obstacle = lifecycle::v1::NodePoolObstacle;
  const Obstacle* found = nullptr;
  for (const Obstacle& obstacle : answer->obstacles()) {
    const bool acts = obstacle.actor() != Obstacle::ACTOR_NOBODY;
    if (found == nullptr || (acts && found->actor() == Obstacle::ACTOR_NOBODY)) found = &obstacle;
  }
  if (found == nullptr) return top::Verdict{ActorWord(Obstacle::ACTOR_NOBODY), ""};
  return top::Verdict{ActorWord(found->actor()), found->message()};
}

std::optional<top::Reconciler> AskReconciler(FleetLink& link) {
  const auto leader = link.AskLeader();
  if (!leader.ok()) return std::nullopt;
  return top::Reconciler{.holder = leader->holder, .epoch = leader->epoch, .since = leader->since};
}

PageQuestions::PageQuestions(FleetLink& link, const SteadyClock& clock)
    : link_(link), clock_(clock) {
  thread_ = std::thread([this] {
    do {
      if (IsLeaderDue()) KeepLeader(AskReconciler(link_));
      for (const Question& question : Due()) {
        if (stopper_.stopped()) return;
        Answer(question, AskWhoMustAct(link_, question.pool));
      }
    } while (stopper_.Sleep(kPause));
  });
}

PageQuestions::~PageQuestions() {
  stopper_.Stop();
  thread_.join();
}

std::map<std::string, top::Verdict> PageQuestions::Want(std::vector<Question> questions) {
  MutexLock lock(mutex_);
  wanted_ = std::move(questions);
  std::map<std::string, top::Verdict> verdicts;
  std::map<std::string, Known> kept;
  for (const Question& question : wanted_) {
    const auto known = known_.find(question.pool);
    if (known == known_.end()) continue;
    if (known->second.verdict) verdicts[question.pool] = *known->second.verdict;
    kept.insert(std::move(*known));
  }
  known_ = std::move(kept);
  return verdicts;
}

std::optional<top::Reconciler> PageQuestions::reconciler() const {
  MutexLock lock(mutex_);
  return reconciler_;
}

std::vector<Question> PageQuestions::Due() const {
  MutexLock lock(mutex_);
  std::vector<Question> due;
  for (const Question& question : wanted_) {
    const auto known = known_.find(question.pool);
    if (known == known_.end() || known->second.status != question.status ||
        clock_.Now() - known->second.time > kVerdictAge)
      due.push_back(question);
  }
  return due;
}

void PageQuestions::Answer(const Question& question, std::optional<top::Verdict> verdict) {
  MutexLock lock(mutex_);
  Known& known = known_[question.pool];
  known.status = question.status;
  known.time = clock_.Now();
  if (verdict) known.verdict = std::move(verdict);
}

bool PageQuestions::IsLeaderDue() {
  MutexLock lock(mutex_);
  const absl::Duration now = clock_.Now();
  if (now - leader_asked_ < kLeaderAge) return false;
  leader_asked_ = now;
  return true;
}

void PageQuestions::KeepLeader(std::optional<top::Reconciler> leader) {
  MutexLock lock(mutex_);
  reconciler_ = std::move(leader);
}

}  // namespace muster::musterctl
