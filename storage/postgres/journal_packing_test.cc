#include "storage/postgres/journal_packing.h"

#include <gmock/gmock.h>
#include <google/protobuf/any.pb.h>
#include <gtest/gtest.h>
#include <muster/type/v1/kept_request.pb.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "services/common/sha256.h"

namespace muster::storage {
namespace {

constexpr char kNode[] = "organizations/acme/clusters/c1/nodePools/train/nodes/g12";

// A Node in production, as lifecycle writes it, with one label and one condition.
std::string MessageOfNode() {
  return absl::HexStringToBytes(
      "0a386f7267616e697a6174696f6e732f61636d652f636c7573746572732f63312f6e6f6465506f6f6c73"
      "2f747261696e2f6e6f6465732f67313212036731321a2433663861643163302d326230652d346135352d"
      "396630322d35623865316465306337616120042a060880a4a7da063a2a32280a1a6e6f64652e636f7265"
      "77656176652e636c6f75642f7374617465120a70726f64756374696f6e4a470a0d43574e6f646552656d"
      "6f76616c120546616c73651a114e6f7450656e64696e6752656d6f76616c221c4e6f6465206973206e6f"
      "742070656e64696e672072656d6f76616c2e");
}

TEST(JournalPacking, WordsAreReadAsTheyAreWritten) {
  EXPECT_EQ(ParseJournalPacking("none"), JournalPacking::kNone);
  EXPECT_EQ(ParseJournalPacking("zstd"), JournalPacking::kZstd);
  for (const char* other : {"", "lz4", "None", "zstd "})
    EXPECT_EQ(ParseJournalPacking(other), std::nullopt) << other;
}

// What was written by a release is read by all that come after it. A dictionary that is changed,
// or a byte that means something else, makes journals unreadable: write another beside it.
TEST(JournalPacking, TheFormatStaysAsItIs) {
  EXPECT_EQ(Sha256Hex(PackingDictionary()),
            "1e7f04e566985c47f73a42b968e192744089cf1380b252dd7986ea44043a23bf");
  const std::string written = absl::HexStringToBytes(
      "070220aad5010093030b1b4841a95122882e6c71a3538202858c5ae5757c353c2d6ce7993684f51bbb75"
      "edb75d75e63712b98691840202cc744c761e17ce607965");
  EXPECT_EQ(absl::BytesToHexString(Unpack(kNode, written)),
            absl::BytesToHexString(MessageOfNode()));
  const std::string whole = absl::HexStringToBytes(
      "070120e465020063c40d1b4841a95122882e6c71a3538202858c5ae5757c353c2d6ce7993684f51bbb75"
      "edb75d75e63712b98691845cc368a466d052b39736630405fc14509c075775d9942054f6a5beb67605");
  EXPECT_EQ(absl::BytesToHexString(Unpack("of another name", whole)),
            absl::BytesToHexString(MessageOfNode()));
}

TEST(JournalPacking, AMessageTakesAFractionAndTheKeyNothing) {
  const std::string message = MessageOfNode();
  const std::string packed = Pack(kNode, message);
  EXPECT_LT(packed.size() * 5 / 2, message.size());
  EXPECT_LT(packed.size() + 15, Pack("another", message).size());
  EXPECT_EQ(packed[0], 0x07);
  EXPECT_EQ(Unpack(kNode, packed), message);
}

// What a server of a release before says of a packed change.
TEST(JournalPacking, NoMessageCanBeParsedOfWhatIsPacked) {
  for (const std::string& key : {std::string(kNode), std::string("k")}) {
    const std::string packed = Pack(key, MessageOfNode());
    ASSERT_EQ(packed[0], 0x07);
    EXPECT_FALSE(google::protobuf::Any().ParseFromString(packed));
    EXPECT_FALSE(type::v1::KeptRequest().ParseFromString(packed));
  }
}

TEST(JournalPacking, WhatIsBrokenOrNotKnownStaysSo) {
  const std::string packed = Pack(kNode, MessageOfNode());
  const auto stays = [](const std::string& bytes) {
    EXPECT_EQ(Unpack(kNode, bytes), bytes) << absl::BytesToHexString(bytes);
  };
  for (size_t size = 1; size < packed.size(); ++size) stays(packed.substr(0, size));
  stays(packed + "x");
  for (const char form : {'\x00', '\x03', '\x7F'}) {
    std::string later = packed;
    later[1] = form;
    stays(later);
  }
  // A frame that promises more than any change has.
  stays(absl::HexStringToBytes("0701e0ffffffffffffff7f010000"));
}

TEST(JournalPacking, WhateverIsPackedComesBack) {
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string key = std::string(kNode, random() % sizeof(kNode)) +
                            std::string(random() % 8 == 0 ? random() % 300 : 0, 'k');
    std::string bytes;
    if (random() % 3 == 0) {
      google::protobuf::Any named;  // by its field 1
      named.set_type_url(random() % 4 == 0 ? "another" : key);
      bytes = named.SerializeAsString();
    }
    // Pieces of what is known, and noise.
    for (uint64_t pieces = random() % 12; pieces > 0; --pieces) {
      const absl::string_view known = PackingDictionary();
      const size_t size = random() % 90;
      if (random() % 2 == 0) {
        absl::StrAppend(&bytes, known.substr(random() % (known.size() - size), size));
      } else {
        for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(random()));
      }
    }
    if (random() % 16 == 0) bytes.insert(0, 1, '\x07');
    const std::string packed = Pack(key, bytes);
    ASSERT_EQ(Unpack(key, packed), bytes);
    if (bytes.empty() || bytes[0] != '\x07') {
      ASSERT_LE(packed.size(), bytes.size());
    }
  }
}

// Bytes that changed on their way are an error or another message: never a crash.
TEST(JournalPacking, NoiseHarmsNobody) {
  const std::string packed = Pack(kNode, MessageOfNode());
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string bytes = packed;
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips)
      bytes[2 + random() % (bytes.size() - 2)] ^= static_cast<char>(1 << random() % 8);
    EXPECT_LE(Unpack(kNode, bytes).size(), size_t{256} << 20);
  }
}

}  // namespace
}  // namespace muster::storage
