#include "tests/page/made_up_fleet.h"

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "services/page/page.h"

namespace muster::testing {
namespace {

using capacity::v1::Machine;
using lifecycle::v1::Node;

constexpr int kPoolSize = 1000;

struct Kind {
  const char* zone;
  const char* type;
  int rack;
};
constexpr Kind kKinds[] = {{"US-EAST-01A", "gb200-4x", 18},
                           {"US-EAST-01A", "gd-8xh100ib-i128", 8},
                           {"US-WEST-01A", "b300-8x", 8},
                           {"EU-NORTH-02A", "gd-8xa100-i128", 8},
                           {"EU-NORTH-02A", "turin-gp", 16}};
// Machines of a kind stand together.
constexpr int kRun = 20'000;

const Kind& KindOf(int number) { return kKinds[(number / kRun) % std::size(kKinds)]; }

// Of a machine.
std::string PoolName(int number) {
  return absl::StrCat("organizations/org", number / (4 * kPoolSize),
                      "/clusters/main/nodePools/pool-", number / kPoolSize);
}

// Mostly production; what else there is is spread as in a fleet at work.
Node::State StateAt(int number, int step) {
  switch ((number * 7 + step * 13) % 97) {
    case 0:
    case 1:
      return Node::STATE_BOOTING;
    case 2:
      return Node::STATE_RECONFIGURING;
    case 3:
      return Node::STATE_TRIAGE;
    case 4:
      return Node::STATE_DRAINING;
    case 5:
      return Node::STATE_REGISTERED;
    default:
      return Node::STATE_PRODUCTION;
  }
}

}  // namespace

MadeUpFleet::MadeUpFleet() { Listen(); }

MadeUpFleet::~MadeUpFleet() = default;

void MadeUpFleet::Listen() {
  page::PageListener::Options options;
  options.address = absl::StrCat("127.0.0.1:", port_.number());
  options.board = &board_;
  options.begin =
      page::BeginJson(absl::Minutes(2), absl::Minutes(7), {{"west", "http://west.example.org/"}});
  options.health = [] {
    return absl::StrCat(
        R"({"watches":[{"service":"capacity","live":true,"since":0,"error":""}],"services":[)",
        R"({"service":"lifecycle","ready":true,"oldest":)",
        absl::ToUnixMillis(absl::Now() - absl::Hours(2)), "}]}");
  };
  const auto nothing = [](const std::string&) { return page::Questions::Answer{200, "{}"}; };
  options.pool = nothing;
  options.claim = nothing;
  options.past = [this](absl::Time then) {
    MutexLock lock(mutex_);
    pasts_.push_back(then);
    return past_(then);
  };
  auto listener = page::PageListener::Create(std::move(options));
  if (!listener.ok()) throw std::runtime_error(std::string(listener.status().message()));
  listener_ = *std::move(listener);
}

void MadeUpFleet::RestartListener() {
  listener_.reset();
  Listen();
}

std::string MadeUpFleet::url() const {
  return absl::StrCat("http://127.0.0.1:", listener_->port(), "/");
}

void MadeUpFleet::SetPast(std::function<page::Questions::Answer(absl::Time)> past) {
  MutexLock lock(mutex_);
  past_ = std::move(past);
}

std::vector<absl::Time> MadeUpFleet::pasts() const {
  MutexLock lock(mutex_);
  return pasts_;
}

std::string MadeUpFleet::MachineId(int number) { return absl::StrFormat("g%06x", number); }

void MadeUpFleet::AddMachines(int machines) {
  for (; machines_ < machines; ++machines_) TellMachine(machines_, 0);
  for (int pool = 0; pool * kPoolSize < machines_; ++pool) TellPool(pool);
}

void MadeUpFleet::TellPool(int number) {
  const Kind& kind = KindOf(number * kPoolSize);
  lifecycle::v1::WatchLifecycleResponse message;
  message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  message.set_key(PoolName(number * kPoolSize));
  lifecycle::v1::NodePool& pool = *message.mutable_node_pool();
  pool.set_name(message.key());
  pool.set_uid(absl::StrCat("uid-", number));
  pool.set_zone(kind.zone);
  pool.mutable_spec()->set_instance_type(kind.type);
  pool.mutable_spec()->set_target_nodes(kPoolSize);
  board_.Take(message);
}

void MadeUpFleet::Change(int count) {
  for (int i = 0; i < count; ++i) {
    if (next_ == 0) ++step_;
    TellMachine(next_, step_);
    // Spread over all of them: 7919 is prime to every count used.
    next_ = (next_ + 7919) % machines_;
  }
}

void MadeUpFleet::TellMachine(int number, int step) {
  const Kind& kind = KindOf(number);
  const std::string id = MachineId(number);
  const bool held = (number + step) % 11 != 0;
  capacity::v1::WatchCapacityResponse machine;
  machine.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  machine.set_key("machines/" + id);
  Machine& row = *machine.mutable_machine();
  row.set_name(machine.key());
  row.set_zone(kind.zone);
  row.set_instance_type(kind.type);
  row.set_rack(absl::StrCat("r", number / kind.rack + 1));
  row.set_slot(number % kind.rack);
  row.set_state(held ? Machine::STATE_HELD : Machine::STATE_FREE);
  board_.Take(machine);
  lifecycle::v1::WatchLifecycleResponse node;
  node.set_type(held ? type::v1::WATCH_EVENT_TYPE_CHANGED : type::v1::WATCH_EVENT_TYPE_DELETED);
  node.set_key(absl::StrCat(PoolName(number), "/nodes/", id));
  if (held) {
    node.mutable_node()->set_name(node.key());
    node.mutable_node()->set_machine(id);
    node.mutable_node()->set_state(StateAt(number, step));
    node.mutable_node()->mutable_observed()->set_node_profile(
        absl::StrFormat("np-%012x", (number / kPoolSize) % 5));
  }
  board_.Take(node);
}

}  // namespace muster::testing
