#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/kept_request.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/network.h"
#include "tests/simulation/options.h"
#include "tests/simulation/random.h"

namespace muster::simulation {

// A command with a request id: services/rpc/write.h (CommitOnce) without messages, by the same
// rules of services/common/kept_request.h.
template <class Command>
struct Once {
  std::string request_id;
  std::string content;  // differs for different requests
  Command command;
  Bug bug = Bug::kNone;
};

// Returns the answer: the kept one, if the id is known.
template <class State, class Command>
absl::StatusOr<std::string> Decide(StagedState<State>& staged, const Once<Command>& once,
                                   absl::Time now) {
  const KeepPolicy policy;
  if (const auto* kept = FindKept(staged.state(), once.request_id, now, policy.keep)) {
    const absl::Status same = CheckSameRequest(*kept, "request", once.content);
    if (!same.ok() && once.bug != Bug::kRequestIdUnheeded) return same;
    return kept->answer;
  }
  const size_t mark = staged.Mark();
  const auto outcome = Decide(staged, once.command, now);
  if (!outcome.ok()) {
    if constexpr (requires { outcome.status(); }) {
      return outcome.status();
    } else {
      return outcome;
    }
  }
  const std::string answer = absl::StrCat("done at ", absl::FormatTime(now));
  if (once.bug == Bug::kRequestForgotten) return answer;
  const absl::Status status =
      Keep(staged, {once.request_id, "request", once.content, 0, answer, now}, policy);
  if (status.ok()) return answer;
  staged.RollBack(mark);
  return status;
}

// Callers that repeat requests until they are answered, and a check that each was done only once.
class Requests {
 public:
  // All must outlive it.
  Requests(Cloud& cloud, Network& network, Random& random, InvariantChecker& checker, Bug bug)
      : cloud_(cloud), network_(network), random_(random), checker_(checker), bug_(bug) {}

  // Sends the command under an id of its own, or by mistake under that of another request. Returns
  // the answer, or UNKNOWN when none came. `content`: all that the command says.
  template <class State, class Command>
  absl::Status Send(Service<State>& service, std::string content, Command command) {
    const bool is_mistake = !ids_.empty() && random_.OneIn(10);
    const std::string id = is_mistake ? random_.Pick(ids_) : absl::StrCat("rq-", ++next_id_);
    if (ids_.size() < kIds) ids_.push_back(id);
    ids_[next_id_ % ids_.size()] = id;
    const Once<Command> once{id, std::move(content), std::move(command), bug_};
    return Try([this, &service, once] {
      const int64_t revision = service.revision();
      const auto answer = service.Run(once, cloud_.now);
      Answered({&service, service.incarnation(), once.request_id}, once.content, answer,
               service.revision() != revision);
      return answer.status();
    });
  }
  // Sends one of the unanswered requests again. False: there is none.
  bool Repeat();

 private:
  using Attempt = std::function<absl::Status()>;
  // The service, its history, and the id.
  using Key = std::tuple<const void*, int64_t, std::string>;
  struct Done {
    std::string content;
    std::string answer;
    absl::Duration since;
  };
  static constexpr size_t kIds = 8;

  absl::Status Try(const Attempt& attempt);
  void Answered(const Key& key, const std::string& content,
                const absl::StatusOr<std::string>& answer, bool wrote);

  Cloud& cloud_;
  Network& network_;
  Random& random_;
  InvariantChecker& checker_;
  const Bug bug_;
  size_t next_id_ = 0;
  std::vector<std::string> ids_;  // some that were given lately
  std::vector<Attempt> unanswered_;
  std::map<Key, Done> done_;
};

}  // namespace muster::simulation
