#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "codec/checks.h"
#include "codec/describe.h"
#include "codec/notes.h"
#include "codec/path.h"
#include "codec/tree.h"

// Trees to structs, by the descriptions. All that is wrong is noted, each at its place; what could
// not be read stays as it was.
namespace berth::codec {

// Manifests are checked against the rules, records are our own.
enum class Form { Manifest, Record };

class Reader {
 public:
  Reader(Form form, Notes& notes) : form_(form), notes_(notes) {}

  // Reads a whole document; the kind has been looked at by the caller.
  template <DocumentValue D>
  void read_document(const Tree& tree, D& document);

  template <Struct T, class... Rules>
  void read(const Tree& tree, T& value, const Path& path, const Rules&...);
  template <TextValue T, class... Rules>
  void read(const Tree& tree, T& value, const Path& path, const Rules&... rules);
  template <IntegerValue T, class... Rules>
  void read(const Tree& tree, T& value, const Path& path, const Rules&... rules);
  template <OptionalValue T, class... Rules>
  void read(const Tree& tree, T& value, const Path& path, const Rules&... rules);
  template <ListValue T, class... Rules>
  void read(const Tree& tree, T& value, const Path& path, const Rules&... rules);
  template <MapValue T, class... Rules>
  void read(const Tree& tree, T& value, const Path& path, const Rules&... rules);
  template <Wrapper T>
  void read(const Tree& tree, T& value, const Path& path) {
    read(tree, wrapped(value), path, NonEmpty{});
  }
  template <class Count, class... Rules>
  void read(const Tree& tree, CountOr<Count> value, const Path& path, const Rules&... rules);
  void read(const Tree& tree, bool& value, const Path& path);
  void read(const Tree& tree, Dmips& value, const Path& path);
  void read(const Tree& tree, Bytes& value, const Path& path);

 private:
  friend class MapReader;

  // Notes what is wrong with the value as a whole, if its parts are fine.
  template <class T>
  void check_whole(const Tree& tree, const T& value, const Path& path);
  void check(Position at, const Path& path, const Flaw& flaw);

  bool is_scalar(const Tree& tree, const Path& path, std::string_view expected);
  bool is_plain(const Tree& tree, const Path& path, std::string_view expected);
  bool is_a(Tree::Kind kind, const Tree& tree, const Path& path);
  void note_expected(const Tree& tree, const Path& path, std::string_view expected);
  void error(Position at, const Path& path, std::string what);

  Form form_;
  Notes& notes_;
};

// The visitor for one map of the tree: each field takes its entry, and what nobody took is unknown.
class MapReader : public Visitor {
 public:
  MapReader(Reader& reader, const Tree& map, const Path& path);

  template <class T, class... Rules>
  void field(std::string_view name, T&& value, std::string_view /*help*/ = {},
             const Rules&... rules) {
    const Tree* tree = take(name);
    if (tree != nullptr) reader_.read(*tree, value, Path(path_, name), rules...);
  }

  template <class T, class... Rules>
  void required(std::string_view name, T&& value, std::string_view /*help*/ = {},
                const Rules&... rules) {
    const Tree* tree = take_required(name);
    if (tree != nullptr) reader_.read(*tree, value, Path(path_, name), rules...);
  }

  template <class... Types, class... Options>
  void one_of(std::variant<Types...>& variant, const Options&... options);

  template <class Describe>
  void group(Presence presence, std::string_view name, std::string_view help,
             const Describe& describe_it);

  void constant(std::string_view name, std::string_view text, std::string_view help);

  // Notes entries that no field has taken. To be called when all fields are described.
  void finish();

 private:
  std::size_t find(std::string_view name);  // as many as there are if there is none
  // The entry of this name, nullptr if there is none or it says nothing.
  const Tree* take(std::string_view name);
  const Tree* take_required(std::string_view name);
  void note_repeated_keys();
  void note_choice(const std::vector<std::string_view>& options,
                   const std::vector<std::string_view>& given);

  Reader& reader_;
  const Tree& map_;
  const Path& path_;
  std::vector<bool> taken_;
  std::size_t next_ = 0;  // after the one that was taken last
  std::vector<std::string_view> known_;
};

template <DocumentValue D>
void Reader::read_document(const Tree& tree, D& document) {
  const Path root;
  const std::size_t errors_before = notes_.error_count();
  MapReader map(*this, tree, root);
  describe_document(map, document);
  map.finish();
  if (notes_.error_count() == errors_before) check_whole(tree, document, root);
}

template <Struct T, class... Rules>
void Reader::read(const Tree& tree, T& value, const Path& path, const Rules&...) {
  if (!is_a(Tree::Kind::Map, tree, path)) return;
  const std::size_t errors_before = notes_.error_count();
  MapReader map(*this, tree, path);
  describe_value(map, value);
  map.finish();
  if (notes_.error_count() == errors_before) check_whole(tree, value, path);
}

template <class T>
void Reader::check_whole(const Tree& tree, const T& value, const Path& path) {
  if constexpr (requires { remarks_on(value); }) {
    if (form_ == Form::Record) return;
    for (const Remark& remark : remarks_on(value)) {
      notes_.add(remark.level, locate(tree, remark.path), to_string(Path(path, remark.path)),
                 remark.what);
    }
  }
}

template <TextValue T, class... Rules>
void Reader::read(const Tree& tree, T& value, const Path& path, const Rules&... rules) {
  if (!is_scalar(tree, path, "text")) return;
  auto parsed = Scalar<T>::parse(tree.text);
  if (!parsed) return error(tree.at, path, parsed.error().message);
  value = *std::move(parsed);
  if (form_ == Form::Record) return;
  check(tree.at, path, standing_flaw_of(value));
  (check(tree.at, path, flaw_of(value, rules)), ...);
}

template <IntegerValue T, class... Rules>
void Reader::read(const Tree& tree, T& value, const Path& path, const Rules&... rules) {
  if (!is_plain(tree, path, "a whole number")) return;
  using Limits = std::numeric_limits<T>;
  T least = Limits::min(), most = Limits::max();
  if (form_ == Form::Manifest) {
    ((least = static_cast<T>(rules.least), most = static_cast<T>(rules.most)), ...);
  }
  const auto parsed = parse_integer<T>(tree.text, least, most);
  if (!parsed) return error(tree.at, path, parsed.error().message);
  value = *parsed;
}

template <OptionalValue T, class... Rules>
void Reader::read(const Tree& tree, T& value, const Path& path, const Rules&... rules) {
  value.emplace(initial<typename T::value_type>());
  read(tree, *value, path, rules...);
}

template <class Count, class... Rules>
void Reader::read(const Tree& tree, CountOr<Count> value, const Path& path, const Rules&... rules) {
  if (tree.kind == Tree::Kind::Scalar && tree.text == value.word) {
    value.count = std::nullopt;
    return;
  }
  if (!is_plain(tree, path, "a whole number or " + std::string(value.word))) return;
  read(tree, value.count, path, rules...);
}

// The rules of a list that are meant for its elements.
template <class Rule>
std::tuple<> element_rule(const Rule&) {
  return {};
}
template <class Rule>
std::tuple<Rule> element_rule(const Each<Rule>& each) {
  return {each.rule};
}

// The rules that are meant for the list itself.
template <class List, class Rule>
Flaw list_flaw_of(const List& list, const Rule& rule) {
  if constexpr (std::same_as<Rule, NonEmpty>) return flaw_of(list, rule);
  return std::nullopt;
}

template <ListValue T, class... Rules>
void Reader::read(const Tree& tree, T& list, const Path& path, const Rules&... rules) {
  using Element = typename T::value_type;
  constexpr bool kUnique = (std::same_as<Rules, Unique> || ...);
  if (!is_a(Tree::Kind::List, tree, path)) return;
  const auto element_rules = std::tuple_cat(element_rule(rules)...);
  std::set<std::string> seen;
  list.clear();
  for (std::size_t i = 0; i < tree.children.size(); ++i) {
    const Tree& child = tree.children[i];
    const std::size_t errors_before = notes_.error_count();
    auto element = initial<Element>();
    // A text in a list is found by its position; its index would only make the message longer.
    const Path element_path = TextValue<Element> ? path : Path(path, i);
    std::apply([&](const auto&... each) { read(child, element, element_path, each...); },
               element_rules);
    if constexpr (kUnique) {
      const std::string text(Scalar<Element>::text(element));
      const bool is_checked = form_ == Form::Manifest && notes_.error_count() == errors_before;
      if (is_checked && !seen.insert(text).second) {
        error(child.at, element_path, in_quotes(text) + " is there twice");
      }
    }
    list.insert(list.end(), std::move(element));
  }
  if (form_ == Form::Manifest) (check(tree.at, path, list_flaw_of(list, rules)), ...);
}

template <MapValue T, class... Rules>
void Reader::read(const Tree& tree, T& map, const Path& path, const Rules&... rules) {
  if (!is_a(Tree::Kind::Map, tree, path)) return;
  map.clear();
  for (std::size_t i = 0; i < tree.keys.size(); ++i) {
    const Tree::Key& key = tree.keys[i];
    const auto [entry, is_new] = map.try_emplace(key.text);
    if (!is_new) {
      error(key.at, path, in_quotes(key.text) + " is there twice");
      continue;
    }
    if (form_ == Form::Manifest) {
      (check(key.at, path, flaw_of(key.text, rules.rule)), ...);
    }
    read(tree.children[i], entry->second, Path(path, key.text));
  }
}

template <class... Types, class... Options>
void MapReader::one_of(std::variant<Types...>& variant, const Options&... options) {
  std::vector<std::string_view> given;
  const auto try_option = [&]<class T>(const Option<T>& option) {
    const Tree* tree = take(option.name);
    if (tree == nullptr) return;
    given.push_back(option.name);
    reader_.read(*tree, variant.template emplace<T>(), Path(path_, option.name));
  };
  (try_option(options), ...);
  note_choice({options.name...}, given);
}

template <class Describe>
void MapReader::group(Presence presence, std::string_view name, std::string_view /*help*/,
                      const Describe& describe_it) {
  const Tree* tree = presence == Presence::Required ? take_required(name) : take(name);
  const Path path(path_, name);
  if (tree == nullptr || !reader_.is_a(Tree::Kind::Map, *tree, path)) return;
  MapReader map(reader_, *tree, path);
  describe_it(map);
  map.finish();
}

}  // namespace berth::codec
