#include <array>

#include "cli/verbs/verb.h"

namespace berth::cli {

std::span<const Verb* const> verbs() {
  static constexpr std::array kVerbs{
      &apply_verb,      &plan_verb,     &why_verb,     &simulate_verb, &get_verb,
      &describe_verb,   &delete_verb,   &logs_verb,    &exec_verb,     &top_verb,
      &events_verb,     &wait_verb,     &session_verb, &pause_verb,    &resume_verb,
      &rebalance_verb,  &drain_verb,    &cordon_verb,  &uncordon_verb, &forget_verb,
      &join_token_verb, &login_verb,    &store_verb,   &schema_verb,   &completion_verb,
      &version_verb,    &complete_verb, &man_verb,
  };
  return kVerbs;
}

}  // namespace berth::cli
