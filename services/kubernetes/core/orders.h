#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "muster/configuration/v1/configuration.pb.h"
#include "services/kubernetes/core/objects.h"

namespace muster::kubernetes {

// What the annotations promote-configuration and rollback-configuration of a NodePool come to.
//
// The words `pending` and `previous` mean something else once they were carried out. So a word is
// first replaced, on the object, by the profile that it means; carrying that out twice, before and
// after a crash, has the effect of once. One that means nothing is asked for as it is, so that
// Muster tells why nothing comes of it; from then on it stays that word, whatever it would mean by
// now.
struct OrderStep {
  enum class Kind {
    kNone,      // no annotation asks for anything
    kReplace,   // write `profile` in place of the word
    kPromote,   // ask for it, then remove the annotation
    kRollback,  // likewise
    kRemove,    // carried out before: only remove the annotation
    kConflict,  // both are asked for: ask for both at once, which drops and tells them; remove both
    kNonsense,  // an empty annotation: remove it, tell
  };
  Kind kind = Kind::kNone;
  std::string annotation = {};  // its key
  std::string value = {};       // as it is on the object
  std::string profile = {};     // a profile id, `pending` or `previous`
  bool by_word = false;         // `profile` is the word itself, for want of a meaning
};
// Whether what the object orders depends on what `previous` means.
bool AsksForPrevious(const NodePoolObject& object);
// `previous`: the profile that the word means now, by configuration's own rule; empty: none, or it
// was not asked. Then the word itself is asked for, and the answer says why not. `by_word`: the
// word itself was asked for before.
OrderStep NextOrder(const NodePoolObject& object,
                    const configuration::v1::PoolConfiguration& configuration,
                    const std::string& previous, bool by_word = false);

// JSON patches that change the annotation only if it still has that value.
Json ReplaceAnnotation(absl::string_view key, absl::string_view value, absl::string_view with);
Json RemoveAnnotation(absl::string_view key, absl::string_view value);
// The annotation of the step; of a conflict both.
Json RemovalOf(const OrderStep& step, const NodePoolObject& object);

}  // namespace muster::kubernetes
