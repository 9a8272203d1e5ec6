#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "agent/events.h"
#include "base/random.h"
#include "sim/faults.h"
#include "sim/stage.h"

namespace berth::sim {

struct Run;

// What a machine has for pool instances beside their runs: ports to listen on, a session service,
// the apps that talk to it, and the endpoints at which sessions are reached. Apps are more or less
// well-behaved: some are slow, some never answer. Endpoints are in the agent's process and go with
// it; apps and what they know live as long as their runs.
class PoolMachine {
 public:
  using Tell = std::function<void(agent::Event)>;
  // The run of the instance, if it runs; nullptr: it does not.
  using FindRun = std::function<const Run*(const model::InstanceKey&)>;
  using Endpoint = std::pair<std::string, std::uint16_t>;  // address and port

  // What is reached by somebody's endpoints, and was until a while ago.
  struct Served {
    model::InstanceKey instance;
    std::optional<Time> until;  // nullopt: it still is
  };

  PoolMachine(Stage& stage, Random random, Tell tell, FindRun find_run);

  void set_moods(const Moods& moods) { moods_ = moods; }
  // Apps do nothing by themselves any more, so that all can come to rest.
  void heal();

  // All but KeepNote, which is kept with the run.
  void perform(const agent::PoolAction& action);
  void run_began(const model::InstanceKey& key);
  void agent_died();
  void power_cut();

  const std::map<Endpoint, model::SessionRef>& endpoints() const { return endpoints_; }
  const std::map<model::SessionRef, Served>& served() const { return served_; }
  std::size_t furnished() const { return furnished_.size(); }

 private:
  struct App {
    bool is_mute = false;  // it never says a word
    std::set<std::string> sessions;
  };

  void perform_one(const agent::Furnish& furnish);
  void perform_one(const agent::ServeApp& serve);
  void perform_one(const agent::Unfurnish& unfurnish);
  void perform_one(const agent::OpenInApp& open);
  void perform_one(const agent::CloseInApp& close);
  void perform_one(const agent::OpenEndpoints& open);
  void perform_one(const agent::RefuseNew&) {}
  void perform_one(const agent::CloseEndpoints& close);
  void perform_one(const agent::KeepNote&) {}

  // Runs the task unless the agent that asked for it has died until then.
  void answer(Duration delay, std::function<void()> task);
  std::string hold(const agent::OpenEndpoints& open);
  void release(const model::SessionRef& ref);
  void use_later(const agent::OpenEndpoints& open);
  // An app, from time to time, while its run runs.
  void live(const model::InstanceKey& key, std::uint64_t power_life);
  void speak(const model::InstanceKey& key, App& app);
  void go_on_with_sessions(const model::InstanceKey& key, App& app);
  App* listening_app(const model::InstanceKey& key);
  bool is_drawn_slow() { return random_.chance_ppm(moods_.slow_start); }
  bool is_drawn_to_fail() { return random_.chance_ppm(moods_.failed_start); }

  Stage& stage_;
  Random random_;
  Tell tell_;
  FindRun find_run_;
  Moods moods_;
  bool is_healed_ = false;
  std::map<model::InstanceKey, App> apps_;
  // Of this life of the agent.
  std::set<model::InstanceKey> furnished_;
  std::set<model::InstanceKey> connected_;
  std::map<Endpoint, model::SessionRef> endpoints_;
  std::map<model::SessionRef, Served> served_;
  std::uint16_t last_port_ = 40'000;
  std::uint64_t last_token_ = 0;
  std::uint64_t agent_life_ = 0;
  std::uint64_t power_life_ = 0;
};

// The same note on a clock that is ahead by so much.
model::PoolNote shifted(model::PoolNote note, Duration by);

}  // namespace berth::sim
