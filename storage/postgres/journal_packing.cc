#include "storage/postgres/journal_packing.h"

#include <zstd.h>

#include <cstddef>
#include <memory>
#include <stdexcept>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::storage {
namespace {

constexpr char kPackedByte = 0x07;
constexpr char kWhole = 0x01;
constexpr char kWithoutKey = 0x02;
constexpr size_t kPackedHeader = 2;
// What a zstd frame begins with (RFC 8878, 3.1.1).
constexpr absl::string_view kFrameMagic = "\x28\xB5\x2F\xFD";
// The one that gains most of what there is to gain, in a microsecond or two.
constexpr int kZstdLevel = 1;
// More than any change has: what says so is broken.
constexpr unsigned long long kMostUnpacked = 256ULL << 20;

// Contexts are made once a thread: each takes longer than what it is used for.
ZSTD_CCtx* PackingContext() {
  thread_local const auto context = [] {
    static ZSTD_CDict* const dictionary =
        ZSTD_createCDict(PackingDictionary().data(), PackingDictionary().size(), kZstdLevel);
    std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> made(ZSTD_createCCtx(), &ZSTD_freeCCtx);
    ZSTD_CCtx_setParameter(made.get(), ZSTD_c_dictIDFlag, 0);
    ZSTD_CCtx_refCDict(made.get(), dictionary);
    return made;
  }();
  return context.get();
}

ZSTD_DCtx* UnpackingContext() {
  thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                                &ZSTD_freeDCtx);
  return context.get();
}

const ZSTD_DDict* UnpackingDictionary() {
  static const ZSTD_DDict* const dictionary =
      ZSTD_createDDict(PackingDictionary().data(), PackingDictionary().size());
  return dictionary;
}

// Field 1 of a message, a string.
std::string FieldOfKey(absl::string_view key) {
  std::string field = "\x0A";
  size_t size = key.size();
  for (; size >= 0x80; size >>= 7) field.push_back(static_cast<char>(size | 0x80));
  field.push_back(static_cast<char>(size));
  absl::StrAppend(&field, key);
  return field;
}

}  // namespace

std::optional<JournalPacking> ParseJournalPacking(absl::string_view name) {
  const auto* const found = absl::c_find(kJournalPackings, name);
  if (found == std::end(kJournalPackings)) return std::nullopt;
  return static_cast<JournalPacking>(found - std::begin(kJournalPackings));
}

std::string Pack(absl::string_view key, absl::string_view message) {
  const std::string field = FieldOfKey(key);
  const bool with_key = absl::StartsWith(message, field);
  const absl::string_view rest = with_key ? message.substr(field.size()) : message;
  std::string packed(kPackedHeader + ZSTD_compressBound(rest.size()), '\0');
  // Where the frame goes, its magic number is where the header will be, and before that.
  const size_t size =
      ZSTD_compress2(PackingContext(), &packed[0], packed.size(), rest.data(), rest.size());
  if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));
  packed.resize(size);
  packed.erase(0, kFrameMagic.size() - kPackedHeader);
  packed[0] = kPackedByte;
  packed[1] = with_key ? kWithoutKey : kWhole;
  const bool is_plain = message.empty() || message[0] != kPackedByte;
  return is_plain && packed.size() >= message.size() ? std::string(message) : packed;
}

std::string Unpack(absl::string_view key, std::string bytes) {
  if (bytes.size() < kPackedHeader || bytes[0] != kPackedByte) return bytes;
  if (bytes[1] != kWhole && bytes[1] != kWithoutKey) return bytes;
  const std::string frame =
      absl::StrCat(kFrameMagic, absl::string_view(bytes).substr(kPackedHeader));
  // Unless it is known: more than any.
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size > kMostUnpacked) return bytes;
  std::string message = bytes[1] == kWithoutKey ? FieldOfKey(key) : "";
  const size_t begin = message.size();
  message.resize(begin + size);
  const size_t unpacked = ZSTD_decompress_usingDDict(
      UnpackingContext(), &message[begin], size, frame.data(), frame.size(), UnpackingDictionary());
  return unpacked == size ? message : bytes;
}

bool IsStillPacked(absl::string_view bytes) { return !bytes.empty() && bytes[0] == kPackedByte; }

}  // namespace muster::storage
