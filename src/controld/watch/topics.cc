#include "controld/watch/topics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/suggest.h"
#include "model/document.h"

namespace berth::controld {
namespace {

std::vector<std::string> all_topics() {
  std::vector<std::string> all{std::string(kInstancesTopic), std::string(kNodesTopic),
                               std::string(kEventsTopic), std::string(kSessionsTopic),
                               std::string(kPoolsTopic)};
  for (const model::DocumentKind& kind : model::document_kinds()) {
    if (kind.is_kept) all.emplace_back(kind.plural);
  }
  return all;
}

}  // namespace

Topics default_topics() { return {std::string(kInstancesTopic), std::string(kNodesTopic)}; }

Result<Topics> parse_topics(std::string_view text) {
  const std::vector<std::string> known = all_topics();
  Topics topics;
  while (!text.empty()) {
    const std::string word(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (std::ranges::find(known, word) == known.end()) {
      return invalid_input(fmt::format("\"{}\" cannot be watched; {} can.{}", word,
                                       fmt::join(known, ", "), did_you_mean(word, known)));
    }
    topics.insert(word);
  }
  return topics;
}

}  // namespace berth::controld
