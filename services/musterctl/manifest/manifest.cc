#include "services/musterctl/manifest/manifest.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/kubernetes_names.h"
#include "services/common/quota_name.h"
#include "services/common/status_macros.h"
#include "services/musterctl/manifest/document.h"
#include "services/musterctl/manifest/kinds.h"
#include "services/musterctl/manifest/machine_set.h"
#include "services/musterctl/manifest/manifest_reader.h"

namespace muster::musterctl {
namespace {

constexpr absl::string_view kMusterApi = "muster/v1";
constexpr absl::string_view kClasses[] = {"default", "spot"};
constexpr absl::string_view kAccesses[] = {"general", "dedicated"};
constexpr absl::string_view kComponents[] = {"gpu-driver", "ncore-image", "kubernetes", "kernel"};
constexpr absl::string_view kKinds[] = {"Zone",  "InstanceType", "MachineSet", "Machine",
                                        "Quota", "Release",      "Cluster",    "NodePool"};

Resource ReadZone(ManifestReader& in) {
  capacity::v1::Zone zone;
  const std::string name = in.Name();
  zone.set_name(absl::StrCat("zones/", name));
  if (const auto access = in.spec.Word("access", kAccesses, Need::kRequired)) {
    zone.set_access(*access == "general" ? capacity::v1::Zone::ACCESS_GENERAL
                                         : capacity::v1::Zone::ACCESS_DEDICATED);
  }
  for (std::string& type : in.spec.Strings("instanceTypes"))
    zone.add_instance_types(std::move(type));
  in.label = absl::StrCat("zone/", name);
  return zone;
}

Resource ReadInstanceType(ManifestReader& in) {
  capacity::v1::InstanceType type;
  const std::string name = in.Name();
  type.set_name(absl::StrCat("instanceTypes/", name));
  type.set_gpus(in.spec.Integer32("gpus").value_or(0));
  type.set_gpu_model(in.spec.String("gpuModel").value_or(""));
  type.set_vcpus(in.spec.Integer32("vcpus", Need::kRequired).value_or(0));
  type.set_memory_kib(in.spec.Integer("memoryKib", Need::kRequired).value_or(0));
  type.set_ephemeral_storage_kib(
      in.spec.Integer("ephemeralStorageKib", Need::kRequired).value_or(0));
  type.set_architecture(in.spec.String("architecture", Need::kRequired).value_or(""));
  type.set_max_pods(in.spec.Integer32("maxPods", Need::kRequired).value_or(0));
  type.set_superchip(in.spec.Bool("superchip").value_or(false));
  type.set_nodes_per_rack(in.spec.Integer32("nodesPerRack").value_or(0));
  type.set_fabric(in.spec.Bool("fabric").value_or(false));
  in.label = absl::StrCat("instancetype/", name);
  return type;
}

Resource ReadMachineSet(ManifestReader& in) {
  MachineSet set{.name = in.Name()};
  const auto count = in.spec.Integer("count", Need::kRequired, 1, kMaxMachinesASet);
  const MachineSetSpec spec{
      .prefix = set.name,
      .zone = in.spec.Id("zone", Need::kRequired).value_or(""),
      .instance_type = in.spec.Id("instanceType", Need::kRequired).value_or(""),
      .fabric = in.spec.String("fabric").value_or(""),
      .count = count.value_or(0),
      .racks = in.spec.Integer("racks", Need::kOptional, 1, kMaxMachinesASet).value_or(0),
  };
  in.label = absl::StrCat("machineset/", set.name);
  in.context.machines += spec.count;
  if (in.context.machines > kMaxMachinesASet) {
    in.spec.Complain("count",
                     absl::StrCat("more than ", kMaxMachinesASet, " machines in one file"));
  } else {
    set.machines = Expand(spec, in.context.machine_ids);
  }
  return set;
}

Resource ReadMachine(ManifestReader& in) {
  capacity::v1::Machine machine;
  const std::string name = in.Name();
  machine.set_name(absl::StrCat("machines/", name));
  machine.set_zone(in.spec.Id("zone", Need::kRequired).value_or(""));
  machine.set_instance_type(in.spec.Id("instanceType", Need::kRequired).value_or(""));
  machine.set_fabric(in.spec.String("fabric").value_or(""));
  machine.set_rack(in.spec.String("rack").value_or(""));
  machine.set_slot(in.spec.Integer32("slot").value_or(0));
  for (auto& [key, value] : in.spec.StringMap("labels"))
    (*machine.mutable_labels())[key] = std::move(value);
  in.label = absl::StrCat("machine/", name);
  if (!in.context.machine_ids.insert(name).second)
    in.metadata.Complain("name", "is the id of another machine of the file");
  return machine;
}

void SetTime(std::optional<absl::Time> time, google::protobuf::Timestamp* out) {
  if (!time) return;
  out->set_seconds(absl::ToUnixSeconds(*time));
  out->set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(*time - absl::FromUnixSeconds(out->seconds()))));
}

void ReadOverrides(ManifestReader& in, quota::v1::Quota& quota) {
  const Value* list = in.spec.List("overrides");
  if (list == nullptr) return;
  in.says_overrides = true;
  for (size_t i = 0; i < list->list.size(); ++i) {
    Fields fields(&list->list[i], absl::StrCat(in.spec.Path("overrides"), "[", i, "]"),
                  in.problems);
    quota::v1::LimitOverride& added = *quota.add_overrides();
    added.set_limit(fields.Integer("limit", Need::kRequired).value_or(0));
    SetTime(fields.Time("effectiveTime", Need::kRequired), added.mutable_effective_time());
    SetTime(fields.Time("expireTime", Need::kRequired), added.mutable_expire_time());
    added.set_reason(fields.String("reason").value_or(""));
  }
}

Resource ReadQuota(ManifestReader& in) {
  quota::v1::Quota quota;
  in.SkipName();
  // In the order in which faults are told.
  const std::string zone = in.spec.Id("zone", Need::kRequired).value_or("");
  const std::string type = in.spec.Id("instanceType", Need::kRequired).value_or("");
  const std::string id = QuotaIdOf(zone, type, in.spec.Word("computeClass", kClasses).value_or(""));
  quota.set_name(QuotaNameOf(in.Organization(), id));
  quota.set_limit(in.spec.Integer("limit", Need::kRequired).value_or(0));
  ReadOverrides(in, quota);
  in.label = absl::StrCat("quota/", id);
  return quota;
}

Resource ReadRelease(ManifestReader& in) {
  configuration::v1::Release release;
  in.SkipName();
  const std::string channel = in.spec.Id("channel", Need::kRequired).value_or("");
  const std::string component =
      in.spec.Word("component", kComponents, Need::kRequired).value_or("");
  const std::string version = in.spec.Id("version", Need::kRequired).value_or("");
  release.set_name(ReleaseName(channel, component, version));
  if (in.status != nullptr && in.status->Find("withdrawTime") != nullptr) {
    // The time does not matter. So output of `get` that is applied elsewhere does not publish a
    // withdrawn release.
    release.mutable_withdraw_time();
    in.notes.push_back("was withdrawn, and is not published; without its status it is");
  }
  in.label = absl::StrCat("release/", channel, "~", component, "~", version);
  return release;
}

Resource ReadCluster(ManifestReader& in) {
  lifecycle::v1::Cluster cluster;
  const std::string name = in.Name();
  cluster.set_name(absl::StrCat("organizations/", in.Organization(), "/clusters/", name));
  cluster.set_zone(in.spec.Id("zone", Need::kRequired).value_or(""));
  cluster.set_kubernetes_version(in.spec.String("kubernetesVersion").value_or(""));
  in.label = absl::StrCat("cluster/", name);
  return cluster;
}

using Reader = Resource (*)(ManifestReader&);

Reader ReaderOf(absl::string_view api, absl::string_view kind) {
  static constexpr std::pair<absl::string_view, Reader> kReaders[] = {
      {"Zone", ReadZone},      {"InstanceType", ReadInstanceType}, {"MachineSet", ReadMachineSet},
      {"Quota", ReadQuota},    {"Machine", ReadMachine},           {"Release", ReadRelease},
      {"Cluster", ReadCluster}};
  if (api == kNodePoolApiVersion) return kind == "NodePool" ? ReadNodePool : nullptr;
  for (const auto& [name, reader] : kReaders) {
    if (api == kMusterApi && name == kind) return reader;
  }
  return nullptr;
}

// Reports why there is no reader: the apiVersion, or the kind.
void ComplainOfKind(Fields& top, const std::string& api, const std::string& kind) {
  if (api != kMusterApi && api != kNodePoolApiVersion) {
    top.Complain("apiVersion", absl::StrCat("must be ", kMusterApi, " or ", kNodePoolApiVersion,
                                            ", is \"", api, "\""));
  } else if (std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds)) {
    top.Complain("kind",
                 absl::StrCat("unknown kind \"", kind, "\"; known: ", absl::StrJoin(kKinds, ", ")));
  } else {
    top.Complain("apiVersion", absl::StrCat(kind, " belongs to ",
                                            api == kMusterApi ? kNodePoolApiVersion : kMusterApi));
  }
}

void ReadResource(const Document& document, const Value& value, const std::string& path,
                  Context& context, Problems& problems, std::vector<Manifest>& out);

void ReadList(const Document& document, Fields& top, Context& context, Problems& problems,
              std::vector<Manifest>& out) {
  top.Skip("metadata");
  const Value* items = top.List("items", Need::kRequired);
  for (size_t i = 0; items != nullptr && i < items->list.size(); ++i) {
    ReadResource(document, items->list[i], absl::StrCat("items[", i, "]"), context, problems, out);
  }
}

void ReadResource(const Document& document, const Value& value, const std::string& path,
                  Context& context, Problems& problems, std::vector<Manifest>& out) {
  Fields top(&value, path, problems);
  const std::string api = top.String("apiVersion", Need::kRequired).value_or("");
  const std::string kind = top.String("kind", Need::kRequired).value_or("");
  if (kind == "List" && path.empty()) return ReadList(document, top, context, problems, out);
  const Value* metadata = top.Map("metadata", Need::kRequired);
  const Value* spec = top.Map("spec", Need::kRequired);
  top.Skip("status");
  if (value.type != Value::Type::kMap || api.empty() || kind.empty()) return;
  const Reader reader = ReaderOf(api, kind);
  if (reader == nullptr) return ComplainOfKind(top, api, kind);
  Fields metadata_fields(metadata, top.Path("metadata"), problems);
  Fields spec_fields(spec, top.Path("spec"), problems);
  // Fields of musterctl's and kubectl's `get -o yaml` that servers and controllers set, and the
  // cell: accepted and ignored.
  for (const absl::string_view name :
       {"uid", "generation", "resourceVersion", "creationTimestamp", "deletionTimestamp",
        "deletionGracePeriodSeconds", "managedFields", "finalizers", "ownerReferences",
        "generateName", "selfLink", "cell"}) {
    metadata_fields.Skip(name);
  }
  ManifestReader reading{metadata_fields, spec_fields, value.Find("status"), context, problems};
  Resource resource = reader(reading);
  out.push_back({.resource = std::move(resource),
                 .label = std::move(reading.label),
                 .place = Place(document.file, document.number, value.line),
                 .notes = std::move(reading.notes),
                 .says_overrides = reading.says_overrides});
}

std::string FullName(const Resource& resource) {
  struct Visitor {
    std::string operator()(const MachineSet& set) const {
      return absl::StrCat("machineSets/", set.name);
    }
    std::string operator()(const google::protobuf::Message& message) const {
      const auto* name = message.GetDescriptor()->FindFieldByName("name");
      return message.GetReflection()->GetString(message, name);
    }
  };
  return std::visit(Visitor{}, resource);
}

}  // namespace

absl::StatusOr<std::vector<Manifest>> ParseManifests(absl::string_view file, absl::string_view text,
                                                     const Scope& scope) {
  ASSIGN_OR_RETURN(const std::vector<Document> documents, ParseDocuments(file, text));
  Context context{.scope = scope};
  std::vector<Manifest> manifests;
  std::vector<std::string> faults;
  size_t others = 0;
  for (const Document& document : documents) {
    Problems problems(document.file, document.number);
    ReadResource(document, document.value, "", context, problems, manifests);
    others += problems.others();
    for (const std::string& line : problems.lines()) {
      if (faults.size() < Problems::kMaxNamed) {
        faults.push_back(line);
      } else {
        ++others;
      }
    }
  }
  if (others > 0) faults.push_back(absl::StrCat("and ", others, " more"));
  if (!faults.empty()) return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  if (manifests.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": has no document"));
  RETURN_IF_ERROR(CheckEachOnce(manifests));
  return manifests;
}

absl::Status CheckEachOnce(const std::vector<Manifest>& manifests) {
  absl::flat_hash_map<std::string, std::string> places;  // by what is there
  for (const Manifest& manifest : manifests) {
    const auto [at, is_new] = places.emplace(FullName(manifest.resource), manifest.place);
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat(manifest.place, ": ", manifest.label,
                                                   " is there twice, also in ", at->second));
  }
  return absl::OkStatus();
}

void SortForSending(std::vector<Manifest>& manifests) {
  std::stable_sort(manifests.begin(), manifests.end(), [](const Manifest& a, const Manifest& b) {
    return a.resource.index() < b.resource.index();
  });
}

}  // namespace muster::musterctl
