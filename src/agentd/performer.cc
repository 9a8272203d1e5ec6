#include "agentd/performer.h"

#include <string>
#include <variant>

#include "agent/fetched_image.h"
#include "shell/log.h"

namespace berth::agentd {
namespace {

using shell::LogLevel;

// Far more than the core can want at once: it waits for answers.
constexpr std::size_t kTasksMax = 100'000;
constexpr std::size_t kCheckers = 16;  // at most: each may wait for an answer for seconds
constexpr std::size_t kErasers = 2;
constexpr std::size_t kFetchers = 3;   // from one place: more would only share the same line
constexpr std::size_t kPlacesMax = 8;  // more share what is there for all others
constexpr const char* kOtherPlaces = "others";

// False: the core hears nothing, and asks again after a while.
bool submit(shell::Workers& workers, const std::string& key, shell::Workers::Task task) {
  if (workers.submit(key, std::move(task))) return true;
  shell::log(LogLevel::Debug, "an action was dropped", {{"for", key}});
  return false;
}

// The registry of an image; "": it is on this machine.
std::string place_of(const std::string* reference) {
  constexpr std::string_view kRemote = "docker://";
  if (reference == nullptr || !reference->starts_with(kRemote)) return "";
  const std::size_t end = reference->find('/', kRemote.size());
  return reference->substr(kRemote.size(), end - kRemote.size());
}

}  // namespace

Performer::Performer(RuntimeSet& runtimes, CheckHealth check_health, EraseData erase_data,
                     Tell tell, std::size_t threads, NetworkControl* networks,
                     TidyImages tidy_images)
    : runtimes_(runtimes),
      check_health_(std::move(check_health)),
      erase_data_(std::move(erase_data)),
      tell_(std::move(tell)),
      networks_(networks),
      tidy_images_(std::move(tidy_images)),
      threads_(threads),
      workers_(threads, kTasksMax),
      erasers_(kErasers, kTasksMax),
      checkers_(kCheckers, kTasksMax) {}

void Performer::perform(const agent::Action& action) {
  std::visit([this](const auto& one) { begin(one); }, action);
}

// In the lane of what is started there next. Which runtime it was is not said; the others know no
// such run.
void Performer::forget(const agent::Exited& exited) {
  for (const RuntimeRef& one : runtimes_.all()) {
    submit(workers_for(*one), model::to_string(exited.key),
           [one, exited] { one->runtime().forget(exited.key, exited.run); });
  }
}

void Performer::stop() {
  for (const RuntimeRef& runtime : runtimes_.all()) runtime->runtime().leave();
  leaving_.request_stop();
  checkers_.stop();
  erasers_.stop();
  workers_.stop();
  for (const auto& [place, fetchers] : fetchers_) fetchers->stop();
  for (const auto& [id, workers] : of_runtimes_) workers->stop();
}

shell::Workers& Performer::workers_for(const OrderedRuntime& runtime) {
  std::unique_ptr<shell::Workers>& workers = of_runtimes_[runtime.id()];
  if (!workers) workers = std::make_unique<shell::Workers>(threads_, kTasksMax);
  return *workers;
}

void Performer::begin(const agent::ListRuns& list) {
  const RuntimeRef runtime = runtimes_.find(list.runtime);
  if (runtime == nullptr) return;
  submit(workers_for(*runtime), "runtime " + list.runtime.value(), [runtime] { runtime->list(); });
}

// What is there is told at once, whatever is being fetched.
void Performer::begin(const agent::Prepare& prepare) {
  const RuntimeRef runtime = runtimes_.find(prepare.spec.runtime);
  if (runtime == nullptr) {
    const model::Problem problem{"NoSuchRuntime",
                                 "there is no runtime " + prepare.spec.runtime.value()};
    return tell_(
        agent::PrepareFailed{prepare.spec.key, prepare.generation, prepare.order, problem});
  }
  shell::Workers& fetchers = fetchers_for(prepare);
  submit(workers_, "prepare " + model::to_string(prepare.spec.key),
         [this, &fetchers, runtime, prepare] {
           if (runtime->is_prepared(prepare.spec)) return runtime->tell_prepared(prepare, {});
           fetch(fetchers, runtime, prepare);
         });
}

shell::Workers& Performer::fetchers_for(const agent::Prepare& prepare) {
  std::string place = place_of(agent::fetched_image_of(prepare.spec));
  if (!fetchers_.contains(place) && fetchers_.size() >= kPlacesMax) place = kOtherPlaces;
  std::unique_ptr<shell::Workers>& fetchers = fetchers_[place];
  if (!fetchers) fetchers = std::make_unique<shell::Workers>(kFetchers, kTasksMax);
  return *fetchers;
}

// All who want the same image share one pull, and what becomes of it.
void Performer::fetch(shell::Workers& fetchers, const RuntimeRef& runtime,
                      const agent::Prepare& prepare) {
  const std::string* reference = agent::fetched_image_of(prepare.spec);
  const std::string image =
      prepare.spec.runtime.value() + " " + (reference == nullptr ? "" : *reference);
  {
    const std::lock_guard lock(mutex_);
    std::vector<agent::Prepare>& waiting = fetching_[image];
    waiting.push_back(prepare);
    if (waiting.size() > 1) return;
  }
  const bool taken = fetchers.submit(image, [this, runtime, image, spec = prepare.spec] {
    const auto outcome = runtime->prepare(spec);
    for (const agent::Prepare& one : take_waiting_for(image)) runtime->tell_prepared(one, outcome);
  });
  if (!taken) take_waiting_for(image);
}

std::vector<agent::Prepare> Performer::take_waiting_for(const std::string& image) {
  const std::lock_guard lock(mutex_);
  return std::move(fetching_.extract(image).mapped());
}

void Performer::begin(const agent::Start& start) {
  const RuntimeRef runtime = runtimes_.find(start.spec.runtime);
  if (runtime == nullptr) {
    const model::Problem problem{"NoSuchRuntime",
                                 "there is no runtime " + start.spec.runtime.value()};
    return tell_(agent::StartFailed{start.spec.key, start.run, problem});
  }
  const Name name{start.spec.key, start.run};
  {
    const std::lock_guard lock(mutex_);
    waiting_.insert(name);
  }
  submit(workers_for(*runtime), model::to_string(start.spec.key), [this, runtime, start, name] {
    if (!take_turn(name)) return;
    runtime->start(start);
    const std::lock_guard lock(mutex_);
    under_way_.erase(name);
  });
}

// False: it was stopped before its turn came.
bool Performer::take_turn(const Name& start) {
  const std::lock_guard lock(mutex_);
  if (waiting_.erase(start) == 0) return false;
  under_way_.insert(start);
  return true;
}

void Performer::begin(const agent::Stop& stop) {
  const RuntimeRef runtime = runtimes_.find(stop.runtime);
  if (runtime == nullptr) return tell_(agent::Exited{stop.key, stop.run, 0});
  bool interrupts = false;
  {
    const std::lock_guard lock(mutex_);
    waiting_.erase({stop.key, stop.run});
    const Name name{stop.key, stop.run};
    interrupts = under_way_.contains(name) || pausing_.contains(name);
  }
  const auto do_it = [runtime, stop] { runtime->stop(stop); };
  // A start or a pause that takes long is told at once. Whether it had begun to listen is not
  // known, so it is told in its turn, too; a second end of a run does no harm.
  if (interrupts) submit(workers_, "stop " + model::to_string(stop.key), do_it);
  submit(workers_for(*runtime), model::to_string(stop.key), do_it);
}

// One that waits for its turn is not asked for twice.
void Performer::begin(const agent::CheckHealth& check) {
  const Name name{check.spec.key, check.run};
  {
    const std::lock_guard lock(mutex_);
    if (!checks_.insert(name).second) return;
  }
  const bool taken = submit(checkers_, model::to_string(check.spec.key), [this, check, name] {
    take_check(name);
    tell_(agent::CheckBegun{name.first, name.second});
    tell_(check_health_(check));
  });
  if (!taken) take_check(name);
}

void Performer::take_check(const Name& name) {
  const std::lock_guard lock(mutex_);
  checks_.erase(name);
}

void Performer::begin(const agent::SetPausing& set) {
  const RuntimeRef runtime = runtimes_.find(set.runtime);
  if (runtime == nullptr) {
    return tell_(agent::PausingSet{set.key, set.run, set.order,
                                   "there is no runtime " + set.runtime.value()});
  }
  const Name name{set.key, set.run};
  {
    const std::lock_guard lock(mutex_);
    pausing_.insert(name);
  }
  submit(workers_for(*runtime), model::to_string(set.key), [this, runtime, set, name] {
    runtime->set_pausing(set);
    const std::lock_guard lock(mutex_);
    pausing_.extract(name);
  });
}

void Performer::begin(const agent::ApplyNetwork& apply) {
  if (networks_ != nullptr) networks_->apply(apply.network);
}

// Always answered: the core starts nothing of the instance before, and does not ask twice.
void Performer::begin(const agent::EraseData& erase) {
  const bool taken = submit(erasers_, model::to_string(erase.key), [this, erase] {
    const Result<void> erased = erase_data_(erase.key, leaving_.get_token());
    tell_(agent::DataErased{erase.key, erased ? "" : erased.error().message});
  });
  if (!taken) tell_(agent::DataErased{erase.key, "too much waits to be erased"});
}

void Performer::begin(const agent::TidyImages& tidy) {
  if (!tidy_images_) return;
  submit(workers_, "images", [this, tidy] { tidy_images_(tidy.wanted); });
}

}  // namespace berth::agentd
