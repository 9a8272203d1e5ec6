#include "codec/json_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace berth::codec {
namespace {

constexpr std::size_t kDepthMax = 64;

// Builds the tree bottom up: `open_` holds the lists and maps that have begun and not ended.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add_plain("null"); }
  bool boolean(bool value) override { return add_plain(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add_plain(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return add_plain(std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) override { return add_plain(text); }
  bool string(string_t& text) override {
    Tree tree;
    tree.quoted = true;
    tree.text = std::move(text);
    return add(std::move(tree));
  }
  bool binary(binary_t&) override { return fail("binary data in JSON"); }

  bool start_object(std::size_t) override { return open(Tree::Kind::Map); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Tree::Kind::List); }
  bool end_array() override { return close(); }
  bool key(string_t& text) override {
    open_.back().keys.push_back({std::move(text), {}});
    return true;
  }

  bool parse_error(std::size_t offset, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail(fmt::format("not JSON, at byte {}", offset));
  }

  Result<Tree> finish() && {
    if (!problem_.empty()) return Error{Code::Damaged, std::move(problem_)};
    return std::move(root_);
  }

 private:
  bool open(Tree::Kind kind) {
    if (open_.size() == kDepthMax) return fail("nested too deeply");
    open_.emplace_back().kind = kind;
    return true;
  }

  bool close() {
    Tree done = std::move(open_.back());
    open_.pop_back();
    return add(std::move(done));
  }

  bool add(Tree tree) {
    (open_.empty() ? root_ : open_.back().children.emplace_back()) = std::move(tree);
    return true;
  }

  bool add_plain(std::string text) {
    Tree tree;
    tree.text = std::move(text);
    return add(std::move(tree));
  }

  bool fail(std::string what) {
    problem_ = std::move(what);
    return false;
  }

  std::vector<Tree> open_;
  Tree root_;
  std::string problem_;
};

}  // namespace

Result<Tree> read_json(std::string_view text) {
  TreeBuilder builder;
  nlohmann::json::sax_parse(text, &builder);
  return std::move(builder).finish();
}

}  // namespace berth::codec
