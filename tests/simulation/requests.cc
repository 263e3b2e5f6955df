#include "tests/simulation/requests.h"

#include "services/common/error.h"

namespace muster::simulation {

absl::Status Requests::Try(const Attempt& attempt) {
  using Fate = Network::Fate;
  const Fate fate = network_.Send(false, [attempt] { (void)attempt(); });
  if (fate == Fate::kArrives) return attempt();
  if (fate == Fate::kAnswerLost) {
    (void)attempt();
    checker_.Notice("request: its answer is lost");
  }
  unanswered_.push_back(attempt);
  return absl::UnknownError("no answer");
}

bool Requests::Repeat() {
  if (unanswered_.empty()) return false;
  const auto i = static_cast<size_t>(random_.Uniform(static_cast<int>(unanswered_.size())));
  const Attempt attempt = std::move(unanswered_[i]);
  unanswered_.erase(unanswered_.begin() + static_cast<std::ptrdiff_t>(i));
  (void)Try(attempt);
  return true;
}

// Once done, always the same answer, for as long as it is kept; and nothing else under that id.
void Requests::Answered(const Key& key, const std::string& content,
                        const absl::StatusOr<std::string>& answer, bool wrote) {
  const auto done = done_.find(key);
  // Clocks are set ahead: what the service forgets by its own time is long over here, too.
  const bool is_known =
      done != done_.end() && cloud_.steady.Now() - done->second.since < kRequestKeep / 4;
  if (!is_known) {
    if (answer.ok()) done_[key] = {content, *answer, cloud_.steady.Now()};
    return;
  }
  const std::string& id = std::get<std::string>(key);
  if (done->second.content != content) {
    checker_.Notice("request: another under its id");
    const auto detail = error::DetailOf(answer.status());
    if (answer.ok() || !detail || detail->reason != "REQUEST_ID_REUSED" || wrote)
      checker_.Fail(absl::StrCat("another request under the id ", id,
                                 " is not refused: ", answer.status().ToString()));
    return;
  }
  checker_.Notice("request: the same again");
  if (wrote || !answer.ok() || *answer != done->second.answer)
    checker_.Fail(absl::StrCat("the request ", id, " was ", done->second.answer,
                               ", and the same again is ",
                               answer.ok() ? *answer : answer.status().ToString()));
}

}  // namespace muster::simulation
