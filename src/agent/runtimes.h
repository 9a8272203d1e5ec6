#pragma once

#include <map>
#include <optional>
#include <set>

#include "agent/context.h"
#include "base/alarms.h"
#include "model/instance.h"
#include "model/node.h"

namespace berth::agent {

// The runtimes of the node: whether they are ready, and whether they have told what they run.
//
// Nothing is started on a runtime before it has. Nor is anything started anywhere while a Ready
// runtime is still expected to tell: an older run of the same instance may be there. A runtime that
// is not Ready, or does not answer in time, is not waited for, so that it delays nobody else.
class Runtimes {
 public:
  // Asks every new runtime what it runs; forgets those that are gone. Gives those that changed.
  std::set<model::RuntimeId> observe(const Context& context, const model::NodeInfo& node);

  // Asks a runtime that the node no longer has what still runs on it.
  void leave(const Context& context, const model::RuntimeId& runtime);

  // The runtime has told what it runs. False: it is not one of this node's.
  bool listed(const model::RuntimeId& runtime);

  // Asks those again that did not answer in time. True: somebody may no longer be waited for.
  bool ask_again(const Context& context);

  // May an instance be started now? Neither: it has to wait, and the wait will end.
  struct Admission {
    bool granted = false;
    std::optional<model::Problem> refusal;
  };
  enum class Before { CannotHaveRun, MayHaveRun };
  Admission admit(const model::InstanceSpec& spec, Before before) const;

  // Whether each has told what it runs; and those that have not.
  bool have_told() const;
  std::set<model::RuntimeId> not_told() const;

  // Whether some runtime is still expected to tell what it runs.
  bool is_awaited() const;

  std::optional<Time> next() const { return alarms_.next(); }

 private:
  struct Known {
    model::Runtime runtime = {};
    bool listed = false;
    bool overdue = false;
    bool has_left = false;  // and is known only until it has told

    bool is_awaited() const { return (is_ready() || has_left) && !listed && !overdue; }
    bool is_ready() const { return runtime.ready == model::Readiness::Ready; }
  };

  void ask(const Context& context, const model::RuntimeId& runtime);

  bool node_known_ = false;
  std::map<model::RuntimeId, Known> known_;
  Alarms<model::RuntimeId> alarms_;  // when an unanswered ListRuns is asked again
};

}  // namespace berth::agent
