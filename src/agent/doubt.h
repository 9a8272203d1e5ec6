#pragma once

#include <optional>

#include "agent/context.h"
#include "agent/wanted.h"
#include "base/time.h"

namespace berth::agent {

// Whether the agent knows for sure what it was told. Its store may have been lost, or be an older
// one: then what runs may be wanted although nothing says so, and what was wanted may have gone
// elsewhere. Until a full command settles that, nothing is stopped for not being wanted; and for a
// while nothing is started, for the control plane may be about to say that it is elsewhere. Durable
// itself: another life of the agent before that is in the same doubt.
class Doubt {
 public:
  explicit Doubt(const Restored& restored)
      : is_there_(restored.in_doubt || contradicts_itself(restored)) {}

  bool is_there() const { return is_there_; }
  // What does not run waits for the control plane to speak.
  bool delays_starts() const { return is_there_ && !has_waited_; }

  // Begins a step. True: it has waited for long enough.
  bool look(const Context& context) {
    if (!is_there_) return false;
    if (!until_) begin(context);
    if (has_waited_ || context.now < *until_) return false;
    context.note("no control plane has spoken: what does not run is started as it is known");
    return has_waited_ = true;
  }

  // Something runs that was told later than anything that is known.
  void arise(const Context& context) {
    if (is_there_) return;
    is_there_ = true;
    has_waited_ = false;
    begin(context);
  }

  // A full command has come.
  void end(const Context& context) {
    is_there_ = false;
    context.effects.writes.push_back(WriteDoubt{false});
    context.note("a full command settles what is to run");
  }

  std::optional<Time> next() const { return delays_starts() ? until_ : std::nullopt; }

 private:
  void begin(const Context& context) {
    until_ = context.now + context.config.doubt_patience;
    context.effects.writes.push_back(WriteDoubt{true});
    context.note("what it was told is lost, or older than it should be: what runs is kept");
  }

  bool is_there_ = false;
  bool has_waited_ = false;
  std::optional<Time> until_;
};

}  // namespace berth::agent
