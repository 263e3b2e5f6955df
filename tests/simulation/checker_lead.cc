#include "tests/simulation/checker_lead.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::simulation {

std::string LeadChecker::Check(absl::Duration now, const std::optional<lifecycle::Heartbeat>& row,
                               bool is_held, const std::vector<Standing>& all) {
  absl::Duration able_since = absl::InfiniteDuration();
  for (const Standing& one : all) {
    Known& known = known_[one.holder];
    known.able_since = one.is_able ? std::min(known.able_since, now) : absl::InfiniteDuration();
    able_since = std::min(able_since, known.able_since);
    if (one.can_commit) known.could_commit = now;
    if (one.can_commit && one.leads) led_ = now;
  }
  const absl::Duration could = row ? known_[row->holder].could_commit : -absl::InfiniteDuration();
  // The holder's last beat may be from before the clock was set: nobody can tell how old the row
  // is.
  const bool is_disturbed = disturbed_ + beat_ >= could;
  // It may have been able to commit until just before the next beat.
  if (is_held && !is_disturbed && now > could + beat_ + ttl_)
    return absl::StrCat(row->holder, " cannot commit for ", absl::FormatDuration(now - could),
                        ", and has the lease");
  const absl::Duration since = std::max({able_since, led_, could, shaken_, got_on_, disturbed_}) +
                               (is_disturbed ? ttl_ : absl::ZeroDuration());
  if (now > since + ttl_ + 2 * beat_)
    return absl::StrCat("nobody who can commit leads for ", absl::FormatDuration(now - led_),
                        ", and one is there; ", row ? row->holder : "nobody", " has the lease");
  return "";
}

}  // namespace muster::simulation
