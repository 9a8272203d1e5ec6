#pragma once

#include <set>
#include <vector>

#include "control/step.h"

namespace berth::control {

struct Context;

// A call that has been carried out, and is answered when the step is sealed.
struct AcceptedCall {
  CallId call = 0;
  bool planned = false;  // then the answer tells what was refused of these:
  std::set<RequestKey> requests = {};
  std::vector<model::InstanceKey> changed = {};
  std::vector<Consequence> consequences = {};
  std::vector<placement::Relief> relief = {};
  std::vector<model::InstanceKey> moved = {};
};

// What the calls are about that are not planned yet.
struct AskedByCalls {
  std::set<RequestKey> requests;
  std::set<model::InstanceKey> instances;   // those that they override
  std::set<model::InstanceKey> overridden;  // those of them that get other variables by that
};

// The room of who waits for an answer, or listens.
class Calls {
 public:
  // It needs a plan, and is answered after that.
  void plan(CallId call) { unplanned_.push_back(call); }
  bool needs_plan() const { return !unplanned_.empty(); }
  void ask_for(const RequestKey& request) { asked_.requests.insert(request); }
  void ask_for_overridden(std::set<model::InstanceKey> instances) {
    asked_.instances.merge(instances);
  }
  void has_overridden(std::set<model::InstanceKey> instances) {
    asked_.overridden.merge(instances);
  }
  const AskedByCalls& asked() const { return asked_; }
  // Those that were not planned; there is nothing that they ask for after that.
  std::vector<CallId> take_planned();

  void answer_when_sealed(AcceptedCall accepted) { accepted_.push_back(std::move(accepted)); }
  static void refuse(Step& step, CallId call, Error error) {
    step.effects.replies.push_back({call, std::move(error)});
  }

  // Answers what was accepted. REQUIRES: the step is sealed.
  void decide(Context& context);

  void record(const Subscribed& event) { listeners_.insert(event.listener); }
  void record(const Unsubscribed& event) { listeners_.erase(event.listener); }
  const std::set<ListenerId>& listeners() const { return listeners_; }

 private:
  std::vector<CallId> unplanned_;
  AskedByCalls asked_;
  std::vector<AcceptedCall> accepted_;
  std::set<ListenerId> listeners_;
};

}  // namespace berth::control
