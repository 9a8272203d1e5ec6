#include "codec/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace berth::codec {
namespace {

std::string json_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(ValidUtf8Prefix, IsAllOfAValidText) {
  EXPECT_EQ(valid_utf8_prefix("plain"), 5u);
  EXPECT_EQ(valid_utf8_prefix("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x9A\xA2"), 9u);
}

TEST(ValidUtf8Prefix, EndsBeforeWhatIsNoCharacter) {
  EXPECT_EQ(valid_utf8_prefix("ab\x80"), 2u);              // a lonely continuation
  EXPECT_EQ(valid_utf8_prefix("ab\xE2\x82"), 2u);          // cut off
  EXPECT_EQ(valid_utf8_prefix("ab\xC0\xAF"), 2u);          // overlong
  EXPECT_EQ(valid_utf8_prefix("ab\xE0\x80\xAF"), 2u);      // overlong
  EXPECT_EQ(valid_utf8_prefix("ab\xED\xA0\x80"), 2u);      // a surrogate
  EXPECT_EQ(valid_utf8_prefix("ab\xF4\x90\x80\x80"), 2u);  // beyond Unicode
  EXPECT_EQ(valid_utf8_prefix("ab\xFF"), 2u);
}

TEST(Quoted, KeepsMessagesShortAndOnOneLine) {
  EXPECT_EQ(in_quotes("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(in_quotes(std::string(1000, 'x')), "\"" + std::string(64, 'x') + "...\"");
  EXPECT_EQ(in_quotes(std::string(63, 'x') + "\xC3\xA4"), "\"" + std::string(63, 'x') + "...\"");
}

TEST(JsonString, EscapesWhatYamlWouldMisread) {
  EXPECT_EQ(json_of("\"\\\n\t"), R"("\"\\\n\t")");
  EXPECT_EQ(json_of("\x7F\xC2\x85\xE2\x80\xA8\xEF\xBB\xBF"), R"("\u007f\u0085\u2028\ufeff")");
  EXPECT_EQ(json_of(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(JsonString, ReplacesWhatIsNoUtf8SoThatItCanBeReadAgain) {
  EXPECT_EQ(json_of("a\xFF"), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(nlohmann::json::parse(json_of("a\xC3")), "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace berth::codec
