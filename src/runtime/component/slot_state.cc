#include "runtime/component/slot_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace berth::runtime {
namespace {

// What becomes of the candidate, the content of the spare slot.
enum class Candidate {
  Stays,
  IsConfirmed,  // it is what to fall back to from now on
  IsDropped,
  IsDroppedWithAll,  // what was confirmed cannot be relied on either
};

struct Transition {
  Phase phase;
  Event event;
  Step step;
  Phase next;
  Candidate candidate;
};

// All that can happen. A version that has been switched to and not confirmed is tried once: whoever
// finds it after a restart goes back.
constexpr std::array kTransitions{
    Transition{Phase::Settled, Event::Asked, Step::Write, Phase::Writing, Candidate::Stays},
    Transition{Phase::Settled, Event::Restarted, Step::None, Phase::Settled, Candidate::Stays},

    Transition{Phase::Writing, Event::Succeeded, Step::Verify, Phase::Verifying, Candidate::Stays},
    Transition{Phase::Writing, Event::Failed, Step::Discard, Phase::Settled, Candidate::IsDropped},
    Transition{Phase::Writing, Event::Restarted, Step::Discard, Phase::Settled,
               Candidate::IsDropped},

    Transition{Phase::Verifying, Event::Succeeded, Step::Switch, Phase::Switching,
               Candidate::Stays},
    Transition{Phase::Verifying, Event::Failed, Step::Discard, Phase::Settled,
               Candidate::IsDropped},
    Transition{Phase::Verifying, Event::Restarted, Step::Discard, Phase::Settled,
               Candidate::IsDropped},

    Transition{Phase::Switching, Event::Succeeded, Step::AwaitConfirmation, Phase::Trying,
               Candidate::Stays},
    Transition{Phase::Switching, Event::Failed, Step::RollBack, Phase::RollingBack,
               Candidate::Stays},
    Transition{Phase::Switching, Event::Restarted, Step::RollBack, Phase::RollingBack,
               Candidate::Stays},

    Transition{Phase::Trying, Event::Succeeded, Step::None, Phase::Settled, Candidate::IsConfirmed},
    Transition{Phase::Trying, Event::Failed, Step::RollBack, Phase::RollingBack, Candidate::Stays},
    Transition{Phase::Trying, Event::Restarted, Step::RollBack, Phase::RollingBack,
               Candidate::Stays},

    Transition{Phase::RollingBack, Event::Succeeded, Step::Discard, Phase::Settled,
               Candidate::IsDropped},
    Transition{Phase::RollingBack, Event::Failed, Step::None, Phase::RollingBack, Candidate::Stays},
    Transition{Phase::RollingBack, Event::Lost, Step::None, Phase::Settled,
               Candidate::IsDroppedWithAll},
    Transition{Phase::RollingBack, Event::Restarted, Step::RollBack, Phase::RollingBack,
               Candidate::Stays},
};

const Transition& transition_of(Phase phase, Event event) {
  const auto* const found =
      std::find_if(kTransitions.begin(), kTransitions.end(),
                   [&](const Transition& one) { return one.phase == phase && one.event == event; });
  CHECK(found != kTransitions.end(), "an update cannot come to that");
  return *found;
}

void confirm(SlotState& state) {
  if (state.confirmed) {
    if (auto& before = component_in(state, *state.confirmed)) before->ended = true;
  }
  state.confirmed = spare_slot(state);
}

void apply(Candidate candidate, SlotState& state) {
  switch (candidate) {
    case Candidate::Stays: return;
    case Candidate::IsConfirmed: return confirm(state);
    case Candidate::IsDropped: component_in(state, spare_slot(state)).reset(); return;
    case Candidate::IsDroppedWithAll: state = SlotState{}; return;
  }
}

// The same item in the same version, unless both contents are known and differ.
bool is_the_same(const Component& held, const Component& wanted) {
  const bool may_differ = !held.identity.empty() && !wanted.identity.empty();
  return held.found.key.item == wanted.found.key.item &&
         held.found.version == wanted.found.version &&
         (!may_differ || held.identity == wanted.identity);
}

bool is_taken_by_another(const Component& held, const Component& wanted) {
  return held.found.key != wanted.found.key && !held.ended && held.found.run != model::RunId{};
}

}  // namespace

Slot other(Slot slot) { return slot == Slot::A ? Slot::B : Slot::A; }

std::optional<Component>& component_in(SlotState& state, Slot slot) {
  return slot == Slot::A ? state.a : state.b;
}

const std::optional<Component>& component_in(const SlotState& state, Slot slot) {
  return slot == Slot::A ? state.a : state.b;
}

Slot spare_slot(const SlotState& state) {
  return state.confirmed ? other(*state.confirmed) : Slot::A;
}

std::optional<Slot> active_slot(const SlotState& state) {
  const bool is_tried = state.phase == Phase::Switching || state.phase == Phase::Trying;
  return is_tried ? std::optional(spare_slot(state)) : state.confirmed;
}

const Component* confirmed_component(const SlotState& state) {
  if (!state.confirmed) return nullptr;
  const auto& held = component_in(state, *state.confirmed);
  return held ? &*held : nullptr;
}

Need need_of(const SlotState& state, const Component& wanted) {
  const Component* held = confirmed_component(state);
  if (held == nullptr) return Need::Install;
  if (is_taken_by_another(*held, wanted)) return Need::Refuse;
  return is_the_same(*held, wanted) ? Need::Nothing : Need::Install;
}

SlotState taken_over(SlotState state, const Component& wanted) {
  CHECK(confirmed_component(state) != nullptr, "there is something to take over");
  Component& held = *component_in(state, *state.confirmed);
  if (held.identity.empty()) held.identity = wanted.identity;
  held.found = wanted.found;
  held.ended = false;
  return state;
}

SlotState run_ended(SlotState state) {
  CHECK(confirmed_component(state) != nullptr, "something has run");
  component_in(state, *state.confirmed)->ended = true;
  return state;
}

SlotState with_candidate(SlotState state, Component candidate) {
  CHECK(state.phase == Phase::Settled, "one update at a time");
  component_in(state, spare_slot(state)) = std::move(candidate);
  return state;
}

Advance advance(SlotState state, Event event) {
  const Transition& transition = transition_of(state.phase, event);
  apply(transition.candidate, state);
  state.phase = transition.next;
  return {transition.step, std::move(state)};
}

}  // namespace berth::runtime
