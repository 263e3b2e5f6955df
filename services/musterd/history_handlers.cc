#include "services/musterd/history_handlers.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/access/method_access.h"
#include "services/common/collections.h"
#include "services/common/error.h"
#include "services/common/faults.h"
#include "services/common/mutex.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/names.h"
#include "services/musterd/history_wire.h"
#include "services/musterd/this_life.h"
#include "services/quota/core/names.h"
#include "services/rpc/page.h"

namespace muster::musterd {
namespace {

using storage::ChangeLog;

constexpr int kDefaultChanges = 50;
constexpr int kMostChanges = 200;

// Collections of resources that belong to a pool and are named by its uid.
constexpr absl::string_view kOfAPool[] = {"claims", "poolConfigurations"};

bool IsOfAPool(absl::string_view collection) {
  return std::find(std::begin(kOfAPool), std::end(kOfAPool), collection) != std::end(kOfAPool);
}

// Calls `done` once `left` statuses have come: with OK, or with the last error.
class Joint {
 public:
  Joint(size_t left, std::function<void(const absl::Status&)> done)
      : done_(std::move(done)), left_(left) {}

  void Take(const absl::Status& status) {
    absl::Status joint;
    {
      MutexLock lock(mutex_);
      if (!status.ok()) status_ = status;
      if (--left_ > 0) return;
      joint = status_;
    }
    done_(joint);
  }

 private:
  const std::function<void(const absl::Status&)> done_;
  Mutex mutex_;
  size_t left_ MUSTER_GUARDED_BY(mutex_);
  absl::Status status_ MUSTER_GUARDED_BY(mutex_);
};

// Whether the caller may see only the present life of the resource: it is named by a pool's uid,
// which may have been another organization's, and the caller may not read everywhere.
bool SeesOneLife(const std::string& name, const rpc::Responder& responder) {
  const auto caller = responder.caller();
  return IsOfAPool(CollectionOf(name)) && caller != nullptr &&
         !caller->rights->Of(access::Verb::kRead).everywhere();
}

// `incarnation` as LogStart has it.
ListLog ListOf(const ServicePart& part, const std::string& name, const std::string& incarnation,
               absl::Time deadline) {
  return [&part, name, incarnation, deadline](int64_t newest) {
    return part.history.list(name, {newest, incarnation}, kMostChanges, deadline);
  };
}

absl::StatusOr<ChangeLog> ListThisLife(const ServicePart& part, const std::string& name,
                                       const storage::LogStart& start, int64_t size,
                                       absl::Time deadline) {
  if (start.newest > 0) {
    ASSIGN_OR_RETURN(const Life life,
                     LifeOf(start.newest, ListOf(part, name, start.incarnation, deadline)));
    if (life == Life::kOther) return error::InvalidField("page_token", "is not one of this list.");
    // Forgotten since the page before; what the journal still has may be another life's.
    if (life == Life::kForgotten) return ChangeLog();
  }
  ASSIGN_OR_RETURN(ChangeLog log, part.history.list(name, start, size, deadline));
  CutAtCreation(log);
  return log;
}

int SizeOf(const history::v1::ListChangesRequest& request, error::Faults& faults) {
  faults.Require(request.page_size() >= 0, "page_size", "must not be negative.");
  return request.page_size() == 0 ? kDefaultChanges : std::min(request.page_size(), kMostChanges);
}

enum class Parent { kOrganization, kCluster, kNodePool, kQuota };

// Below what the resources of each collection are that ListPast tells of.
constexpr std::pair<absl::string_view, Parent> kBelow[] = {
    {"clusters", Parent::kOrganization}, {"nodePools", Parent::kOrganization},
    {"nodePools", Parent::kCluster},     {"nodes", Parent::kOrganization},
    {"nodes", Parent::kCluster},         {"nodes", Parent::kNodePool},
    {"events", Parent::kOrganization},   {"events", Parent::kCluster},
    {"quotas", Parent::kOrganization},   {"holdings", Parent::kOrganization},
    {"holdings", Parent::kQuota}};

bool IsListed(absl::string_view collection) {
  return std::any_of(std::begin(kBelow), std::end(kBelow),
                     [&](const auto& below) { return below.first == collection; });
}
bool IsBelow(absl::string_view collection, Parent parent) {
  return std::find(std::begin(kBelow), std::end(kBelow), std::pair(collection, parent)) !=
         std::end(kBelow);
}

// What `name` is of; nullopt: of no parent. `organizations/-` counts as an organization.
std::optional<Parent> ParentOf(absl::string_view name) {
  if (const auto id = MatchName("organizations/*", name)) {
    const bool is_one = id->front() == "-" || IsDnsLabel(id->front());
    return is_one ? std::optional(Parent::kOrganization) : std::nullopt;
  }
  if (lifecycle::ParseClusterName(name)) return Parent::kCluster;
  if (lifecycle::ParsePoolName(name)) return Parent::kNodePool;
  if (quota::ParseQuotaName(name)) return Parent::kQuota;
  return std::nullopt;
}

absl::StatusOr<history::v1::ListPastResponse> PastOf(const ServicePart& part,
                                                     const history::v1::ListPastRequest& request,
                                                     const PastPlace& place, size_t size,
                                                     absl::Time deadline) {
  // Only a caller that may read everywhere is let in with `-`, which is no organization's id.
  const bool of_all = request.parent() == "organizations/-";
  ASSIGN_OR_RETURN(
      const storage::PastPage page,
      part.history.list_past(
          {of_all ? "organizations/" : absl::StrCat(request.parent(), "/"), request.collection()},
          place.then, place.after, size, deadline));
  return ToResponse(request, part, page);
}

}  // namespace

HistoryHandlers::HistoryHandlers(const std::vector<ServicePart>* parts,
                                 std::shared_ptr<CpuShare> cpu)
    : parts_(*parts), calls_({.threads = 2, .cpu = std::move(cpu)}) {}

Place HistoryHandlers::PlaceOf(absl::string_view name) const {
  const absl::string_view collection = CollectionOf(name);
  const ServicePart* part = PartOf(name);
  // A pool's own: whose it is now (SeesOneLife).
  return IsOfAPool(collection) && part != nullptr ? part->rpc.place_of(name)
                                                  : access::PlaceOfName(name);
}

void HistoryHandlers::CatchUp(std::function<void(const absl::Status&)> done,
                              absl::Time deadline) const {
  std::vector<const ServicePart*> owners;
  for (const absl::string_view collection : kOfAPool) {
    if (const ServicePart* part = PartOfCollection(collection)) owners.push_back(part);
  }
  if (owners.empty()) return done(absl::OkStatus());
  const auto joint = std::make_shared<Joint>(owners.size(), std::move(done));
  for (const ServicePart* part : owners)
    part->rpc.catch_up([joint](const absl::Status& status) { joint->Take(status); }, deadline);
}

const ServicePart* HistoryHandlers::PartOf(absl::string_view name) const {
  return PartOfCollection(CollectionOf(name));
}

const ServicePart* HistoryHandlers::PartOfCollection(absl::string_view id) const {
  const absl::string_view service = ServiceOfCollection(id);
  const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const ServicePart& candidate) {
    return candidate.name == service;
  });
  return part == parts_.end() ? nullptr : &*part;
}

template <class Response, class Ask>
void HistoryHandlers::Answer(rpc::Responder responder, Response* response, Ask ask) {
  calls_.Add(std::move(responder), [response, ask = std::move(ask)](rpc::Responder& waiting) {
    absl::StatusOr<Response> answer = ask(waiting.deadline());
    waiting.Reply([&] {
      if (!answer.ok()) return answer.status();
      *response = *std::move(answer);
      return absl::OkStatus();
    });
  });
}

grpc::ServerUnaryReactor* HistoryHandlers::ListChanges(
    grpc::CallbackServerContext* context, const history::v1::ListChangesRequest* request,
    history::v1::ListChangesResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    error::Faults faults;
    const ServicePart* part = PartOf(request->name());
    faults.Require(part != nullptr, "name", "must be the name of a resource that is kept here.");
    const int size = SizeOf(*request, faults);
    if (!faults.empty()) return responder.Finish(faults.status());
    const absl::StatusOr<std::string> token = rpc::ParsePageToken(*request, request->page_token());
    if (!token.ok()) return responder.Finish(token.status());
    storage::LogStart start;
    if (!token->empty()) {
      const absl::Status read = ReadRevision(*token, start.newest, start.incarnation);
      if (!read.ok()) return responder.Finish(read);
    }
    const bool one_life = SeesOneLife(request->name(), responder);
    Answer(std::move(responder), response,
           [part, request = *request, size, start,
            one_life](absl::Time deadline) -> absl::StatusOr<history::v1::ListChangesResponse> {
             ASSIGN_OR_RETURN(const ChangeLog log,
                              one_life ? ListThisLife(*part, request.name(), start, size, deadline)
                                       : part->history.list(request.name(), start, size, deadline));
             return ToResponse(request, *part, log);
           });
  });
}

grpc::ServerUnaryReactor* HistoryHandlers::GetPast(grpc::CallbackServerContext* context,
                                                   const history::v1::GetPastRequest* request,
                                                   history::v1::GetPastResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    const ServicePart* part = PartOf(request->name());
    if (part == nullptr) {
      return responder.Finish(
          error::InvalidField("name", "must be the name of a resource that is kept here."));
    }
    const absl::StatusOr<storage::Moment> then = MomentOf(*request);
    if (!then.ok()) return responder.Finish(then.status());
    const storage::Lives lives =
        SeesOneLife(request->name(), responder) ? storage::Lives::kLast : storage::Lives::kAll;
    Answer(std::move(responder), response,
           [part, name = request->name(), then = *then,
            lives](absl::Time deadline) -> absl::StatusOr<history::v1::GetPastResponse> {
             ASSIGN_OR_RETURN(const ChangeLog log,
                              part->history.get_past(name, then, lives, deadline));
             return ToPast(*part, log);
           });
  });
}

grpc::ServerUnaryReactor* HistoryHandlers::ListPast(grpc::CallbackServerContext* context,
                                                    const history::v1::ListPastRequest* request,
                                                    history::v1::ListPastResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    error::Faults faults;
    const ServicePart* part = PartOfCollection(request->collection());
    const std::optional<Parent> parent = ParentOf(request->parent());
    const bool is_listed = part != nullptr && IsListed(request->collection());
    faults.Require(parent.has_value(), "parent",
                   "must be the name of an organization, a cluster, a NodePool or a Quota, or "
                   "`organizations/-`: all of them.");
    faults.Require(
        is_listed, "collection",
        "must be clusters, nodePools, nodes, events, quotas or holdings, and kept here.");
    faults.Require(!parent || !is_listed || IsBelow(request->collection(), *parent), "collection",
                   "must be one of those that are below such a parent.");
    if (!faults.empty()) return responder.Finish(faults.status());
    const absl::StatusOr<storage::Moment> then = MomentOf(*request);
    if (!then.ok()) return responder.Finish(then.status());
    const absl::StatusOr<rpc::Page> page = rpc::ReadPage(*request);
    if (!page.ok()) return responder.Finish(page.status());
    const absl::StatusOr<PastPlace> place = ReadPlace(page->after, *then);
    if (!place.ok()) return responder.Finish(place.status());
    Answer(std::move(responder), response,
           [part, request = *request, size = static_cast<size_t>(page->size), place = *place](
               absl::Time deadline) { return PastOf(*part, request, place, size, deadline); });
  });
}

}  // namespace muster::musterd
