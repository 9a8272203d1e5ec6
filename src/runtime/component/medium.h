#pragma once

#include <optional>
#include <string>
#include <variant>

#include "model/instance.h"
#include "runtime/component/slot_state.h"
#include "runtime/component/source.h"
#include "runtime/supervision/supervisor.h"

namespace berth::runtime {

// The image that the specification chooses, if it has this form.
template <class Form>
const Form* image_of(const model::InstanceSpec& spec) {
  if (spec.image >= spec.item.images.size()) return nullptr;
  return std::get_if<Form>(&spec.item.images[spec.image].form);
}

// A version on its way into a slot.
struct Job {
  const model::InstanceSpec& spec;
  Slot slot = Slot::A;
  std::string identity;
  Patience patience;
};

// Where components of one type go, and how. One call at a time; what a power cut leaves of a step
// is set right by `discard` or `roll_back`, which may be repeated.
class Medium {
 public:
  virtual ~Medium() = default;

  // "" if components can be installed here.
  virtual std::string why_not_ready() const = 0;

  // What tells the content of this version from others; "" if that is not known here.
  virtual Started<std::string> identify(const model::InstanceSpec& spec,
                                        const Patience& patience) = 0;

  // Durable when it returns.
  virtual Started<void> write(const Job& job) = 0;
  virtual Started<void> verify(const Job& job) = 0;

  // Makes what was written the one that the system uses, durably.
  virtual Started<void> activate(const Job& job) = 0;

  // The opposite. Lost: nobody knows what the system uses now.
  enum class Outcome { Done, Failed, Lost };
  struct RolledBack {
    Outcome outcome = Outcome::Done;
    std::string message;
  };
  virtual RolledBack roll_back(const SlotState& state) = 0;

  // Takes away what is in a slot that nobody uses.
  virtual void discard(Slot slot) = 0;

  // After a restart: makes sure that the system uses what it should.
  virtual Result<void> restore(std::optional<Slot> active) = 0;

  // Which slot is in use where nobody has written that down yet.
  virtual std::optional<Slot> find_active() const { return std::nullopt; }

  // What a program that confirms a version gets to see of it; "": nothing.
  virtual std::string path_of(Slot slot) const = 0;
};

}  // namespace berth::runtime
