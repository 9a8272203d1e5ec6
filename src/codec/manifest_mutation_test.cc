#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/random.h"
#include "codec/manifest.h"

// Whatever people do to a manifest, they get an answer with a place in the file.
namespace berth::codec {
namespace {

std::string seed_file(const std::string& name) {
  std::ifstream in(std::string(BERTH_SOURCE_DIR) + "/tests/fuzz/corpus/manifest/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

constexpr std::string_view kPieces[] = {"\n",
                                        "  ",
                                        ":",
                                        "- ",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "\"",
                                        "'",
                                        "#",
                                        "&a ",
                                        "*a",
                                        "!x ",
                                        "---\n",
                                        "~",
                                        "all",
                                        "-1",
                                        "99999999999999999999",
                                        "1.5",
                                        "\t",
                                        "\xFF",
                                        "\xC3\xA4",
                                        "null",
                                        "kind: Node\n"};

std::size_t somewhere(const std::string& text, Random& random) {
  return static_cast<std::size_t>(random.below(text.size() + 1));
}

void mutate(std::string& text, Random& random) {
  const std::size_t at = somewhere(text, random);
  const std::size_t length = static_cast<std::size_t>(random.below(20));
  switch (random.below(4)) {
    case 0: text.erase(at, length); break;
    case 1: text.insert(at, kPieces[random.below(std::size(kPieces))]); break;
    case 2: text.insert(at, text.substr(somewhere(text, random), length)); break;
    default: text.replace(at, at < text.size() ? 1 : 0, 1, static_cast<char>(random.below(256)));
  }
}

void expect_places(const ParsedManifest& parsed, const std::string& text) {
  for (const Diagnostic& diagnostic : parsed.diagnostics) {
    ASSERT_GE(diagnostic.line, 1u) << text;
    ASSERT_GE(diagnostic.column, 1u) << text;
    ASSERT_FALSE(diagnostic.what.empty()) << text;
    ASSERT_EQ(diagnostic.file, "f") << text;
  }
  ASSERT_EQ(parsed.documents.empty(), !parsed.ok() || parsed.documents.empty());
}

TEST(MutatedManifests, GetAnAnswerWithAPlace) {
  Random random(20240601);
  const std::string seeds[] = {seed_file("every_field.yaml"), seed_file("forms.yaml"),
                               seed_file("no_errors.yaml")};
  int refused = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::string text = seeds[random.below(std::size(seeds))];
    for (auto n = random.below(4); n < 4; ++n) mutate(text, random);
    const ParsedManifest parsed = parse_manifests({{"f", text}});
    expect_places(parsed, text);
    if (!parsed.ok()) ++refused;
  }
  EXPECT_GT(refused, 1'000);
  EXPECT_LT(refused, 5'000) << "some mutations are harmless";
}

}  // namespace
}  // namespace berth::codec
