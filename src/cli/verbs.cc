#include <array>

#include "cli/verb.h"

namespace berth::cli {

std::span<const Verb* const> verbs() {
  static constexpr std::array kVerbs{
      &plan_verb, &why_verb, &schema_verb, &completion_verb, &version_verb,
  };
  return kVerbs;
}

}  // namespace berth::cli
