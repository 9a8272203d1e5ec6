#include "agentd/ordered_runtime.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/application.h"
#include "shell/log.h"

namespace berth::agentd {
namespace {

using shell::LogLevel;

bool is_in(const std::vector<model::FoundRun>& runs, const agent::Exited& exited) {
  return std::any_of(runs.begin(), runs.end(), [&](const model::FoundRun& found) {
    return found.key == exited.key && found.run == exited.run;
  });
}

}  // namespace

OrderedRuntime::OrderedRuntime(const MakeRuntime& make, Tell tell, StateEnds states)
    : tell_(std::move(tell)), states_(std::move(states)), runtime_(make(*this)) {
  CHECK(runtime_ != nullptr, "a runtime that was not made");
  const model::Runtime described = runtime_->describe();
  id_ = described.id;
  kind_ = model::kind_of(described.type);
}

void OrderedRuntime::mute() {
  const std::lock_guard lock(telling_);
  is_mute_ = true;
}

void OrderedRuntime::tell(agent::Event event) {
  const std::lock_guard lock(telling_);
  if (!is_mute_) tell_(std::move(event));
}

void OrderedRuntime::list() {
  const std::unique_lock no_starts(starting_);
  {
    const std::lock_guard lock(mutex_);
    listing_ = true;
  }
  const auto runs = runtime_->list();
  if (!runs) {
    // The core asks again.
    shell::log(LogLevel::Warning, "a runtime cannot tell what it runs",
               {{"runtime", id_.value()}, {"error", runs.error().message}});
  }
  const std::lock_guard lock(mutex_);
  listing_ = false;
  const auto held_back = std::exchange(held_back_, {});
  const auto started = std::exchange(held_back_started_, {});
  const auto remarks = std::exchange(held_back_remarks_, {});
  for (const agent::Exited& exited : held_back) {
    if (!runs || !is_in(*runs, exited)) tell(exited);
  }
  if (!runs) return;
  tell(agent::RunsListed{id_, *runs});
  for (const agent::Started& one : started) tell(one);
  for (const agent::Remarked& one : remarks) tell(one);
  for (const agent::Exited& exited : held_back) {
    if (is_in(*runs, exited)) tell(exited);
  }
}

void OrderedRuntime::tell_prepared(const agent::Prepare& prepare,
                                   const tl::expected<void, model::Problem>& outcome) {
  const auto& [spec, generation, order] = prepare;
  if (outcome) {
    tell(agent::Prepared{spec.key, generation, order});
  } else {
    tell(agent::PrepareFailed{spec.key, generation, order, outcome.error()});
  }
}

void OrderedRuntime::start(const agent::Start& start) {
  const std::shared_lock no_list(starting_);
  const auto started = try_start(start);
  if (started) {
    tell(agent::Started{start.spec.key, start.run});
  } else {
    tell(agent::StartFailed{start.spec.key, start.run, started.error()});
  }
}

tl::expected<void, model::Problem> OrderedRuntime::try_start(const agent::Start& start) {
  if (!start.state && states_.begin) states_.begin(start.spec.key);
  if (start.state && states_.take) {
    const auto taken = states_.take(start.spec, *start.state);
    if (!taken) return taken;
  }
  return runtime_->start(start.spec, start.run);
}

void OrderedRuntime::stop(const agent::Stop& stop) {
  runtime_->stop(stop.key, stop.run, stop.grace);
}

void OrderedRuntime::set_pausing(const agent::SetPausing& set) {
  const Result<void> done =
      set.pausing == model::Pausing::Paused ? runtime_->pause(set.key) : runtime_->resume(set.key);
  tell_(agent::PausingSet{set.key, set.run, set.order, done ? "" : done.error().message});
}

void OrderedRuntime::exited(const model::InstanceKey& key, const model::RunId& run,
                            std::int32_t exit_code, const model::Problem& problem) {
  if (!problem.reason.empty()) {
    shell::log(LogLevel::Warning, "an instance ended",
               {{"instance", model::to_string(key)},
                {"code", std::to_string(exit_code)},
                {"reason", problem.reason},
                {"why", problem.message}});
  }
  agent::Exited exited{key, run, exit_code, problem, std::nullopt};
  // With its end, and not later: who hears that it is gone shall have what it has left. Both the
  // walk and what is read are bounded.
  if (states_.look && !model::is_pool_instance(key)) exited.state = states_.look(key);
  const std::lock_guard lock(mutex_);
  if (listing_) {
    held_back_.push_back(std::move(exited));
  } else {
    tell(std::move(exited));
  }
}

void OrderedRuntime::started(const model::InstanceKey& key, const model::RunId& run) {
  const std::lock_guard lock(mutex_);
  if (listing_) {
    held_back_started_.push_back({key, run});
  } else {
    tell(agent::Started{key, run});
  }
}

void OrderedRuntime::remarked(const model::InstanceKey& key, const model::RunId& run,
                              const model::Problem& remark) {
  const std::lock_guard lock(mutex_);
  if (listing_) {
    held_back_remarks_.push_back({key, run, remark});
  } else {
    tell(agent::Remarked{key, run, remark});
  }
}

}  // namespace berth::agentd
