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
#include "tests/simulation/dice.h"
#include "tests/simulation/options.h"

namespace muster::simulation {

// The machines as they are, and agents that bring them to what Nodes desire and report what they
// see. An agent knows a Node as it was last told (`Tell`), which may be old. Level-triggered: what
// it reports follows from that and from the machine.
class Fleet {
 public:
  // All must outlive it; `weather` may change.
  Fleet(Cloud& cloud, Dice& dice, const Weather& weather, Bug bug)
      : cloud_(cloud), dice_(dice), weather_(weather), bug_(bug) {}

  // The Node's row changed or went: agents will be told some time.
  void Changed(const std::string& node) { untold_.insert(node); }
  // Some of what changed is told.
  void Tell();
  // Agents forget all and list the Nodes.
  void Restart();
  // Agents look at their Nodes: one of ten.
  void Step();
  // Something that was said long ago is heard again. False: it was about another Node of that name,
  // and obeyed.
  bool DeliverLate();
  // Everybody is told all, and acts. True: somebody reported something.
  bool ActAll();
  // Work ends, nothing blocks.
  void GoHome();

  bool IsOff(const std::string& machine) const;
  // Whether its machine was booted for it, and not for an earlier Node of that name.
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
  Dice& dice_;
  const Weather& weather_;
  const Bug bug_;
  std::map<std::string, Body> bodies_;
  std::map<std::string, std::shared_ptr<const lifecycle::Node>> views_;
  std::set<std::string> untold_;
  std::map<std::string, std::vector<Said>> said_;  // some of it, by Node
  int64_t late_of_others_ = 0;
};

}  // namespace muster::simulation
