#pragma once

#include <map>

#include "control/step.h"

namespace berth::control {

struct Context;

// The room of drains: it watches over their deadlines, and says when nothing is left on a node.
class Drains {
 public:
  struct Drain {
    Time deadline = kNever;
    bool done = false;  // nothing is left there, and that has been said
  };
  // Of whom drains are ordered.
  const std::map<model::NodeId, Drain>& all() const { return drains_; }

  // Watches over the drain that the record orders, if it does, from now on.
  void begin(const Step& step, const model::NodeRecord& record);

  // Whose deadline has passed.
  void decide(Context& context);
  // Who is done. After all that may change what is left on a node.
  void find_done(Context& context);
  Time next() const;

  // Writes down how much time is left until the deadlines, where that is less than what is written
  // by `step_down` or more.
  void write_down(Step& step, Duration step_down) const;

 private:
  std::map<model::NodeId, Drain> drains_;
};

}  // namespace berth::control
