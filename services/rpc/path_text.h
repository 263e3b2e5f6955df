#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// How filters and orders write paths and texts: see muster.type.v1.ListChoice.
namespace muster::rpc {

// INVALID_ARGUMENT: `what` is wrong at the byte `at`.
absl::Status WrongAt(size_t at, absl::string_view what);

// Reads the text in quotes that begins at `text[at]`, and moves `at` behind it. INVALID_ARGUMENT:
// it does not end.
absl::StatusOr<std::string> ReadQuoted(absl::string_view text, size_t& at);

// Reads the word, perhaps an empty one, that begins at `text[at]` and goes on as long as `goes_on`
// is true of its bytes, and moves `at` behind it. After a dot there may be a part in quotes, with
// any bytes. Errors as above.
absl::StatusOr<std::string> ReadWord(absl::string_view text, size_t& at,
                                     absl::FunctionRef<bool(char)> goes_on);

// The parts between the dots of a word that ReadWord returned.
std::vector<std::string> PartsOf(const std::string& word);

}  // namespace muster::rpc
