#pragma once

#include <optional>

#include "agent/agent.h"
#include "agentd/unwritten.h"
#include "sim/checker.h"
#include "sim/daemon.h"
#include "sim/machine.h"
#include "sim/network.h"

namespace berth::sim {

// A node: its machine and the agent's process on it. A clone has the id of another node and a link
// of its own.
class AgentHost : public Daemon<agent::Event, agent::Effects> {
 public:
  AgentHost(Stage& stage, Random random, const model::Node& node, Network& network, Checker& watch);
  AgentHost(Stage& stage, Random random, const AgentHost& original, const model::NodeId& link,
            Network& network, Checker& watch);

  // The agent's process dies and comes back; what runs goes on running.
  void crash(Duration down);
  // Power is lost: agent and runs are gone, the disk is as it was, as far as it has not lied.
  void reboot(Duration down);
  // It is taken away for good.
  void remove();

  // The agent's process dies, and when it comes back its store is not what it was: empty, torn, or
  // as it was when the agent started last.
  void lose_store(Duration down);

  Machine& machine() { return machine_; }
  const Machine& machine() const { return machine_; }
  // States that it has said, and that nobody has said to have heard.
  const std::map<model::InstanceKey, std::string>& unheard() const { return unheard_; }
  // What the agent has been told and believes, as its writes say.
  const agent::Restored& memory() const { return memory_; }

 private:
  void boot() override;
  void died() override;
  agent::Effects step_core(Time now, std::span<const agent::Event> batch) override;
  std::vector<store::Change> changes_of(const agent::Effects& effects) override;
  void committed(const agent::Effects& effects) override;
  void perform(const agent::Effects& effects) override;
  void perform_at_once(const agent::Effects& effects) override;
  bool goes_on_without(const agent::Effects& effects, const Error& why) override;
  void send(const std::vector<model::Report>& reports);
  void act(const agent::Action& action);
  void act_for_pool(agent::PoolAction action);
  Machine::Tell teller();
  void note_heard(const agent::Event& event);
  void stop_something_healthy();

  model::NodeId node_;
  model::NodeId link_;
  Network& network_;
  Checker& watch_;
  Machine machine_;
  std::optional<agent::Agent> core_;
  agent::Restored memory_;
  agentd::Unwritten unwritten_;
  std::string store_problem_;  // as the core was told
  std::map<model::InstanceKey, std::string> unheard_;
  std::uint64_t boots_ = 0;
  bool has_lost_store_ = false;  // and nothing on the disk says so
};

}  // namespace berth::sim
