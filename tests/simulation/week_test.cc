// A week of churn: pools come and go by the hour, and what is kept of them, and of calls, stays as
// much.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/requests.h"
#include "tests/simulation/town.h"
#include "tests/simulation/wishes.h"

namespace muster::simulation {
namespace {

constexpr int kDays = 7;
constexpr int kHours = 24;

// Rows by service and kind.
using Sizes = std::map<std::string, size_t>;

class Week {
 public:
  explicit Week(uint64_t seed) : town_(seed) {}

  // The most that there was of each kind at the end of an hour of the day.
  Sizes Day() {
    Sizes most;
    for (int hour = 0; hour < kHours && !::testing::Test::HasFailure(); ++hour) {
      for (const std::string& pool : Town::PoolNames()) Replace(pool);
      EXPECT_TRUE(town_.Converge()) << "never comes to rest";
      town_.cloud.Pass(absl::Hours(1));
      // As the leader does with every round of the orphan collector.
      (void)town_.Run(lifecycle::ExpireEvents{});
      for (const auto& [kind, rows] : SizesNow()) most[kind] = std::max(most[kind], rows);
    }
    return most;
  }

 private:
  // The pool goes, and another one of its name comes.
  void Replace(const std::string& name) {
    if (town_.Find(name) != nullptr) {
      Call(town_.cloud.lifecycle, lifecycle::DeleteNodePool{.name = name});
      EXPECT_TRUE(town_.Converge()) << "never goes";
    }
    lifecycle::ApplyNodePool apply{.name = name};
    apply.new_uid = absl::StrCat("uid-", ++uids_);
    apply.spec = SomeSpec(town_.random, name, nullptr);
    apply.target_nodes = town_.SomeTarget(name);
    const auto* type = town_.cloud.capacity.state().FindInstanceType(apply.spec.instance_type);
    if (type != nullptr)
      apply.type =
          lifecycle::TypeFacts{type->id, type->gpus, type->superchip, type->nodes_per_rack};
    Call(town_.cloud.lifecycle, apply);
    quota::UpdateQuota limit{
        .key = town_.cloud.quota.state().table<quota::Quota>().rows().begin()->second.row->key};
    limit.limit = 10 + uids_ % 10;
    Call(town_.cloud.quota, limit);
  }
  // Under an id of its own.
  template <class Service, class Command>
  void Call(Service& service, const Command& command) {
    (void)service.Run(Once<Command>{absl::StrCat("rq-", ++calls_), "", command}, town_.cloud.now);
  }

  Sizes SizesNow() const {
    Sizes sizes;
    const auto count = [&](const char* name, const auto& state) {
      state.ForEach([&](const auto& row) { ++sizes[absl::StrCat(name, "/", row.change.kind())]; });
    };
    count("capacity", town_.cloud.capacity.state());
    count("configuration", town_.cloud.configuration.state());
    count("lifecycle", town_.cloud.lifecycle.state());
    count("quota", town_.cloud.quota.state());
    return sizes;
  }

  Town town_;
  int uids_ = 0;
  int calls_ = 0;
};

// What is kept for a day has reached its size after two. Profiles stay, which no deletion of a pool
// takes away: there are as many as releases and specs make, and both are few here.
TEST(Week, SizesStayFlat) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    Week week(seed);
    std::vector<Sizes> days;
    while (days.size() < kDays && !HasFailure()) days.push_back(week.Day());
    ASSERT_EQ(days.size(), static_cast<size_t>(kDays));
    Sizes& second = days[1];
    for (const char* kind :
         {"lifecycle/_kept_request", "quota/_kept_request", "quota/_released_pool",
          "capacity/_released_pool", "configuration/_released_pool", "lifecycle/event"})
      EXPECT_GE(second[kind], static_cast<size_t>(kHours)) << kind;
    for (int day = 2; day < kDays; ++day) {
      // A quarter more, and five, by chance.
      for (const auto& [kind, rows] : days[day])
        EXPECT_LE(rows, second[kind] + second[kind] / 4 + 5) << kind << ", day " << day + 1;
    }
  }
}

}  // namespace
}  // namespace muster::simulation
