#include "services/musterctl/client/set_members.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/status_macros.h"
#include "services/musterctl/manifest/machine_set.h"

namespace muster::musterctl {
namespace {

using capacity::v1::Machine;
using Machines = std::map<std::string, Machine>;  // by name
using Place = std::pair<absl::string_view, int32_t>;

Place PlaceOf(const Machine& machine) { return {machine.rack(), machine.slot()}; }

class Recognition {
 public:
  Recognition(const MachineSet& set, const Machines& registered)
      : set_(set), registered_(registered), members_(set.machines.size()) {
    for (const Machine& machine : set.machines) wanted_.insert(machine.name());
    for (const auto& [name, machine] : registered) {
      if (IsInItsRacks(machine)) places_.emplace(PlaceOf(machine), &machine);
    }
  }

  std::vector<SetMember> Run() && {
    // The surest rule first, each for all machines: a sure match is not lost to another machine's
    // weaker rule.
    Recognise([&](size_t index) { return AtItsPlace(index, true); });
    Recognise([&](size_t index) { return ByItsName(index); });
    Recognise([&](size_t index) { return AtItsPlace(index, false); });
    Recognise([&](size_t index) { return InAnothersRack(index); });
    for (size_t index = 0; index < members_.size(); ++index) {
      if (members_[index].machine.name().empty()) Name(index);
    }
    return std::move(members_);
  }

 private:
  bool IsInItsRacks(const Machine& machine) const {
    const std::optional<SetRack> rack = ParseRack(machine.rack());
    return rack && rack->prefix == set_.name;
  }
  bool IsInAnothersRacks(const Machine& machine) const {
    return ParseRack(machine.rack()) && !IsInItsRacks(machine);
  }
  std::string NameOf(size_t index, int attempt) const {
    return absl::StrCat("machines/", MachineId(set_.name, static_cast<int64_t>(index), attempt));
  }
  const Machine* Find(const std::string& name) const {
    const auto it = registered_.find(name);
    return it == registered_.end() ? nullptr : &it->second;
  }

  // The machine at this index's rack and slot that is not taken yet; null: there is none.
  const Machine* AtItsPlace(size_t index, bool of_its_ids) const {
    const auto [begin, end] = places_.equal_range(PlaceOf(set_.machines[index]));
    for (auto it = begin; it != end; ++it) {
      const std::string& name = it->second->name();
      if (taken_.contains(name)) continue;
      if (!of_its_ids || name == set_.machines[index].name() ||
          IsNameOf(name, set_.name, static_cast<int64_t>(index)))
        return it->second;
    }
    return nullptr;
  }
  // The machine of this name, wherever it stands but in a rack of another set: apply moves it to
  // its place in this one.
  const Machine* ByItsName(size_t index) const {
    const Machine* known = Find(set_.machines[index].name());
    return known != nullptr && !IsInAnothersRacks(*known) ? known : nullptr;
  }
  // A machine that was moved by hand into a rack of another set, which does not expand to it.
  const Machine* InAnothersRack(size_t index) const {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Machine* known = Find(NameOf(index, attempt));
      if (known != nullptr && IsInAnothersRacks(*known) && IsAlike(*known, index) &&
          !IsOfItsRack(*known))
        return known;
    }
    return nullptr;
  }
  // Same zone and type: a machine never changes these.
  bool IsAlike(const Machine& machine, size_t index) const {
    const Machine& own = set_.machines[index];
    return machine.zone() == own.zone() && machine.instance_type() == own.instance_type();
  }
  void Recognise(absl::FunctionRef<const Machine*(size_t index)> find) {
    for (size_t index = 0; index < members_.size(); ++index) {
      if (!members_[index].machine.name().empty()) continue;
      const Machine* known = find(index);
      if (known != nullptr && !taken_.contains(known->name())) Take(index, known->name());
    }
  }
  void Take(size_t index, const std::string& name) {
    SetMember& member = members_[index];
    member.machine = set_.machines[index];
    member.machine.set_name(name);
    if (const Machine* known = Find(name)) {
      member.known = *known;
      member.is_moved = IsInAnothersRacks(*known);
    }
    taken_.insert(name);
  }

  // Names a new machine. Ids are short: one of another set may have the same already.
  void Name(size_t index) {
    std::string name = set_.machines[index].name();
    int attempt = 0;
    while (taken_.contains(name) || IsOfAnother(name)) {
      do {
        name = NameOf(index, attempt++);
      } while (wanted_.contains(name));
    }
    Take(index, name);
  }
  bool IsOfAnother(const std::string& name) const {
    const Machine* known = Find(name);
    return known != nullptr && IsInAnothersRacks(*known);
  }

  const MachineSet& set_;
  const Machines& registered_;
  std::vector<SetMember> members_;                    // without a name: not yet recognised
  std::multimap<Place, const Machine*> places_ = {};  // what stands in the set's racks
  // The names that the set's machines have in the file.
  absl::flat_hash_set<std::string> wanted_ = {};
  absl::flat_hash_set<std::string> taken_ = {};
};

absl::StatusOr<std::vector<SetMember>> FindAmong(const MachineSet& set, MachineLister list,
                                                 const capacity::v1::ListMachinesRequest& filter) {
  ASSIGN_OR_RETURN(std::vector<Item> items, list(filter));
  Machines registered;
  for (Item& item : items) {
    auto& machine = std::get<Machine>(item);
    registered[machine.name()] = std::move(machine);
  }
  return Recognition(set, registered).Run();
}

}  // namespace

absl::StatusOr<std::vector<SetMember>> FindMembers(const MachineSet& set, MachineLister list) {
  capacity::v1::ListMachinesRequest alike;
  alike.set_zone(set.machines.front().zone());
  alike.set_instance_type(set.machines.front().instance_type());
  ASSIGN_OR_RETURN(std::vector<SetMember> members, FindAmong(set, list, alike));
  const bool has_new =
      absl::c_any_of(members, [](const SetMember& member) { return !member.known; });
  if (!has_new) return members;
  // Any machine may bear the name of a new one.
  return FindAmong(set, list, {});
}

}  // namespace muster::musterctl
