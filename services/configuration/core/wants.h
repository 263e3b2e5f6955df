#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "services/configuration/core/types.h"

namespace muster::configuration {

// What a spec asks for, reduced to what decides the answer: two pools with equal wants get the same
// profile.
//  * An image by name is the release of that name: kernel and release train are not read.
//  * An image that says something (name, kernel, or a train other than `stable`) wins over the GPU
//  version, which is then not read: the driver is the train's newest (reference: "if both are set,
//  gpu will be ignored"). Whether a spec has an image that says only `stable` cannot be seen here;
//  lifecycle then sends no version.
//  * Without GPUs there is no driver.
struct Wants {
  Channel channel = Channel::kStable;
  std::string image_name = {};
  std::string kernel = {};
  bool gpu = false;
  std::vector<int64_t> gpu_driver = {};  // first numbers of the version; empty: any
  std::vector<int64_t> kubernetes = {};  // the same

  auto operator<=>(const Wants&) const = default;
};

// `spec` must be valid (validate.h); what is not a version reads as any.
Wants WantsOf(const Spec& spec);

}  // namespace muster::configuration
