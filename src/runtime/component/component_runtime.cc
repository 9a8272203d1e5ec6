#include "runtime/component/component_runtime.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/check.h"
#include "runtime/component/boot_medium.h"
#include "runtime/component/confirmation.h"
#include "runtime/component/crash_points.h"
#include "runtime/component/firmware_medium.h"
#include "runtime/component/rootfs_medium.h"
#include "runtime/component/slot_file.h"
#include "runtime/probing/platform.h"
#include "runtime/problem.h"
#include "runtime/supervision/command.h"
#include "runtime/supervision/exec_session.h"

namespace berth::runtime {
namespace {

std::filesystem::path directory_of(const MachineConfig& config, model::RuntimeType type) {
  const auto& directory = config.components.directory;
  return (directory.empty() ? config.state_dir / "components" : directory) / model::to_string(type);
}

std::unique_ptr<Medium> make_medium(const MachineConfig& config, model::RuntimeType type) {
  switch (type) {
    case model::RuntimeType::Rootfs:
      return std::make_unique<RootfsMedium>(directory_of(config, type), config.image_dir);
    case model::RuntimeType::Boot:
      return std::make_unique<BootMedium>(directory_of(config, type), config.image_dir);
    case model::RuntimeType::Firmware: return std::make_unique<FirmwareMedium>();
    default: CHECK(false, "no type of components");
  }
}

CrashPoint noted(Phase before, Phase now) {
  switch (now) {
    case Phase::Writing: return CrashPoint::WritingNoted;
    case Phase::Verifying: return CrashPoint::VerifyingNoted;
    case Phase::Switching: return CrashPoint::SwitchingNoted;
    case Phase::Trying: return CrashPoint::TryingNoted;
    case Phase::RollingBack: return CrashPoint::RollBackNoted;
    case Phase::Settled: break;
  }
  return before == Phase::Trying ? CrashPoint::ConfirmationNoted : CrashPoint::OldVersionNoted;
}

CrashPoint done(Step step) {
  switch (step) {
    case Step::Write: return CrashPoint::SlotWritten;
    case Step::Verify: return CrashPoint::Verified;
    case Step::Switch: return CrashPoint::Switched;
    case Step::AwaitConfirmation: return CrashPoint::ConfirmationSeen;
    case Step::RollBack: return CrashPoint::RolledBack;
    case Step::Discard:
    case Step::None: break;
  }
  return CrashPoint::Discarded;
}

bool is_program(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos;
  return is_path ? ::access(name.c_str(), X_OK) == 0 : !find_program(name).empty();
}

bool is_preinstalled(const Component& component) { return component.found.run == model::RunId{}; }

std::optional<Component> copy_of(const Component* component) {
  return component != nullptr ? std::optional(*component) : std::nullopt;
}

std::vector<std::string> revert_of(const model::InstanceSpec& spec) {
  const auto* image = image_of<model::FirmwareImage>(spec);
  return image != nullptr ? image->revert : std::vector<std::string>{};
}

}  // namespace

ComponentRuntime::ComponentRuntime(const MachineConfig& config, const RuntimeSpec& spec,
                                   RunListener& listener)
    : config_(config.components),
      directory_(directory_of(config, spec.type)),
      medium_(make_medium(config, spec.type)),
      described_{.id = spec.id,
                 .type = spec.type,
                 .platform = platform_of_machine(),
                 .limits = {.instances = 1},
                 .ready = model::Readiness::Unknown,
                 .message = "not probed yet"},
      teller_(listener) {}

// --- Readiness -----------------------------------------------------------------------------------

ProbeResult ComponentRuntime::probe(Duration) { return compute_result(why_not_ready()); }

std::string ComponentRuntime::why_not_ready() {
  const auto loaded = load();
  if (!loaded) return loaded.error().message;
  if (::access(directory_.c_str(), W_OK | X_OK) != 0) {
    return fmt::format("cannot write to {}: {}", directory_.string(), std::strerror(errno));
  }
  if (!config_.confirm.empty() && !is_program(config_.confirm.front())) {
    return fmt::format("{}, which confirms updates, cannot be run", config_.confirm.front());
  }
  return medium_->why_not_ready();
}

// --- Runs ----------------------------------------------------------------------------------------

Result<std::vector<model::FoundRun>> ComponentRuntime::list() {
  const std::lock_guard one_at_a_time(installing_);
  const auto nothing_is_told = teller_.hold();
  TRY(settle());
  const SlotState state = this->state();
  const Component* held = confirmed_component(state);
  std::vector<model::FoundRun> found;
  if (held != nullptr && !held->ended) found.push_back(held->found);
  return found;
}

Started<void> ComponentRuntime::start(const model::InstanceSpec& spec, const model::RunId& run) {
  const std::lock_guard one_at_a_time(installing_);
  Interrupt interrupt;
  Start start{.name = {spec.key, run}, .interrupt = interrupt};
  begin(start);
  auto started = bring_up(spec, run, interrupt);
  end(start, started.has_value());
  return started;
}

void ComponentRuntime::begin(Start& start) {
  const std::lock_guard lock(mutex_);
  under_way_ = &start;
  if (leaving_) start.interrupt.raise();
}

// Who asked for its end meanwhile is told of it, too late to be heeded or not.
void ComponentRuntime::end(const Start& start, bool has_started) {
  bool is_stopped = false;
  {
    const std::lock_guard lock(mutex_);
    under_way_ = nullptr;
    is_stopped = start.is_stopped;
  }
  const auto& [key, run] = start.name;
  if (is_stopped && has_started) return stop(key, run, Duration{});
  if (is_stopped) teller_.tell(key, run, 0, {});
}

Started<void> ComponentRuntime::bring_up(const model::InstanceSpec& spec, const model::RunId& run,
                                         const Interrupt& interrupt) {
  if (const auto settled = settle(); !settled) {
    return problem("StorageFailed", settled.error().message);
  }
  const auto identity = medium_->identify(spec, {config_.install_timeout, interrupt});
  if (!identity) return tl::unexpected(identity.error());
  const Component wanted{.found = {.key = spec.key,
                                   .run = run,
                                   .type = model::ItemType::Component,
                                   .version = spec.item.version,
                                   .spec = spec},
                         .identity = *identity,
                         .revert = revert_of(spec)};
  switch (need_of(state(), wanted)) {
    case Need::Nothing: return take_over(wanted);
    case Need::Install: return install(spec, wanted, interrupt);
    case Need::Refuse: break;
  }
  return problem("SlotTaken",
                 fmt::format("{} is installed here, and is to stay; there is room for one",
                             to_string(confirmed_component(state())->found.key)));
}

Started<void> ComponentRuntime::take_over(const Component& wanted) {
  const auto before = copy_of(confirmed_component(state()));
  const SlotState after = taken_over(state(), wanted);
  const auto saved = save_slots(directory_, after);
  if (!saved) return problem("StorageFailed", saved.error().message);
  set_state(after);
  tell_replaced(before, wanted);
  return {};
}

void ComponentRuntime::tell_replaced(const std::optional<Component>& before, const Component& now) {
  if (!before || before->ended || before->found.key == now.found.key) return;
  teller_.tell(before->found.key, before->found.run, 0,
               {"Replaced", fmt::format("{} {} has taken its place", to_string(now.found.key),
                                        now.found.version)});
}

void ComponentRuntime::stop(const model::InstanceKey& key, const model::RunId& run, Duration) {
  const std::lock_guard lock(mutex_);
  if (under_way_ != nullptr && under_way_->name == Name{key, run}) {
    under_way_->is_stopped = true;
    return under_way_->interrupt.raise();
  }
  const Component* held = state_ ? confirmed_component(*state_) : nullptr;
  const bool is_it = held != nullptr && held->found.key == key && held->found.run == run;
  // What nobody has told us to install is there again for the next life, whoever ends it. One whose
  // end cannot be written down is found again by the next life, and stopped again.
  if (is_it && !is_preinstalled(*held) && state_->phase == Phase::Settled) {
    SlotState ended = run_ended(*state_);
    if (save_slots(directory_, ended)) state_ = std::move(ended);
    pass(CrashPoint::RunEndNoted);
  }
  teller_.tell(key, run, 0, {});
}

void ComponentRuntime::leave() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  if (under_way_ != nullptr) under_way_->interrupt.raise();
}

// --- Updates -------------------------------------------------------------------------------------

Started<void> ComponentRuntime::install(const model::InstanceSpec& spec, const Component& wanted,
                                        const Interrupt& interrupt) {
  pass(CrashPoint::Asked);
  const auto before = copy_of(confirmed_component(state()));
  const Job job{.spec = spec,
                .slot = spare_slot(state()),
                .identity = wanted.identity,
                .patience = {config_.install_timeout, interrupt}};
  std::optional<model::Problem> first;
  bool is_lost = false;
  const auto driven = drive(with_candidate(state(), wanted), Event::Asked, [&](Step step) {
    const auto outcome = step == Step::RollBack ? roll_back(is_lost) : perform(step, job);
    if (!outcome && !first) first = outcome.error();
    return is_lost ? Event::Lost : outcome ? Event::Succeeded : Event::Failed;
  });
  if (!driven && !first) first = model::Problem{"StorageFailed", driven.error().message};
  if (first) return tl::unexpected(with_what_is_active(*std::move(first), is_lost));
  tell_replaced(before, wanted);
  return {};
}

Started<void> ComponentRuntime::perform(Step step, const Job& job) {
  switch (step) {
    case Step::Write: return medium_->write(job);
    case Step::Verify: return medium_->verify(job);
    case Step::Switch: return medium_->activate(job);
    case Step::AwaitConfirmation:
      return await_confirmation({config_.confirm, config_.confirm_timeout},
                                {job.spec, medium_->path_of(job.slot), job.patience.interrupt},
                                *this);
    case Step::Discard: medium_->discard(job.slot); return {};
    case Step::RollBack:
    case Step::None: break;
  }
  CHECK(false, "not a step of a job");
}

Started<void> ComponentRuntime::roll_back(bool& is_lost) {
  const Medium::RolledBack rolled_back = medium_->roll_back(state());
  is_lost = rolled_back.outcome == Medium::Outcome::Lost;
  if (rolled_back.outcome == Medium::Outcome::Done) return {};
  return problem("RollBackFailed", rolled_back.message);
}

// The status is about the version that was wanted; people need to know what they have instead.
model::Problem ComponentRuntime::with_what_is_active(model::Problem problem, bool is_lost) const {
  const SlotState now = state();
  const Component* held = confirmed_component(now);
  if (is_lost) {
    problem.message += "; it could not be reverted, and nobody knows which version is active";
  } else if (now.phase != Phase::Settled) {
    problem.message += "; going back to the version before has failed too, and is tried again";
  } else if (held != nullptr) {
    problem.message +=
        fmt::format("; {} {} is active", held->found.key.item.value(), held->found.version);
  } else {
    problem.message += now.confirmed ? "; what was there before is active" : "; nothing is active";
  }
  return problem;
}

// Begins with what is durable: a version that was not confirmed before a restart is not kept.
Result<void> ComponentRuntime::settle() {
  const SlotState found = TRY(load());
  if (found.phase != Phase::Settled) {
    std::string why;
    const auto driven = drive(found, Event::Restarted, [&](Step step) {
      if (step == Step::Discard) {
        medium_->discard(spare_slot(found));
        return Event::Succeeded;
      }
      bool is_lost = false;
      const auto outcome = roll_back(is_lost);
      if (!outcome) why = outcome.error().message;
      return is_lost ? Event::Lost : outcome ? Event::Succeeded : Event::Failed;
    });
    if (!driven) why = driven.error().message;
    if (state().phase != Phase::Settled) return Error{Code::Unavailable, why};
  }
  return medium_->restore(active_slot(state()));
}

// Each state is durable before its step is begun. A step that cannot be noted is not begun, which
// is a failure of the one before; but what goes back to a good state is done in any case, and is
// done once more if nobody knows of it.
Result<void> ComponentRuntime::drive(SlotState from, Event event, const Perform& perform) {
  Result<void> result;
  for (;;) {
    const Advance next = advance(from, event);
    const auto saved = save_slots(directory_, next.state);
    if (!saved && result) result = saved.error();
    if (!saved && event == Event::Asked) return result;
    if (!saved && event == Event::Succeeded) {
      event = Event::Failed;
      continue;
    }
    set_state(next.state);
    pass(noted(from.phase, next.state.phase));
    if (next.step == Step::None) return result;
    event = perform(next.step);
    pass(done(next.step));
    if (next.step == Step::Discard) return result;
    from = next.state;
  }
}

// --- What is kept --------------------------------------------------------------------------------

Result<SlotState> ComponentRuntime::load() {
  const std::lock_guard lock(mutex_);
  if (state_) return *state_;
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) {
    return Error{Code::Unavailable,
                 fmt::format("cannot make {}: {}", directory_.string(), error.message())};
  }
  const auto known = TRY(load_slots(directory_));
  state_ = known ? *known : SlotState{.confirmed = medium_->find_active()};
  return *state_;
}

void ComponentRuntime::set_state(const SlotState& state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

SlotState ComponentRuntime::state() const {
  const std::lock_guard lock(mutex_);
  CHECK(state_, "it was loaded before");
  return *state_;
}

// --- What components cannot do -------------------------------------------------------------------

Error ComponentRuntime::not_for_components(const model::InstanceKey& key,
                                           std::string_view what) const {
  const std::lock_guard lock(mutex_);
  const Component* held = state_ ? confirmed_component(*state_) : nullptr;
  if (held == nullptr || held->ended || held->found.key != key) {
    return not_found(fmt::format("{} does not run here", to_string(key)));
  }
  return invalid_input(fmt::format("{} is a component, part of the node itself: it cannot be {}",
                                   to_string(key), what));
}

Result<void> ComponentRuntime::pause(const model::InstanceKey& key) {
  return not_for_components(key, "paused");
}

Result<void> ComponentRuntime::resume(const model::InstanceKey& key) {
  return not_for_components(key, "resumed");
}

Result<std::unique_ptr<ExecSession>> ComponentRuntime::exec(const model::InstanceKey& key,
                                                            const ExecRequest&, ExecListener) {
  return not_for_components(key, "entered");
}

Result<std::unique_ptr<ExecSession>> ComponentRuntime::exec_check(const model::InstanceKey&,
                                                                  const ExecRequest& request,
                                                                  ExecListener listener) {
  return open_session({.program = {.argv = request.command, .env = shim::own_environment()}},
                      request, std::move(listener));
}

}  // namespace berth::runtime
