#include "codec/json_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/random.h"

namespace berth::codec {
namespace {

// The tree as JSON again, with every scalar as text: what was plain is marked, and written as the
// other reader would.
nlohmann::json shape_of(const Tree& tree) {
  if (tree.kind == Tree::Kind::Scalar && tree.quoted) return tree.text;
  if (tree.kind == Tree::Kind::Scalar) return "plain " + nlohmann::json::parse(tree.text).dump();
  nlohmann::json shape = nlohmann::json::array();
  for (std::size_t i = 0; i < tree.children.size(); ++i) {
    if (tree.kind == Tree::Kind::Map) shape.push_back("key " + tree.keys[i].text);
    shape.push_back(shape_of(tree.children[i]));
  }
  return shape;
}

// The same of another reader.
nlohmann::json shape_of(const nlohmann::ordered_json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_structured()) return "plain " + json.dump();
  nlohmann::json shape = nlohmann::json::array();
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) shape.push_back("key " + key);
    shape.push_back(shape_of(value));
  }
  return shape;
}

std::string error_of(std::string_view text) {
  const auto tree = read_json(text);
  return tree ? "" : tree.error().message;
}

TEST(ReadJson, ReadsEveryKindOfValue) {
  const auto tree = read_json(R"( {"a": [1, -2.5e+3, true, null], "b": {"c": "d"}, "e": []} )");
  ASSERT_TRUE(tree);
  const auto expected = nlohmann::json::parse(
      R"(["key a", ["plain 1", "plain -2500.0", "plain true", "plain null"],
          "key b", ["key c", "d"], "key e", []])");
  EXPECT_EQ(shape_of(*tree), expected);
}

TEST(ReadJson, ReadsEscapes) {
  EXPECT_EQ(read_json(R"("\"\\\/\b\f\n\r\t")").value().text, "\"\\/\b\f\n\r\t");
  EXPECT_EQ(read_json(R"("\u0041\u00e9\u20AC\ud83d\ude00")").value().text,
            "A\u00e9\u20ac\U0001f600");
  EXPECT_EQ(read_json("\"\u00e9\u20ac\U0001f600\"").value().text, "\u00e9\u20ac\U0001f600");
  EXPECT_EQ(read_json(R"("\u0000")").value().text, std::string(1, '\0'));
}

TEST(ReadJson, SaysWhereItStopped) {
  EXPECT_EQ(error_of(""), "not JSON, at byte 1");
  EXPECT_EQ(error_of("{\"a\":1"), "not JSON, at byte 7");
  EXPECT_EQ(error_of("{\"a\":1,}"), "not JSON, at byte 8");
  EXPECT_EQ(error_of("[1 2]"), "not JSON, at byte 4");
  EXPECT_EQ(error_of("tru"), "not JSON, at byte 4");
  EXPECT_EQ(error_of("1 1"), "not JSON, at byte 3");
  EXPECT_EQ(error_of("\"a\nb\""), "not JSON, at byte 3");
  EXPECT_EQ(error_of("\"ab\xC3(\""), "not JSON, at byte 4");
  EXPECT_EQ(error_of(R"("\ud83d")"), "not JSON, at byte 8");
  EXPECT_EQ(error_of(R"("\ude00")"), "not JSON, at byte 8");
  for (const char* number : {"-", "+1", "1.", ".5", "1e", "0x1", "01", "NaN"}) {
    EXPECT_NE(error_of(number), "") << number;
  }
}

TEST(ReadJson, ReadsNothingThatIsNestedBeyondReason) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(error_of(nested(64)), "");
  EXPECT_EQ(error_of(nested(65)), "nested too deeply");
  EXPECT_EQ(error_of(std::string(1'000'000, '[')), "nested too deeply");
}

std::string random_json(Random& random) {
  constexpr std::array kPieces{
      "{",  "}",   "[",    "]",        ",",    ":",          "\"a\"",   "\"b\"",
      "1",  "-20", "true", "false",    "null", " ",          "\"\\n\"", "\"\\u00e9\"",
      "\"", "\\",  "\n",   "\xC3\xA9", "0",    "\"a\":",     "e",       "12,",
      "[]", "{}",  "\x01", "\xFF",     "-7.5", "\"\\ud83d\""};
  std::string text;
  const auto pieces = random.below(12) + 1;
  for (std::uint64_t i = 0; i < pieces; ++i) text += kPieces[random.below(kPieces.size())];
  return text;
}

// Another reader takes exactly the same texts, for the same.
TEST(ReadJson, AgreesWithAnotherReader) {
  Random random(1);
  int valid = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string text = random_json(random);
    const auto expected = nlohmann::ordered_json::parse(text, nullptr, false);
    const auto tree = read_json(text);
    ASSERT_EQ(tree.has_value(), !expected.is_discarded()) << text;
    if (!tree) continue;
    ++valid;
    const bool repeats_a_key = text.find("\"a\":", text.find("\"a\"") + 1) != std::string::npos;
    if (repeats_a_key) continue;
    ASSERT_EQ(shape_of(*tree), shape_of(expected)) << text;
  }
  EXPECT_GT(valid, 2'000) << "too few are JSON";
}

}  // namespace
}  // namespace berth::codec
