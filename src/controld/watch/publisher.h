#pragma once

#include <map>
#include <optional>

#include "control/controller.h"
#include "controld/events/event_log.h"
#include "controld/loop/loop.h"
#include "controld/watch/views.h"
#include "controld/watch/watch_hub.h"

namespace berth::controld {

// Tells the world what a step did, when that is durable: notes to the event log and the journal,
// changes to the watchers. Used by the thread of the loop.
class Publisher {
 public:
  Publisher(EventLog& events, WatchHub& hub) : events_(events), hub_(hub) {}

  // Looks at it right after the step; what it gives tells it.
  Loop::Publishing stepped(const control::Controller& controller, const control::Effects& effects);

  // Sessions and pools are not durable: who watches them hears of them at once.
  void tell_sessions(const control::Controller& controller, const control::Effects& effects);

 private:
  WatchHub::Changes changes_of(const control::Controller& controller,
                               const control::Effects& effects);
  void tell(const std::vector<control::Note>& notes, WatchHub::Changes changes);
  std::vector<NodeView> changed_nodes(const control::Controller& controller,
                                      const control::Effects& effects);

  EventLog& events_;
  WatchHub& hub_;
  std::map<model::NodeId, NodeView> told_;  // of nodes, to the watchers
  Time next_nodes_;  // looked at again: every heartbeat changes some figure of some node
};

}  // namespace berth::controld
