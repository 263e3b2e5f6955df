#include <cstdio>
#include <ctime>
#include <random>

#include "services/capacity/core/audit.h"
#include "services/capacity/core/testing/world.h"

// How long decisions take in memory: 100,000 machines, 10,000 claims. Prints one line a
// measurement; no test.
namespace muster::capacity {
namespace {

// Of this process' CPU, so that a busy machine does not matter.
double Seconds(std::clock_t since) {
  return static_cast<double>(std::clock() - since) / CLOCKS_PER_SEC;
}

void Print(const char* what, double seconds, int count) {
  std::printf("%-44s %10.2f us each (%d)\n", what, seconds * 1e6 / count, count);
}

void RegisterMachines100k(World& world) {
  for (int rack = 0; rack < 12'500; ++rack) {
    world.RegisterRack(absl::StrCat("f", rack % 100), absl::StrCat("r", rack), 8);
  }
}

// 10,000 claims wait for machines that are not there; others are served past them.
void PassOver(int affinities) {
  World world;
  world.AddCatalogue();
  RegisterMachines100k(world);
  for (int i = 0; i < 10'000; ++i) {
    world.Advance(absl::Microseconds(1));
    (void)world.Do(World::Where(world.Want(absl::StrCat("waits", i), 1), "disk",
                                {absl::StrCat("d", i % affinities)}));
  }
  auto start = std::clock();
  for (int i = 0; i < 1'000; ++i) (void)world.Do(world.Want(absl::StrCat("p", i), 1));
  Print(absl::StrCat("sync past 10,000 of ", affinities, " affinities").c_str(), Seconds(start),
        1'000);
}

// Default claims take machines back from 1,000 spot claims.
void TakeFromSpot() {
  World world;
  world.AddCatalogue();
  for (int rack = 0; rack < 1'000; ++rack) world.RegisterRack("f", absl::StrCat("r", rack), 10);
  for (int i = 0; i < 1'000; ++i) (void)world.Do(world.WantSpot(absl::StrCat("s", i), 10));
  auto start = std::clock();
  for (int i = 0; i < 5'000; ++i) (void)world.Do(world.Want(absl::StrCat("d", i), 1));
  Print("sync that reclaims one, of 1,000 spot claims", Seconds(start), 5'000);
}

// The same of many labels, while many affinities wait that none of them matches.
void TakeFromLabelled() {
  constexpr int kLabels = 1'000;
  World world;
  world.AddCatalogue();
  for (int rack = 0; rack < kLabels; ++rack) {
    std::vector<std::string> ids;
    for (int i = 0; i < 10; ++i) ids.push_back(absl::StrCat("m", rack, "-", i));
    world.RegisterLabelled(ids, "rack", absl::StrCat("r", rack));
  }
  for (int i = 0; i < 1'000; ++i) (void)world.Do(world.WantSpot(absl::StrCat("s", i), 10));
  for (int i = 0; i < 100; ++i)
    (void)world.Do(
        World::Where(world.Want(absl::StrCat("w", i), 1), "disk", {absl::StrCat("d", i)}));
  auto start = std::clock();
  (void)world.Do(world.Want("d", 1'000));
  Print("sync that reclaims 1,000, of 1,000 labels beside 100 affinities", Seconds(start), 1);
  start = std::clock();
  for (int i = 0; i < 100; ++i) (void)world.Do(world.Want(absl::StrCat("e", i), 1));
  Print("sync that reclaims one beside these", Seconds(start), 100);
}

// One command serves claims, each with an affinity of its own.
void ServeAffinities(int claims) {
  constexpr int kLabels = 100;
  World world;
  world.AddCatalogue();
  SyncClaims waiting;
  std::vector<MachineRow> machines;
  for (int i = 0; i < claims; ++i) {
    const std::string disk = absl::StrCat("d", i % kLabels);
    waiting.claims.push_back(
        World::Where(world.Want(absl::StrCat("p", i), 1), "disk", {disk, absl::StrCat("own", i)}));
    machines.push_back(
        World::Labelled(World::Machine(absl::StrCat("m", i), "f", disk), "disk", disk));
  }
  (void)world.Do(waiting);
  const auto start = std::clock();
  world.Register(std::move(machines));
  Print(absl::StrCat("grant to one of ", claims, " affinities").c_str(), Seconds(start), claims);
}

// So many claims wait, each with an affinity of its own and as large as one may well be, for
// machines of 100 labels that others hold; one machine after another is given back.
void GiveBackPast(int claims) {
  constexpr int kLabels = 100;
  constexpr int kTerms = 16;
  World world;
  world.AddCatalogue();
  for (int i = 0; i < kLabels; ++i)
    world.RegisterLabelled({absl::StrCat("m", i)}, "disk", absl::StrCat("d", i));
  (void)world.Do(world.Want("holder", kLabels));
  SyncClaims waiting;
  for (int i = 0; i < claims; ++i) {
    SyncClaim claim = world.Want(absl::StrCat("p", i), 1);
    Affinity::Terms terms;
    for (int term = 0; term < kTerms; ++term) {
      const std::vector<std::string> disks = {absl::StrCat("d", (i + term) % kLabels),
                                              absl::StrCat("own", i)};
      terms.push_back(World::With("disk", disks).terms()[0]);
    }
    claim.affinity = std::move(terms);
    waiting.claims.push_back(std::move(claim));
  }
  const int pairs = claims * kLabels;
  auto start = std::clock();
  (void)world.Do(waiting);
  Print(absl::StrCat("a pair of ", claims, " affinities and 100 labels").c_str(), Seconds(start),
        pairs);
  start = std::clock();
  for (int i = 0; i < kLabels; ++i) {
    (void)world.Do(world.Want("holder", kLabels - 1 - i, World::Returns({absl::StrCat("m", i)})));
  }
  Print(absl::StrCat("give-back past ", claims, " affinities").c_str(), Seconds(start), kLabels);
}

World WithRacks(int racks) {
  World world;
  world.AddCatalogue();
  for (int rack = 0; rack < racks; ++rack) {
    world.RegisterRack(absl::StrCat("f", rack % 10), absl::StrCat("r", rack), World::kNodesPerRack,
                       World::kRackType);
  }
  return world;
}
SyncClaim OfRacks(SyncClaim claim) {
  claim.instance_type = World::kRackType;
  return claim;
}

// One claim takes them all. `affinities`: for which others wait meanwhile, for less than a rack.
void TakeRacks(int racks, int affinities) {
  World world = WithRacks(racks);
  SyncClaims waiting;
  for (int i = 0; i < affinities; ++i) {
    waiting.claims.push_back(
        OfRacks(World::Where(world.Want(absl::StrCat("w", i), 1), "disk", {absl::StrCat("d", i)})));
  }
  (void)world.Do(waiting);
  const SyncClaim all = OfRacks(world.Want("all", int64_t{racks} * World::kNodesPerRack));
  const auto start = std::clock();
  (void)world.Do(all);
  Print(absl::StrCat("a rack of ", racks, " at once beside ", affinities, " affinities").c_str(),
        Seconds(start), racks);
}

// A gang keeps all racks but one, and others wait behind it.
void PassKeptRacks(int racks, int waiting) {
  World world = WithRacks(racks);
  (void)world.Do(OfRacks(world.Want("holder", World::kNodesPerRack)));
  (void)world.Do(OfRacks(world.WantGang("gang", int64_t{racks} * World::kNodesPerRack)));
  SyncClaims claims;
  for (int i = 0; i < waiting; ++i)
    claims.claims.push_back(OfRacks(world.Want(absl::StrCat("w", i), World::kNodesPerRack)));
  (void)world.Do(claims);
  const auto start = std::clock();
  for (int i = 0; i < 100; ++i)
    world.RegisterRack("f", absl::StrCat("part", i), 1, World::kRackType);
  Print(absl::StrCat("register past ", waiting, " behind ", racks, " kept racks").c_str(),
        Seconds(start), 100);
}

// One claim takes all of so many racks while another waits for what there is not.
void TakeManyRacks(int racks) {
  World world;
  world.AddCatalogue();
  for (int rack = 0; rack < racks; ++rack) world.RegisterRack("", absl::StrCat("r", rack), 8);
  (void)world.Do(World::Where(world.Want("waits", 1), "disk", {"tape"}));
  const auto start = std::clock();
  (void)world.Do(world.Want("all", racks * 8));
  Print(absl::StrCat("grant of a machine, of ", racks, " racks").c_str(), Seconds(start),
        racks * 8);
}

// The answer to a claim of so many parts that waits for whole racks, of which there are none.
void WaitForRacks(int parts) {
  World world;
  world.AddCatalogue();
  for (int rack = 0; rack < 12'500; ++rack)
    world.RegisterRack("f", absl::StrCat("r", rack), 1, World::kRackType);
  for (int i = 1; i <= parts; ++i) {
    world.Advance(absl::Microseconds(1));
    SyncClaim claim = world.WantGang("g", i * World::kNodesPerRack);
    claim.instance_type = World::kRackType;
    (void)world.Do(claim);
  }
  const auto start = std::clock();
  for (int i = 0; i < 10; ++i) (void)world.View("g");
  Print(absl::StrCat("view of a claim of ", parts, " parts, 12,500 racks").c_str(), Seconds(start),
        10);
}

int Main() {
  World world;
  world.AddCatalogue();
  auto start = std::clock();
  RegisterMachines100k(world);
  Print("register a machine (8 a call)", Seconds(start), 100'000);

  start = std::clock();
  for (int i = 0; i < 10'000; ++i) (void)world.Do(world.Want(absl::StrCat("p", i), 8));
  Print("first sync of a claim, 8 machines", Seconds(start), 10'000);

  std::mt19937 random(1);
  start = std::clock();
  for (int i = 0; i < 10'000; ++i) {
    const std::string uid = absl::StrCat("p", random() % 10'000);
    (void)world.Do(world.Want(uid, 7 + static_cast<int>(random() % 3)));
  }
  Print("sync of a claim, 7 to 9 of 8 machines", Seconds(start), 10'000);

  (void)world.Do(world.Want("rest", 100'000));
  start = std::clock();
  for (int i = 0; i < 10'000; ++i) {
    world.Advance(absl::Microseconds(1));
    (void)world.Do(world.Want(absl::StrCat("waits", i), 1));
  }
  Print("sync of a claim that waits", Seconds(start), 10'000);

  start = std::clock();
  for (int i = 0; i < 10'000; ++i) {
    const std::string uid = absl::StrCat("p", i);
    (void)world.Do(world.Want(
        uid, 7,
        {{(*world.state().FootprintOf(uid).machines.begin())->id, ReturnReason::kReleased}}));
  }
  Print("release of a machine, granted to the next", Seconds(start), 10'000);
  for (const std::string& fault : Audit(world.state())) std::printf("%s\n", fault.c_str());
  PassOver(10);
  PassOver(1'000);
  TakeFromSpot();
  TakeFromLabelled();
  for (const int claims : {2'500, 5'000, 10'000}) ServeAffinities(claims);
  for (const int claims : {2'500, 5'000, 10'000}) GiveBackPast(claims);
  for (const int racks : {2'500, 5'000, 10'000}) TakeRacks(racks, 0);
  for (const int racks : {2'500, 5'000, 10'000}) TakeRacks(racks, 10);
  for (const int racks : {500, 1'000, 2'000}) PassKeptRacks(racks, racks);
  for (const int racks : {3'125, 6'250, 12'500}) TakeManyRacks(racks);
  for (const int parts : {1, 8, 64}) WaitForRacks(parts);
  return 0;
}

}  // namespace
}  // namespace muster::capacity

int main() { return muster::capacity::Main(); }
