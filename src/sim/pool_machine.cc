#include "sim/pool_machine.h"

#include <fmt/format.h>

#include "sim/draw.h"
#include "sim/machine.h"

namespace berth::sim {
namespace {

// Nobody asks who was served longer ago.
constexpr Duration kRemembersServed = 120s;

constexpr std::uint64_t kUsedPercent = 80;
constexpr std::uint64_t kCountsPercent = 20;
constexpr std::uint64_t kEndsByItselfPercent = 1;

void shift(std::optional<Time>& time, Duration by) {
  if (time) *time += by;
}

}  // namespace

model::PoolNote shifted(model::PoolNote note, Duration by) {
  for (model::KeptSession& kept : note.sessions) {
    shift(kept.available_at, by);
    shift(kept.idle_since, by);
    shift(kept.closes_by, by);
  }
  return note;
}

PoolMachine::PoolMachine(Stage& stage, Random random, Tell tell, FindRun find_run)
    : stage_(stage), random_(random), tell_(std::move(tell)), find_run_(std::move(find_run)) {}

void PoolMachine::heal() {
  moods_ = {};
  is_healed_ = true;
}

void PoolMachine::perform(const agent::PoolAction& action) {
  std::visit([this](const auto& one) { perform_one(one); }, action);
}

void PoolMachine::agent_died() {
  ++agent_life_;
  furnished_.clear();
  connected_.clear();
  endpoints_.clear();
  for (auto& [ref, served] : served_) {
    if (!served.until) served.until = stage_.now();
  }
}

void PoolMachine::power_cut() {
  ++power_life_;
  apps_.clear();
  agent_died();
}

void PoolMachine::answer(Duration delay, std::function<void()> task) {
  stage_.queue.after(delay, [this, task = std::move(task), life = agent_life_] {
    if (life == agent_life_) task();
  });
}

// --- Furniture ---------------------------------------------------------------------------------

void PoolMachine::perform_one(const agent::Furnish& furnish) {
  agent::Furnished furnished{
      .key = furnish.key, .ports = {}, .socket = {}, .token = {}, .problem = {}};
  if (is_drawn_to_fail()) {
    furnished.problem = "drawn to fail";
  } else {
    for (const model::Port& port : furnish.ports) {
      last_port_ = last_port_ == 65'535 ? 40'001 : static_cast<std::uint16_t>(last_port_ + 1);
      furnished.ports.push_back({port, "", 0, fmt::format("127.0.0.1:{}", last_port_)});
    }
    if (furnish.service) {
      furnished.socket = "/run/sessions";
      furnished.token = fmt::format("token{}", ++last_token_);
    }
    furnished_.insert(furnish.key);
  }
  answer(draw(random_, 1ms, 30ms), [this, furnished] { tell_(furnished); });
}

void PoolMachine::perform_one(const agent::ServeApp& serve) { furnished_.insert(serve.key); }

void PoolMachine::perform_one(const agent::Unfurnish& unfurnish) {
  if (stage_.sabotage == Sabotage::LeaveFurniture) return;
  furnished_.erase(unfurnish.key);
  connected_.erase(unfurnish.key);
}

// --- Apps --------------------------------------------------------------------------------------

void PoolMachine::run_began(const model::InstanceKey& key) {
  const Run* run = find_run_(key);
  if (run == nullptr || run->spec.session_socket.empty()) return;
  apps_.insert_or_assign(key, App{is_drawn_to_fail(), {}});
  live(key, power_life_);
}

void PoolMachine::live(const model::InstanceKey& key, std::uint64_t power_life) {
  const auto app = apps_.find(key);
  const bool is_slow = app != apps_.end() && !connected_.contains(key) && is_drawn_slow();
  const Duration wait = is_slow                    ? draw(random_, 1s, 20s)
                        : connected_.contains(key) ? draw(random_, 1s, 4s)
                                                   : draw(random_, 5ms, 500ms);
  stage_.queue.after(wait, [this, key, power_life] {
    if (power_life != power_life_) return;
    const Run* run = find_run_(key);
    if (run == nullptr) return void(apps_.erase(key));
    if (!run->paused) speak(key, apps_.at(key));
    live(key, power_life);
  });
}

void PoolMachine::speak(const model::InstanceKey& key, App& app) {
  if (app.is_mute || !furnished_.contains(key)) return;
  if (connected_.insert(key).second) return tell_(agent::AppConnected{key});
  tell_(agent::AppPinged{key});
  if (!is_healed_) go_on_with_sessions(key, app);
}

void PoolMachine::go_on_with_sessions(const model::InstanceKey& key, App& app) {
  for (const std::string& session : std::set(app.sessions)) {
    if (draw_percent(random_, kCountsPercent)) {
      tell_(agent::AppCounted{key, session, static_cast<std::uint32_t>(random_.below(3))});
    }
    if (!draw_percent(random_, kEndsByItselfPercent)) continue;
    app.sessions.erase(session);
    tell_(agent::AppClosed{key, session});
  }
}

PoolMachine::App* PoolMachine::listening_app(const model::InstanceKey& key) {
  const auto app = apps_.find(key);
  const Run* run = find_run_(key);
  if (app == apps_.end() || app->second.is_mute || run == nullptr || run->paused) return nullptr;
  return &app->second;
}

// Whoever is not connected hears it when it is.
void PoolMachine::perform_one(const agent::OpenInApp& open) {
  if (is_drawn_to_fail()) return;  // and never answers
  const std::string problem = is_drawn_to_fail() ? "drawn to refuse" : "";
  const Duration takes = is_drawn_slow() ? draw(random_, 1s, 30s) : draw(random_, 1ms, 100ms);
  answer(takes, [this, open, problem] {
    App* app = listening_app(open.key);
    if (app == nullptr) return;
    if (problem.empty()) app->sessions.insert(open.session);
    tell_(agent::AppOpened{open.key, open.session, problem});
  });
}

void PoolMachine::perform_one(const agent::CloseInApp& close) {
  if (is_drawn_to_fail()) return;
  const Duration takes = is_drawn_slow() ? draw(random_, 1s, 30s) : draw(random_, 1ms, 500ms);
  answer(takes, [this, close] {
    App* app = listening_app(close.key);
    if (app == nullptr) return;
    app->sessions.erase(close.session);
    tell_(agent::AppClosed{close.key, close.session});
  });
}

// --- Endpoints ---------------------------------------------------------------------------------

// All of them, or why not.
std::string PoolMachine::hold(const agent::OpenEndpoints& open) {
  if (is_drawn_to_fail()) return "drawn to be taken by a stranger";
  for (const model::SessionPort& port : open.ports) {
    const auto holder = endpoints_.find({port.external_address, port.external});
    if (holder != endpoints_.end() && holder->second != open.ref) {
      return fmt::format("port {} is taken", port.external);
    }
  }
  for (const model::SessionPort& port : open.ports) {
    endpoints_.insert_or_assign({port.external_address, port.external}, open.ref);
  }
  std::erase_if(served_, [this](const auto& entry) {
    return entry.second.until && stage_.now() - *entry.second.until > kRemembersServed;
  });
  const Run* run = find_run_(open.instance);
  if (run != nullptr && !run->paused) served_.insert_or_assign(open.ref, Served{open.instance, {}});
  return "";
}

void PoolMachine::release(const model::SessionRef& ref) {
  const bool leaks = stage_.sabotage == Sabotage::LeaveEndpoints;
  if (!leaks) std::erase_if(endpoints_, [&](const auto& entry) { return entry.second == ref; });
  const auto served = served_.find(ref);
  if (served != served_.end() && !served->second.until) served->second.until = stage_.now();
}

// What is asked for happens in the order of asking; only the answers take their time.
void PoolMachine::perform_one(const agent::OpenEndpoints& open) {
  const bool is_said_only = stage_.sabotage == Sabotage::ClaimEndpoints;
  const std::string problem = is_said_only ? "" : hold(open);
  answer(draw(random_, 1ms, 20ms), [this, open, problem] {
    tell_(agent::EndpointsOpened{open.ref, open.instance, problem});
  });
  if (problem.empty() && draw_percent(random_, kUsedPercent)) use_later(open);
}

void PoolMachine::use_later(const agent::OpenEndpoints& open) {
  answer(draw(random_, 50ms, 15s), [this, open] {
    const auto served = served_.find(open.ref);
    const bool is_open = served != served_.end() && !served->second.until;
    if (is_open) tell_(agent::EndpointUsed{open.ref, open.instance});
  });
}

void PoolMachine::perform_one(const agent::CloseEndpoints& close) {
  answer(draw(random_, 1ms, 200ms), [this, close] {
    release(close.ref);
    tell_(agent::EndpointsClosed{close.ref, close.instance});
  });
}

}  // namespace berth::sim
