#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/decide.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/options.h"
#include "tests/simulation/random.h"

namespace muster::simulation {

// The machines as they are, and agents that bring them to what their Nodes desire and report what
// they see. An agent knows a Node as it was when it was last told (`Tell`), which may be long ago.
// Level-triggered: what it reports follows from that and from the machine.
class Fleet {
 public:
  // All must outlive it; `weather` may change.
  Fleet(Cloud& cloud, Random& random, const Weather& weather, Bug bug)
      : cloud_(cloud), random_(random), weather_(weather), bug_(bug) {}

  // The Node's row changed or was deleted: Tell will tell the agents.
  void Changed(const std::string& node) { untold_.insert(node); }
  // Tells the agents of about three in four of the changed Nodes.
  void Tell();
  // Agents forget all and list the Nodes.
  void Restart();
  // Lets agents act on one Node and one more for every ten, chosen by chance.
  void Step();
  // An old report arrives again, if there is one. False: it was about an earlier Node of the same
  // name, and lifecycle obeyed it.
  bool DeliverLate();
  // Tells all agents of all changes and lets each act once. True: lifecycle took a report.
  bool ActAll();
  // Work ends, nothing blocks.
  void GoHome();

  bool IsOff(const std::string& machine) const;
  // Whether the Node's machine was booted for it, and not for an earlier Node of that name.
  bool RunsFor(const lifecycle::Node& node) const;
  // Late reports that came when another Node had the name.
  int64_t late_of_others() const { return late_of_others_; }
  void Wipe(const std::string& machine) { bodies_.erase(machine); }

 private:
  enum class Power { kOff, kBooting, kOn };
  enum class Fate { kGood, kFails, kFailsLate, kHangs };
  // One machine and what runs on it.
  struct Body {
    Power power = Power::kOff;
    std::string node = {};  // for which it was booted
    absl::Time node_time = absl::InfinitePast();
    absl::Time order_time = absl::InfinitePast();  // of the order to boot
    std::string profile = {};
    Fate fate = Fate::kGood;
    bool active = false;
    bool blocked = false;  // a disruption budget forbids to evict
    bool sick = false;
    bool marked = false;         // by the autoscaler
    bool unschedulable = false;  // by a user
    bool unstaged = false;       // the configuration cannot be staged
  };

  struct Said {
    lifecycle::ReportNode report = {};
    absl::Time node_time = absl::InfinitePast();  // of the Node that it is about
  };

  std::optional<lifecycle::ReportNode> Next(const lifecycle::Node& node);
  std::optional<lifecycle::ReportNode> Boot(const lifecycle::Node& node, Body& body);
  static lifecycle::ReportNode Registered(const lifecycle::Node& node, const Body& body);
  std::optional<lifecycle::ReportNode> Serve(const lifecycle::Node& node, Body& body);
  std::optional<lifecycle::ReportNode> Leave(const lifecycle::Node& node, Body& body);
  void Live(const lifecycle::Node& node, Body& body);
  std::optional<lifecycle::ReportNode> Drain(const lifecycle::Node& node, Body& body);
  bool Act(const lifecycle::Node& node);
  bool Send(const lifecycle::ReportNode& report);
  void Remember(const Said& said);
  void TellOf(const std::string& node);
  // Whether another Node has the name now.
  bool IsOfEarlier(const Said& said) const;

  Cloud& cloud_;
  Random& random_;
  const Weather& weather_;
  const Bug bug_;
  std::map<std::string, Body> bodies_;
  std::map<std::string, std::shared_ptr<const lifecycle::Node>> views_;
  std::set<std::string> untold_;
  std::map<std::string, std::vector<Said>> said_;  // some of it, by Node
  int64_t late_of_others_ = 0;
};

}  // namespace muster::simulation
