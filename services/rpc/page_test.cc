#include "services/rpc/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/quota/v1/quota_service.pb.h>

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/escaping.h"
#include "services/common/error.h"
#include "services/rpc/field_mask.h"
#include "services/rpc/limits.h"
#include "services/rpc/list.h"

namespace muster::rpc {
namespace {

using quota::v1::ListHoldingsRequest;
using quota::v1::ListQuotasRequest;

void ExpectInvalid(const absl::Status& status, const std::string& field) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  const auto detail = error::DetailOf(status);
  ASSERT_TRUE(detail.has_value());
  ASSERT_EQ(detail->fields.size(), 1u);
  EXPECT_EQ(detail->fields[0].field, field);
}

ListQuotasRequest QuotasRequest(const std::string& parent, const std::string& token = "") {
  ListQuotasRequest request;
  request.set_parent(parent);
  request.set_page_token(token);
  return request;
}

TEST(PageTest, SizesFollowTheApi) {
  EXPECT_EQ(*PageSize(0), 100);
  EXPECT_EQ(*PageSize(1), 1);
  EXPECT_EQ(*PageSize(1000), 1000);
  EXPECT_EQ(*PageSize(1001), 1000);
  EXPECT_EQ(*PageSize(INT32_MAX), 1000);
  ExpectInvalid(PageSize(-1).status(), "page_size");
  ExpectInvalid(PageSize(INT32_MIN).status(), "page_size");
}

TEST(PageTest, ATokenLeadsToItsKey) {
  EXPECT_EQ(ReadPage(QuotasRequest("a"))->after, "");
  for (const std::string& key :
       {std::string("k"), std::string("a/b~c\xc3\xa4"), std::string(300, 'x')}) {
    EXPECT_EQ(ReadPage(QuotasRequest("a", PageToken(QuotasRequest("a"), key)))->after, key);
  }
}

TEST(PageTest, ATokenIsTextForUrls) {
  for (char c : PageToken(QuotasRequest("a"), "\xff\xfe\xfd key")) {
    EXPECT_TRUE(absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_') << c;
  }
}

TEST(PageTest, TheSizeMayChangeBetweenPagesAndTheTokenGiven) {
  ListQuotasRequest next = QuotasRequest("a", PageToken(QuotasRequest("a"), "k"));
  next.set_page_size(7);
  const std::string third = PageToken(next, "m");
  EXPECT_EQ(third, PageToken(QuotasRequest("a"), "m"));
  EXPECT_EQ(ReadPage(next)->after, "k");
  EXPECT_EQ(ReadPage(next)->size, 7);
}

TEST(PageTest, ATokenOfAnotherRequestIsRefused) {
  const std::string token = PageToken(QuotasRequest("a"), "k");
  ExpectInvalid(ReadPage(QuotasRequest("b", token)).status(), "page_token");
  ListHoldingsRequest other;
  other.set_parent("a");
  other.set_page_token(token);
  ExpectInvalid(ReadPage(other).status(), "page_token");
}

TEST(PageTest, GarbageIsRefused) {
  const std::string token = PageToken(QuotasRequest("a"), "key");
  std::vector<std::string> garbage = {"x",
                                      "not a token!",
                                      "AAAA",
                                      token + "A",
                                      token.substr(1),
                                      absl::WebSafeBase64Escape(std::string(64, '\0')),
                                      std::string(10000, 'A')};
  for (size_t i = 0; i < token.size(); ++i) {
    garbage.push_back(token);
    garbage.back()[i] = token[i] == 'B' ? 'C' : 'B';
  }
  for (const std::string& text : garbage) {
    SCOPED_TRACE(text);
    const auto page = ReadPage(QuotasRequest("a", text));
    // The last character of base64 may have bits that mean nothing.
    if (page.ok()) {
      EXPECT_EQ(page->after, "key");
      EXPECT_EQ(text.substr(0, token.size() - 1), token.substr(0, token.size() - 1));
    } else {
      ExpectInvalid(page.status(), "page_token");
    }
  }
}

TEST(ListPageTest, EndsWithTheRowThatMakesItTooLarge) {
  absl::btree_map<std::string, size_t> rows = {
      {"a", kMaxPageBytes / 2}, {"b", kMaxPageBytes}, {"c", 3 * kMaxPageBytes}, {"d", 1}};
  std::vector<std::vector<std::string>> pages;
  ListQuotasRequest request = QuotasRequest("x");
  do {
    pages.emplace_back();
    const auto page = ReadPage(request);
    request.set_page_token(ListPage(
        request, *page, [&](auto visit) { WalkByKey(rows, "", page->after, visit); },
        [](const auto&) { return true; },
        [&](const auto& row) {
          pages.back().push_back(row.first);
          return row.second;
        }));
  } while (!request.page_token().empty());
  EXPECT_EQ(pages, (std::vector<std::vector<std::string>>{{"a", "b"}, {"c"}, {"d"}}));
}

TEST(ListPageTest, AListThatIsNarrowedGoesOnWithAllThatIsLeft) {
  const absl::btree_map<std::string, int> rows = {{"a/1", 1}, {"b/1", 2}, {"c/1", 3}, {"c/2", 4}};
  std::vector<std::string> seen;
  WalkByKey(rows, "c/", "a/9", [&](const std::string& cursor, const auto&) {
    seen.push_back(cursor);
    return true;
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"c/1", "c/2"}));
}

TEST(ListPageTest, PagesShowEveryRowOfThePrefixOnce) {
  absl::btree_map<std::string, int> rows;
  for (int i = 0; i < 25; ++i) rows["a/" + std::to_string(100 + i)] = i;
  rows["0"] = rows["b/1"] = -1;
  for (int size = 1; size <= 14; ++size) {
    SCOPED_TRACE(size);
    std::vector<int> seen;
    ListQuotasRequest request = QuotasRequest("a");
    request.set_page_size(size);
    int pages = 0;
    do {
      const auto page = ReadPage(request);
      ASSERT_TRUE(page.ok()) << page.status();
      size_t before = seen.size();
      request.set_page_token(ListPage(
          request, *page, [&](auto visit) { WalkByKey(rows, "a/", page->after, visit); },
          [](const auto& row) { return row.second % 2 == 0; },
          [&](const auto& row) {
            seen.push_back(row.second);
            return size_t{1};
          }));
      EXPECT_LE(seen.size() - before, static_cast<size_t>(size));
      EXPECT_GT(seen.size(), before);
      ++pages;
    } while (!request.page_token().empty());
    ASSERT_EQ(seen.size(), 13u);
    for (int i = 0; i < 13; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], 2 * i);
    EXPECT_EQ(pages, (13 + size - 1) / size);
  }
}

absl::Status CheckUpdateMask(const google::protobuf::FieldMask& mask,
                             absl::Span<const absl::string_view> updatable) {
  error::Faults faults;
  rpc::CheckUpdateMask(mask, updatable, faults);
  return faults.status();
}

TEST(FieldMaskTest, UnknownPathsAreRefused) {
  google::protobuf::FieldMask mask;
  EXPECT_TRUE(CheckUpdateMask(mask, {"limit"}).ok());
  EXPECT_TRUE(InUpdateMask(mask, "limit"));
  mask.add_paths("limit");
  EXPECT_TRUE(CheckUpdateMask(mask, {"limit", "name"}).ok());
  EXPECT_TRUE(InUpdateMask(mask, "limit"));
  EXPECT_FALSE(InUpdateMask(mask, "name"));
  mask.add_paths("held");
  ExpectInvalid(CheckUpdateMask(mask, {"limit"}), "update_mask");
  google::protobuf::FieldMask all;
  all.add_paths("*");
  EXPECT_TRUE(CheckUpdateMask(all, {"limit"}).ok());
  EXPECT_TRUE(InUpdateMask(all, "limit"));
}

}  // namespace
}  // namespace muster::rpc
