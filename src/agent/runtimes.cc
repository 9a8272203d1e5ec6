#include "agent/runtimes.h"

#include <string>
#include <utility>

namespace berth::agent {
namespace {

model::Problem no_such_runtime(const model::RuntimeId& runtime) {
  return {"NoSuchRuntime", "the node has no runtime " + runtime.value()};
}

// "runtime runc is NotReady (ComputeNotReady): runc is not installed"
model::Problem not_ready(const model::Runtime& runtime) {
  std::string message = "runtime ";
  message += runtime.id.value();
  message += " is ";
  message += model::to_string(runtime.ready);
  if (!runtime.reason.empty()) message += " (" + runtime.reason + ")";
  if (!runtime.message.empty()) message += ": " + runtime.message;
  return {"RuntimeNotReady", std::move(message), model::Hindrance::RuntimeNotReady};
}

bool is_other_state(const model::Runtime& one, const model::Runtime& other) {
  return one.ready != other.ready || one.reason != other.reason || one.message != other.message;
}

}  // namespace

std::set<model::RuntimeId> Runtimes::observe(const Context& context, const model::NodeInfo& node) {
  node_known_ = true;
  std::set<model::RuntimeId> changed;
  std::set<model::RuntimeId> present;
  for (const model::Runtime& runtime : node.runtimes) {
    if (!present.insert(runtime.id).second) continue;
    const auto [at, is_new] = known_.try_emplace(runtime.id);
    if (is_new) ask(context, runtime.id);
    if (is_new || is_other_state(at->second.runtime, runtime)) changed.insert(runtime.id);
    at->second.runtime = runtime;
    at->second.has_left = false;
  }
  for (auto at = known_.begin(); at != known_.end();) {
    if (present.contains(at->first) || at->second.has_left) {
      ++at;
      continue;
    }
    changed.insert(at->first);
    alarms_.set(at->first, std::nullopt);
    at = known_.erase(at);
  }
  return changed;
}

void Runtimes::leave(const Context& context, const model::RuntimeId& runtime) {
  const auto [at, is_new] = known_.try_emplace(runtime);
  if (!is_new) return;
  at->second.has_left = true;
  ask(context, runtime);
}

void Runtimes::ask(const Context& context, const model::RuntimeId& runtime) {
  context.act(ListRuns{runtime});
  alarms_.set(runtime, context.now + context.config.action_timeout);
}

bool Runtimes::listed(const model::RuntimeId& runtime) {
  const auto found = known_.find(runtime);
  if (found == known_.end()) return false;
  found->second.listed = true;
  alarms_.set(runtime, std::nullopt);
  if (found->second.has_left) known_.erase(found);
  return true;
}

bool Runtimes::ask_again(const Context& context) {
  bool given_up = false;
  for (const model::RuntimeId& runtime : alarms_.take_due(context.now)) {
    given_up |= !std::exchange(known_.at(runtime).overdue, true);
    context.note("runtime " + runtime.value() + " has not told what it runs, asked again");
    ask(context, runtime);
  }
  return given_up;
}

bool Runtimes::have_told() const { return node_known_ && not_told().empty(); }

std::set<model::RuntimeId> Runtimes::not_told() const {
  std::set<model::RuntimeId> not_told;
  for (const auto& [id, runtime] : known_) {
    if (!runtime.listed) not_told.insert(id);
  }
  return not_told;
}

bool Runtimes::is_awaited() const {
  for (const auto& [id, runtime] : known_) {
    if (runtime.is_awaited()) return true;
  }
  return false;
}

Runtimes::Admission Runtimes::admit(const model::InstanceSpec& spec, Before before) const {
  if (!node_known_) return {};
  const auto found = known_.find(spec.runtime);
  if (found == known_.end()) return {.refusal = no_such_runtime(spec.runtime)};
  const Known& runtime = found->second;
  // What may be running is not called failed before its runtime had a chance to tell.
  if (!runtime.listed && !runtime.overdue && before == Before::MayHaveRun) return {};
  if (runtime.has_left) return {.refusal = no_such_runtime(spec.runtime)};
  const bool tolerated = spec.item.tolerates.contains(model::Toleration::RuntimeNotReady);
  if (!runtime.is_ready() && !tolerated) {
    return {.refusal = not_ready(runtime.runtime)};
  }
  return {.granted = runtime.listed && !is_awaited(), .refusal = {}};
}

}  // namespace berth::agent
