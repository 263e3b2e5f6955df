#include "services/lifecycle/peers/catalogue_mirror.h"

#include <utility>

#include "absl/strings/strip.h"
#include "services/common/log.h"
#include "services/rpc/client/bundle.h"

namespace muster::lifecycle {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(500);

std::string IdOf(absl::string_view name, absl::string_view prefix) {
  return std::string(absl::StripPrefix(name, prefix));
}

}  // namespace

CatalogueMirror::CatalogueMirror(std::shared_ptr<grpc::Channel> capacity, const SteadyClock* steady)
    : channel_(std::move(capacity)), steady_(*steady), watch_(WatchOptions()) {}

CatalogueMirror::~CatalogueMirror() { Stop(); }

void CatalogueMirror::Start(std::function<void(const Concerns&)> changed) {
  changed_ = std::move(changed);
  watch_.Start();
}

void CatalogueMirror::Stop() { watch_.Stop(); }

CatalogueFacts CatalogueMirror::Catalogue::Facts(absl::string_view instance_type,
                                                 absl::string_view zone) const {
  CatalogueFacts facts;
  if (const auto it = types.find(instance_type); it != types.end()) facts.type = it->second;
  if (const auto it = zones.find(zone); it != zones.end()) {
    facts.offered = it->second.instance_types.count(std::string(instance_type)) != 0;
    facts.general_access = it->second.general_access;
  }
  return facts;
}

CatalogueFacts CatalogueMirror::Facts(absl::string_view instance_type,
                                      absl::string_view zone) const {
  MutexLock lock(mutex_);
  CatalogueFacts facts = catalogue_.Facts(instance_type, zone);
  facts.known = known_;
  return facts;
}

std::optional<TypeFacts> CatalogueMirror::Type(absl::string_view instance_type) const {
  MutexLock lock(mutex_);
  const auto it = catalogue_.types.find(instance_type);
  if (!known_ || it == catalogue_.types.end()) return std::nullopt;
  return it->second;
}

rpc::Watch::Options CatalogueMirror::WatchOptions() {
  using Response = capacity::v1::WatchCapacityResponse;
  capacity::v1::WatchCapacityRequest request;
  request.add_kinds(capacity::v1::WatchCapacityRequest::KIND_ZONE);
  request.add_kinds(capacity::v1::WatchCapacityRequest::KIND_INSTANCE_TYPE);
  const std::shared_ptr<capacity::v1::CapacityService::Stub> stub =
      capacity::v1::CapacityService::NewStub(channel_);
  const auto take = [this](const Response& message) {
    rpc::ForEachMessage(message, [this](const Response& change) {
      complete_ |= change.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
      Take(change, shown_);
    });
    if (complete_) Install(shown_);
  };
  rpc::Watch::Options options;
  options.stream = rpc::StreamOf<Response>(
      request, [stub](auto... call) { stub->async()->WatchCapacity(call...); }, take);
  options.resumes = false;
  options.first_retry = options.last_retry = kRetry;
  options.begins = [this](bool) {
    shown_ = {};
    complete_ = false;
  };
  // Why it ends does not matter: the next one begins with a snapshot.
  options.ended = [this](const absl::Status&) { NoteLost(); };
  return options;
}

void CatalogueMirror::Take(const capacity::v1::WatchCapacityResponse& message,
                           Catalogue& catalogue) {
  if (message.has_zone()) {
    Zone zone;
    zone.general_access = message.zone().access() == capacity::v1::Zone::ACCESS_GENERAL;
    zone.instance_types.insert(message.zone().instance_types().begin(),
                               message.zone().instance_types().end());
    catalogue.zones[IdOf(message.zone().name(), "zones/")] = std::move(zone);
  } else if (message.has_instance_type()) {
    const auto& type = message.instance_type();
    std::string id = IdOf(type.name(), "instanceTypes/");
    catalogue.types[id] = {id, type.gpus(), type.superchip(), type.nodes_per_rack()};
  } else if (message.type() == type::v1::WATCH_EVENT_TYPE_DELETED) {
    catalogue.zones.erase(IdOf(message.key(), "zones/"));
    catalogue.types.erase(IdOf(message.key(), "instanceTypes/"));
  }
}

void CatalogueMirror::Install(const Catalogue& catalogue) {
  Catalogue before = catalogue;
  bool was_known = false;
  {
    MutexLock lock(mutex_);
    lost_since_ = absl::InfiniteDuration();
    if (known_ && catalogue_ == catalogue) return;
    std::swap(catalogue_, before);
    was_known = std::exchange(known_, true);
  }
  changed_([&](absl::string_view instance_type, absl::string_view zone) {
    return !was_known || before.Facts(instance_type, zone) != catalogue.Facts(instance_type, zone);
  });
}

void CatalogueMirror::NoteLost() {
  {
    MutexLock lock(mutex_);
    const absl::Duration now = steady_.Now();
    if (lost_since_ == absl::InfiniteDuration()) lost_since_ = now;
    if (!known_ || now - lost_since_ < kGrace) return;
    known_ = false;
  }
  log::Warn("the catalogue is out of reach");
  changed_([](absl::string_view, absl::string_view) { return true; });
}

}  // namespace muster::lifecycle
