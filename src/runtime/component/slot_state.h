#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/names.h"
#include "model/run.h"

// The two slots of a component runtime, and what is to be done with them next. Pure: what happened
// goes in, the next step comes out, and all that must survive a power cut is a value.
namespace berth::runtime {

enum class Slot { A, B };

Slot other(Slot slot);

// What a slot holds.
struct Component {
  model::FoundRun found;            // its run is zero if nobody has told us to install it
  std::string identity;             // tells contents apart: a digest, a command; "": not known
  std::vector<std::string> revert;  // the command that undoes it, of firmware
  bool ended = false;               // its run is over; the system still needs what is in the slot

  friend bool operator==(const Component&, const Component&) = default;
};

// How far an update has come. Each is durable before its step is begun, so that a restart knows
// what may have happened.
enum class Phase { Settled, Writing, Verifying, Switching, Trying, RollingBack };

// What happened.
enum class Event {
  Asked,      // to install another version
  Succeeded,  // the step
  Failed,     // the step
  Lost,       // the step, and nobody knows which version is active now
  Restarted,  // the agent, during the step
};

// What is to be done.
enum class Step { None, Write, Verify, Switch, AwaitConfirmation, RollBack, Discard };

struct SlotState {
  Phase phase = Phase::Settled;
  std::optional<Slot> confirmed;  // the one to fall back to; nullopt: there is none yet
  std::optional<Component> a;
  std::optional<Component> b;

  friend bool operator==(const SlotState&, const SlotState&) = default;
};

std::optional<Component>& component_in(SlotState& state, Slot slot);
const std::optional<Component>& component_in(const SlotState& state, Slot slot);

// The slot that an update goes to, never the confirmed one.
Slot spare_slot(const SlotState& state);

// The slot that the system uses; nullopt: there is none yet.
std::optional<Slot> active_slot(const SlotState& state);

// What the system falls back to; nullptr: none, or one that nobody knows.
const Component* confirmed_component(const SlotState& state);

// What to do about an instance that shall be installed.
enum class Need {
  Nothing,  // it is what is confirmed
  Install,
  Refuse,  // another instance has the slots
};
Need need_of(const SlotState& state, const Component& wanted);

// The confirmed content now serves this run.
SlotState taken_over(SlotState state, const Component& wanted);

// The run of what is confirmed is over.
SlotState run_ended(SlotState state);

// An update begins: to be followed by `advance` with Asked.
SlotState with_candidate(SlotState state, Component candidate);

struct Advance {
  Step step = Step::None;  // to be done when the state is durable; None: nothing, for now
  SlotState state;
};
Advance advance(SlotState state, Event event);

}  // namespace berth::runtime

namespace berth::model {

template <>
struct Names<runtime::Slot> {
  static constexpr std::string_view kWhat = "slot";
  static constexpr std::array kTable{
      Word<runtime::Slot>{runtime::Slot::A, "a"},
      Word<runtime::Slot>{runtime::Slot::B, "b"},
  };
};

template <>
struct Names<runtime::Phase> {
  static constexpr std::string_view kWhat = "phase of an update";
  static constexpr std::array kTable{
      Word<runtime::Phase>{runtime::Phase::Settled, "settled"},
      Word<runtime::Phase>{runtime::Phase::Writing, "writing"},
      Word<runtime::Phase>{runtime::Phase::Verifying, "verifying"},
      Word<runtime::Phase>{runtime::Phase::Switching, "switching"},
      Word<runtime::Phase>{runtime::Phase::Trying, "trying"},
      Word<runtime::Phase>{runtime::Phase::RollingBack, "rolling-back"},
  };
};

}  // namespace berth::model
