#include "services/lifecycle/core/spec_fields.h"

#include <algorithm>
#include <optional>
#include <type_traits>

namespace muster::lifecycle {
namespace {

struct Field {
  absl::string_view path;
  void (*copy)(const Spec& from, Spec& to);
  bool (*same)(const Spec& a, const Spec& b);  // null: a part of the one before it
};

// A part of an optional message, which becomes missing when none of its parts is set any more.
template <auto kWhole, auto kPart>
void CopyPart(const Spec& from, Spec& to) {
  using Whole = typename std::remove_reference_t<decltype(to.*kWhole)>::value_type;
  Whole whole = (to.*kWhole).value_or(Whole());
  whole.*kPart = (from.*kWhole).value_or(Whole()).*kPart;
  to.*kWhole = whole == Whole() ? std::nullopt : std::optional(whole);
}
template <auto kWhole, auto kPart>
constexpr Field Part(absl::string_view path) {
  return {path, &CopyPart<kWhole, kPart>, nullptr};
}

template <auto kMember>
constexpr Field Whole(absl::string_view path) {
  return {path, [](const Spec& from, Spec& to) { to.*kMember = from.*kMember; },
          [](const Spec& a, const Spec& b) { return a.*kMember == b.*kMember; }};
}

constexpr Field kFields[] = {
    Whole<&Spec::compute_class>("spec.compute_class"),
    Whole<&Spec::instance_type>("spec.instance_type"),
    Whole<&Spec::target_nodes>("spec.target_nodes"),
    Whole<&Spec::min_nodes>("spec.min_nodes"),
    Whole<&Spec::max_nodes>("spec.max_nodes"),
    Whole<&Spec::node_labels>("spec.node_labels"),
    Whole<&Spec::node_annotations>("spec.node_annotations"),
    Whole<&Spec::node_taints>("spec.node_taints"),
    Whole<&Spec::image>("spec.image"),
    Part<&Spec::image, &Image::kernel>("spec.image.kernel"),
    Part<&Spec::image, &Image::name>("spec.image.name"),
    Part<&Spec::image, &Image::release_train>("spec.image.release_train"),
    Whole<&Spec::gpu>("spec.gpu"),
    Part<&Spec::gpu, &Gpu::version>("spec.gpu.version"),
    Whole<&Spec::autoscaling>("spec.autoscaling"),
    Whole<&Spec::scale_down_strategy>("spec.lifecycle.scale_down_strategy"),
    Whole<&Spec::disable_unhealthy_node_eviction>("spec.lifecycle.disable_unhealthy_node_eviction"),
    Whole<&Spec::max_unavailable>("spec.lifecycle.max_unavailable"),
    Whole<&Spec::update_strategy>("spec.node_configuration_update_strategy.type"),
    Whole<&Spec::node_affinity>("spec.node_affinity"),
    Whole<&Spec::priority>("spec.priority"),
    Whole<&Spec::gang>("spec.gang"),
    Whole<&Spec::prefill>("spec.prefill"),
    Part<&Spec::prefill, &Prefill::enabled>("spec.prefill.enabled"),
    Part<&Spec::prefill, &Prefill::timeout_seconds>("spec.prefill.timeout_seconds"),
    Part<&Spec::prefill, &Prefill::max_nodes>("spec.prefill.max_nodes"),
    Whole<&Spec::description>("spec.description"),
};

// `spec.lifecycle` names what is below it, too.
bool Names(absl::string_view path, absl::string_view field) {
  if (path == "*" || path == field) return true;
  return field.size() > path.size() && field.substr(0, path.size()) == path &&
         field[path.size()] == '.';
}

}  // namespace

std::vector<absl::string_view> SpecPaths() {
  std::vector<absl::string_view> paths;
  for (const Field& field : kFields) paths.push_back(field.path);
  return paths;
}

bool NamesField(absl::Span<const std::string> paths, absl::string_view field) {
  return std::any_of(paths.begin(), paths.end(),
                     [field](const std::string& path) { return Names(path, field); });
}

void CopyFields(absl::Span<const std::string> paths, const Spec& from, Spec& to) {
  for (const Field& field : kFields) {
    if (NamesField(paths, field.path)) field.copy(from, to);
  }
}

std::vector<std::string> ChangedFields(const Spec& before, const Spec& after) {
  std::vector<std::string> changed;
  for (const Field& field : kFields)
    if (field.same != nullptr && !field.same(before, after)) changed.emplace_back(field.path);
  return changed;
}

}  // namespace muster::lifecycle
