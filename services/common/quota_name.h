#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

// Makes the names of quotas. They are taken apart in services/quota/core/names.h.
namespace muster {

// `US-EAST-04A~gd-8xa100-i128~default`; an empty class means `default`.
inline std::string QuotaIdOf(absl::string_view zone, absl::string_view instance_type,
                             absl::string_view compute_class) {
  return absl::StrCat(zone, "~", instance_type, "~",
                      compute_class.empty() ? "default" : compute_class);
}

// `organizations/acme/quotas/` and an id as above.
inline std::string QuotaNameOf(absl::string_view organization, absl::string_view id) {
  return absl::StrCat("organizations/", organization, "/quotas/", id);
}

}  // namespace muster
