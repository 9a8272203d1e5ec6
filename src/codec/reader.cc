#include "codec/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/suggest.h"

namespace berth::codec {
namespace {

constexpr std::size_t kFieldsMostly = 24;

}  // namespace

void Reader::read(const Tree& tree, bool& value, const Path& path) {
  if (!is_plain(tree, path, "true or false")) return;
  if (tree.text != "true" && tree.text != "false") {
    return error(tree.at, path, in_quotes(tree.text) + " is neither true nor false");
  }
  value = tree.text == "true";
}

void Reader::read(const Tree& tree, Dmips& value, const Path& path) {
  std::int64_t count = value.count();
  read(tree, count, path, kDmips);
  value = Dmips(count);
}

void Reader::read(const Tree& tree, Bytes& value, const Path& path) {
  if (!is_scalar(tree, path, "a size")) return;
  const auto parsed = parse_bytes(tree.text);
  if (!parsed) return error(tree.at, path, parsed.error().message);
  value = *parsed;
  const bool in_range = value.count() >= kBytes.least && value.count() <= kBytes.most;
  if (form_ == Form::Manifest && !in_range) {
    error(tree.at, path, fmt::format("must be 0 to 1024Ti, not {}", in_quotes(tree.text)));
  }
}

void Reader::check(Position at, const Path& path, const Flaw& flaw) {
  if (flaw) error(at, path, *flaw);
}

bool Reader::is_scalar(const Tree& tree, const Path& path, std::string_view expected) {
  const bool fits = tree.kind == Tree::Kind::Scalar && !is_null(tree);
  if (!fits) note_expected(tree, path, expected);
  return fits;
}

bool Reader::is_plain(const Tree& tree, const Path& path, std::string_view expected) {
  if (!is_scalar(tree, path, expected)) return false;
  if (tree.quoted) {
    error(tree.at, path,
          fmt::format("expected {}, got the text {}", expected, in_quotes(tree.text)));
  }
  return !tree.quoted;
}

bool Reader::is_a(Tree::Kind kind, const Tree& tree, const Path& path) {
  if (tree.kind != kind) note_expected(tree, path, kind == Tree::Kind::Map ? "a map" : "a list");
  return tree.kind == kind;
}

void Reader::note_expected(const Tree& tree, const Path& path, std::string_view expected) {
  error(tree.at, path, fmt::format("expected {}, got {}", expected, what_is(tree)));
}

void Reader::error(Position at, const Path& path, std::string what) {
  notes_.add(Level::Error, at, notes_.is_full() ? std::string() : to_string(path), std::move(what));
}

MapReader::MapReader(Reader& reader, const Tree& map, const Path& path)
    : reader_(reader), map_(map), path_(path), taken_(map.keys.size()) {
  known_.reserve(kFieldsMostly);
  note_repeated_keys();
}

// The second and further ones are taken by the note.
void MapReader::note_repeated_keys() {
  std::vector<std::size_t> sorted(map_.keys.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  const auto key_of = [this](std::size_t i) {
    return std::pair(std::string_view(map_.keys[i].text), i);
  };
  std::ranges::sort(sorted, {}, key_of);
  std::vector<std::size_t> repeated;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const bool is_repeated = map_.keys[sorted[i]].text == map_.keys[sorted[i - 1]].text;
    if (is_repeated) repeated.push_back(sorted[i]);
  }
  std::ranges::sort(repeated);
  for (const std::size_t i : repeated) {
    const Tree::Key& key = map_.keys[i];
    taken_[i] = true;
    reader_.error(key.at, path_, in_quotes(key.text) + " is there twice");
  }
}

// What programs wrote has its keys in the order of the fields: then it is the next one.
std::size_t MapReader::find(std::string_view name) {
  if (next_ < map_.keys.size() && map_.keys[next_].text == name) return next_++;
  const auto key = std::ranges::find(map_.keys, name, &Tree::Key::text);
  return static_cast<std::size_t>(key - map_.keys.begin());
}

const Tree* MapReader::take(std::string_view name) {
  known_.push_back(name);
  const std::size_t index = find(name);
  if (index == map_.keys.size()) return nullptr;
  taken_[index] = true;
  const Tree& tree = map_.children[index];
  return is_null(tree) ? nullptr : &tree;
}

const Tree* MapReader::take_required(std::string_view name) {
  const Tree* tree = take(name);
  if (tree == nullptr) reader_.error(map_.at, Path(path_, name), "is missing");
  return tree;
}

void MapReader::constant(std::string_view name, std::string_view text, std::string_view /*help*/) {
  const Tree* tree = take_required(name);
  const Path path(path_, name);
  if (tree == nullptr || !reader_.is_scalar(*tree, path, "text")) return;
  if (tree->text == text) return;
  reader_.error(tree->at, path, fmt::format("must be {}, not {}", text, in_quotes(tree->text)));
}

void MapReader::note_choice(const std::vector<std::string_view>& options,
                            const std::vector<std::string_view>& given) {
  if (given.empty()) {
    reader_.error(map_.at, path_, fmt::format("needs one of {}", fmt::join(options, ", ")));
  } else if (given.size() > 1) {
    reader_.error(map_.at, path_,
                  fmt::format("has {}; only one of them can be", fmt::join(given, " and ")));
  }
}

void MapReader::finish() {
  for (std::size_t i = 0; i < map_.keys.size(); ++i) {
    if (taken_[i]) continue;
    const Tree::Key& key = map_.keys[i];
    std::string what;
    if (!reader_.notes_.is_full()) {
      what = fmt::format("unknown key {}.{}", in_quotes(key.text), did_you_mean(key.text, known_));
    }
    reader_.error(key.at, path_, std::move(what));
  }
}

}  // namespace berth::codec
