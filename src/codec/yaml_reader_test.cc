#include "codec/yaml_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace berth::codec {
namespace {

// "line:column: what", or nothing.
std::string problem_of(std::string_view text, const YamlLimits& limits = {}) {
  const YamlFile file = read_yaml(text, limits);
  if (!file.problem) return "";
  return fmt::format("{}:{}: {}", file.problem->at.line, file.problem->at.column,
                     file.problem->what);
}

Tree only_document(std::string_view text) {
  YamlFile file = read_yaml(text);
  EXPECT_FALSE(file.problem);
  EXPECT_EQ(file.documents.size(), 1u);
  return file.documents.empty() ? Tree() : file.documents.front();
}

TEST(ReadYaml, KeepsThePlaceOfEveryKeyAndValue) {
  const Tree tree = only_document("a: 1\nlist:\n  - x\n  - {b: \"2\"}\n");
  ASSERT_EQ(tree.kind, Tree::Kind::Map);
  EXPECT_EQ(tree.keys[1].at, (Position{2, 1}));
  EXPECT_EQ(tree.children[0].at, (Position{1, 4}));
  EXPECT_EQ(locate(tree, "list[0]"), (Position{3, 5}));
  EXPECT_EQ(locate(tree, "list[1].b"), (Position{4, 9}));
}

TEST(ReadYaml, CountsColumnsInCharacters) {
  const Tree tree = only_document("{\xC3\xA4: x, b: y}");
  EXPECT_EQ(locate(tree, "b"), (Position{1, 11}));
}

TEST(Locate, FallsBackToTheNearestAncestor) {
  const Tree tree = only_document("a:\n  b: [x]\n");
  EXPECT_EQ(locate(tree, "a.missing"), (Position{2, 3}));
  EXPECT_EQ(locate(tree, "a.b[7].c"), (Position{2, 6}));
  EXPECT_EQ(locate(tree, "z"), (Position{1, 1}));
  EXPECT_EQ(locate(tree, ""), (Position{1, 1}));
}

TEST(ReadYaml, TellsTextFromPlainValues) {
  const Tree tree = only_document("[1, \"1\", '1', ~, null, \"\", !!str x]");
  EXPECT_FALSE(tree.children[0].quoted);
  EXPECT_TRUE(tree.children[1].quoted);
  EXPECT_TRUE(tree.children[2].quoted);
  EXPECT_TRUE(is_null(tree.children[3]));
  EXPECT_TRUE(is_null(tree.children[4]));
  EXPECT_FALSE(is_null(tree.children[5]));
}

TEST(ReadYaml, ReadsSeveralDocumentsAndJson) {
  EXPECT_EQ(read_yaml("a: 1\n---\nb: 2\n---\n# nothing\n").documents.size(), 3u);
  EXPECT_EQ(only_document(R"({"a":[1,"\u00e4",true],"b":{}})").children[0].children[1].text,
            "\xC3\xA4");
}

TEST(ReadYaml, ExpandsAliasesWithThePlacesOfTheAnchor) {
  const Tree tree = only_document("a: &x {k: v}\nb: *x\n");
  EXPECT_EQ(tree.children[1].children[0].text, "v");
  EXPECT_EQ(locate(tree, "b.k"), (Position{1, 11}));
}

TEST(ReadYaml, TellsSyntaxErrorsWithTheirPlace) {
  EXPECT_EQ(problem_of("a: [1, 2\nb: 3\n"),
            "2:2: did not find expected ',' or ']' while parsing a flow sequence");
  EXPECT_EQ(problem_of("a: 1\n b: 2\n"), "2:3: mapping values are not allowed in this context");
  EXPECT_EQ(problem_of("a: *nobody\n"), "1:4: there is no anchor \"nobody\" before this alias");
  EXPECT_EQ(problem_of("a: &a [*a]\n"), "1:8: there is no anchor \"a\" before this alias");
  EXPECT_EQ(problem_of("a: !mine x\n"), "1:4: tag \"!mine\" is not supported");
  EXPECT_EQ(problem_of("? [a]\n: b\n"), "1:3: a key must be text");
}

TEST(ReadYaml, KeepsTheDocumentsBeforeAProblem) {
  EXPECT_EQ(read_yaml("a: 1\n---\nb: [\n").documents.size(), 1u);
}

TEST(ReadYaml, RefusesWhatIsNoText) {
  EXPECT_EQ(problem_of("a: x\nb: \xFFy\n"), "2:4: not UTF-8 (byte 0xff); a manifest is YAML");
  EXPECT_EQ(problem_of("a: x\nb: \x01\n"), "2:4: not text (byte 0x01); a manifest is YAML");
}

TEST(ReadYaml, SkipsAByteOrderMark) {
  EXPECT_EQ(only_document("\xEF\xBB\xBF"
                          "a: 1")
                .keys[0]
                .text,
            "a");
}

TEST(ReadYaml, RefusesTooLargeTooDeepAndTooMany) {
  EXPECT_EQ(problem_of("abcdef", {.bytes = 5}), "1:1: the file is larger than 5 bytes");
  EXPECT_EQ(problem_of("[[[]]]", {.depth = 3}), "");
  EXPECT_EQ(problem_of("[[[[]]]]", {.depth = 3}), "1:4: nested deeper than 3 levels");
  EXPECT_EQ(problem_of(std::string(100'000, '[')), "1:65: nested deeper than 64 levels");
  EXPECT_EQ(problem_of("[a, b]", {.nodes = 3}), "");
  EXPECT_EQ(problem_of("[a, b, c]", {.nodes = 3}),
            "1:8: the file says more than 3 values, aliases taken as what they stand for");
}

// Each line says the line before ten times.
std::string a_billion_laughs(std::string_view first) {
  std::string text = fmt::format("a0: &a0 {}\n", first);
  for (int i = 1; i < 10; ++i) {
    text += fmt::format("a{}: &a{} [", i, i);
    for (int j = 0; j < 10; ++j) text += fmt::format("*a{}, ", i - 1);
    text += "]\n";
  }
  return text;
}

TEST(ReadYaml, IsNotBlownUpByAliases) {
  EXPECT_EQ(problem_of(a_billion_laughs("lol")),
            "7:5: the file says more than 2000000 values, aliases taken as what they stand for");
  EXPECT_NE(problem_of(a_billion_laughs(std::string(100'000, 'x'))), "");
}

TEST(ReadYaml, CountsTheDepthThatAliasesAdd) {
  EXPECT_EQ(problem_of("- &a [[x]]\n- [[*a]]\n", {.depth = 5}), "2:5: nested deeper than 5 levels");
}

}  // namespace
}  // namespace berth::codec
