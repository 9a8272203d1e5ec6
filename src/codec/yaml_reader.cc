#include "codec/yaml_reader.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <map>
#include <utility>

#include "codec/text.h"

namespace berth::codec {
namespace {

Position position_of(const yaml_mark_t& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

Position position_of(std::string_view text, std::size_t offset) {
  Position at;
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      at = {at.line + 1, 1};
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++at.column;
    }
  }
  return at;
}

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }

  bool parse(yaml_parser_t& parser) { return yaml_parser_parse(&parser, &event_) != 0; }

  yaml_event_type_t type() const { return event_.type; }
  Position at() const { return position_of(event_.start_mark); }
  const auto& scalar() const { return event_.data.scalar; }
  std::string_view scalar_text() const {
    return {reinterpret_cast<const char*>(scalar().value), scalar().length};
  }

  std::string_view anchor() const {
    switch (event_.type) {
      case YAML_ALIAS_EVENT: return text_of(event_.data.alias.anchor);
      case YAML_SCALAR_EVENT: return text_of(event_.data.scalar.anchor);
      case YAML_SEQUENCE_START_EVENT: return text_of(event_.data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT: return text_of(event_.data.mapping_start.anchor);
      default: return {};
    }
  }

  std::string_view tag() const {
    switch (event_.type) {
      case YAML_SCALAR_EVENT: return text_of(event_.data.scalar.tag);
      case YAML_SEQUENCE_START_EVENT: return text_of(event_.data.sequence_start.tag);
      case YAML_MAPPING_START_EVENT: return text_of(event_.data.mapping_start.tag);
      default: return {};
    }
  }

 private:
  yaml_event_t event_{};
};

struct Weight {
  std::size_t nodes = 0;
  std::size_t bytes = 0;
  std::size_t height = 0;
};

Weight weigh(const Tree& tree) {
  Weight sum{.nodes = 1, .bytes = tree.text.size(), .height = 1};
  for (const Tree::Key& key : tree.keys) sum.bytes += key.text.size();
  for (const Tree& child : tree.children) {
    const Weight weight = weigh(child);
    sum.nodes += weight.nodes;
    sum.bytes += weight.bytes;
    sum.height = std::max(sum.height, weight.height + 1);
  }
  return sum;
}

struct Anchor {
  Tree tree;
  Weight weight;
};

// Goes through the events of one file. Every step returns whether to go on; if not, the problem is
// set.
class YamlReader {
 public:
  YamlReader(std::string_view text, const YamlLimits& limits) : text_(text), limits_(limits) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;
  ~YamlReader() { yaml_parser_delete(&parser_); }

  YamlFile read() {
    while (read_document()) {
    }
    return std::move(file_);
  }

 private:
  bool read_document() {
    Event event;
    if (!next(event) || event.type() == YAML_STREAM_END_EVENT) return false;
    if (event.type() != YAML_DOCUMENT_START_EVENT) return true;
    anchors_.clear();
    Tree tree;
    if (!read_next(tree, 1)) return false;
    file_.documents.push_back(std::move(tree));
    return true;
  }

  bool read_next(Tree& tree, std::size_t depth) {
    Event event;
    return next(event) && read(event, tree, depth);
  }

  bool read(const Event& event, Tree& tree, std::size_t depth) {
    if (event.type() == YAML_ALIAS_EVENT) return read_alias(event, tree, depth);
    tree.at = event.at();
    if (!charge({.nodes = 1}, tree.at) || !check_depth(depth, tree.at) || !check_tag(event)) {
      return false;
    }
    const bool done = event.type() == YAML_SCALAR_EVENT           ? read_scalar(event, tree)
                      : event.type() == YAML_SEQUENCE_START_EVENT ? read_list(tree, depth)
                                                                  : read_map(tree, depth);
    return done && keep_anchor(event.anchor(), tree);
  }

  bool read_scalar(const Event& event, Tree& tree) {
    tree.text = event.scalar_text();
    tree.quoted = event.scalar().style != YAML_PLAIN_SCALAR_STYLE;
    return true;
  }

  bool read_list(Tree& tree, std::size_t depth) {
    tree.kind = Tree::Kind::List;
    while (true) {
      Event event;
      if (!next(event)) return false;
      if (event.type() == YAML_SEQUENCE_END_EVENT) return true;
      if (!read(event, tree.children.emplace_back(), depth + 1)) return false;
    }
  }

  bool read_map(Tree& tree, std::size_t depth) {
    tree.kind = Tree::Kind::Map;
    while (true) {
      Event event;
      if (!next(event)) return false;
      if (event.type() == YAML_MAPPING_END_EVENT) return true;
      if (!read_key(event, tree, depth)) return false;
      if (!read_next(tree.children.emplace_back(), depth + 1)) return false;
    }
  }

  bool read_key(const Event& event, Tree& tree, std::size_t depth) {
    Tree key;
    if (!read(event, key, depth + 1)) return false;
    if (key.kind != Tree::Kind::Scalar) return fail(event.at(), "a key must be text");
    tree.keys.push_back({std::move(key.text), event.at()});
    return true;
  }

  // The copy keeps the positions of the anchor: that is where its contents can be corrected.
  bool read_alias(const Event& event, Tree& tree, std::size_t depth) {
    const auto anchor = anchors_.find(event.anchor());
    if (anchor == anchors_.end()) {
      return fail(event.at(), fmt::format("there is no anchor {} before this alias",
                                          in_quotes(event.anchor())));
    }
    const Weight& weight = anchor->second.weight;
    if (!charge(weight, event.at()) || !check_depth(depth + weight.height - 1, event.at())) {
      return false;
    }
    tree = anchor->second.tree;
    return true;
  }

  // The kept copy is charged as well: anchors inside anchors would multiply it.
  bool keep_anchor(std::string_view name, const Tree& tree) {
    if (name.empty()) return true;
    const Weight weight = weigh(tree);
    if (!charge(weight, tree.at)) return false;
    anchors_.insert_or_assign(std::string(name), Anchor{tree, weight});
    return true;
  }

  bool charge(const Weight& weight, Position at) {
    nodes_ += weight.nodes;
    copied_bytes_ += weight.bytes;
    if (nodes_ <= limits_.nodes && copied_bytes_ <= limits_.bytes) return true;
    return fail(at, fmt::format("the file says more than {} values, aliases taken as what they "
                                "stand for",
                                limits_.nodes));
  }

  bool check_depth(std::size_t depth, Position at) {
    if (depth <= limits_.depth) return true;
    return fail(at, fmt::format("nested deeper than {} levels", limits_.depth));
  }

  bool check_tag(const Event& event) {
    const std::string_view tag = event.tag();
    if (tag.empty() || tag == "!" || tag.starts_with("tag:yaml.org,2002:")) return true;
    return fail(event.at(), fmt::format("tag {} is not supported", in_quotes(tag)));
  }

  bool next(Event& event) { return event.parse(parser_) || fail_as_the_parser_says(); }

  bool fail_as_the_parser_says() {
    const std::string_view problem = parser_.problem ? parser_.problem : "out of memory";
    if (parser_.error == YAML_READER_ERROR) {
      return fail(position_of(text_, parser_.problem_offset), std::string(problem));
    }
    const std::string_view context = parser_.context ? parser_.context : "";
    return fail(position_of(parser_.problem_mark),
                fmt::format("{}{}{}", problem, context.empty() ? "" : " ", context));
  }

  bool fail(Position at, std::string what) {
    file_.problem = {at, std::move(what)};
    return false;
  }

  std::string_view text_;
  YamlLimits limits_;
  yaml_parser_t parser_{};
  YamlFile file_;
  std::map<std::string, Anchor, std::less<>> anchors_;
  std::size_t nodes_ = 0;
  std::size_t copied_bytes_ = 0;
};

bool is_in_no_text(char c) {
  return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

}  // namespace

std::optional<SyntaxProblem> why_no_text(std::string_view text) {
  text = without_byte_order_mark(text);
  const std::size_t valid = valid_utf8_prefix(text);
  const auto odd = std::ranges::find_if(text.substr(0, valid), is_in_no_text);
  const auto offset = static_cast<std::size_t>(odd - text.begin());
  if (offset == text.size()) return std::nullopt;
  return SyntaxProblem{position_of(text, offset),
                       fmt::format("{} (byte 0x{:02x}); a manifest is YAML",
                                   offset == valid ? "not UTF-8" : "not text",
                                   static_cast<unsigned char>(text[offset]))};
}

YamlFile read_yaml(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return {{}, SyntaxProblem{{}, fmt::format("the file is larger than {} bytes", limits.bytes)}};
  }
  if (auto problem = why_no_text(text)) return {{}, std::move(problem)};
  return YamlReader(without_byte_order_mark(text), limits).read();
}

}  // namespace berth::codec
