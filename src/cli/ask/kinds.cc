#include "cli/ask/kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/suggest.h"
#include "cli/show/table.h"
#include "model/document.h"

namespace berth::cli {
namespace {

struct KindWords {
  std::string_view singular;
  std::string_view plural;
  std::vector<std::string_view> shorter;
  const model::DocumentKind* document = nullptr;
};

KindWords words_for(const model::DocumentKind& kind) {
  KindWords words{kind.singular, kind.plural, {}, &kind};
  std::ranges::copy_if(kind.shorter, std::back_inserter(words.shorter),
                       [](std::string_view word) { return !word.empty(); });
  return words;
}

const std::vector<KindWords>& all_kinds() {
  static const std::vector<KindWords> kinds = [] {
    std::vector<KindWords> all{{"instance", "instances", {"inst", "i"}},
                               {"node", "nodes", {"no", "n"}}};
    for (const model::DocumentKind& kind : model::document_kinds()) {
      if (kind.is_kept) all.push_back(words_for(kind));
    }
    all.push_back({"session", "sessions", {"sess"}});
    all.push_back({"event", "events", {"ev"}});
    return all;
  }();
  return kinds;
}

const KindWords& words_of(Kind kind) {
  return *std::ranges::find(all_kinds(), kind.singular(), &KindWords::singular);
}

bool is_called(const KindWords& words, std::string_view word) {
  return same_word(word, words.singular) || same_word(word, words.plural) ||
         std::ranges::any_of(words.shorter,
                             [&](std::string_view other) { return same_word(word, other); });
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

Result<Kind> parse_kind(std::string_view word) {
  for (const KindWords& words : all_kinds()) {
    if (is_called(words, word)) return Kind(words.singular);
  }
  return invalid_input(fmt::format("\"{}\" is none of {}.{}", printable(word),
                                   fmt::join(kind_words(), ", "),
                                   did_you_mean(word, kind_words())));
}

std::string_view singular(Kind kind) { return kind.singular(); }
std::string_view plural(Kind kind) { return words_of(kind).plural; }

const std::vector<std::string>& kind_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> plurals;
    for (const KindWords& kind : all_kinds()) plurals.emplace_back(kind.plural);
    return plurals;
  }();
  return words;
}

std::string kinds_help() {
  constexpr std::size_t kWidth = 96;
  std::string text = "Kinds:";
  std::size_t line_begin = 0;
  for (const KindWords& kind : all_kinds()) {
    const bool is_last = &kind == &all_kinds().back();
    const std::string entry =
        fmt::format("{} ({}){}", kind.plural, fmt::join(kind.shorter, ", "), is_last ? ";" : ",");
    const bool fits = text.size() - line_begin + entry.size() < kWidth;
    if (!fits) line_begin = text.size() + 1;
    text += (fits ? " " : "\n") + entry;
  }
  return text + " singular or plural.\n";
}

bool is_document(Kind kind) { return words_of(kind).document != nullptr; }

std::string_view document_kind(Kind kind) {
  return is_document(kind) ? words_of(kind).document->name : "";
}

bool has_versions(Kind kind) { return has_versions(document_kind(kind)); }

bool has_versions(std::string_view document) {
  const auto* kind = model::find_document_kind(document);
  return kind != nullptr && kind->has_versions;
}

bool has_namespace(std::string_view document) {
  const auto* kind = model::find_document_kind(document);
  return kind != nullptr && kind->has_namespace;
}

std::string id_meant_by(Kind kind, std::string_view name) {
  return is_document(kind) ? model::id_meant_by(*words_of(kind).document, name) : std::string(name);
}

int rank_of(Kind kind) { return is_document(kind) ? words_of(kind).document->rank : 0; }

}  // namespace berth::cli
