#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "control/events.h"
#include "control/testing/builders.h"
#include "control/testing/fake_agent.h"

namespace berth::control {

// A random life of a small cluster: users who ask for things, nodes that come and go, agents that
// tell the truth late, in part, twice or not at all. The seed decides everything.
class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed), is_calm_(seed % 2 == 0) {
    for (int i = 1; i <= kNodes; ++i) {
      FakeAgent& agent = agents_.try_emplace(node(i), a_random_node()).first->second;
      agent.stops_slowly = chance(50);
      agent.starts_slowly = chance(30);
      if (chance(70)) agent.usage = a_usage();
    }
  }

  Time now() const { return now_; }

  // Time passes, often none, sometimes exactly until the controller wants to be woken.
  void pass_time(std::optional<Time> wake_at);

  std::vector<Event> next_batch();

  // Commands wait in the agents' mailboxes; now and then one is lost.
  void deliver(const std::vector<Outgoing>& commands);

  bool wants_restart() { return random_.below(200) == 0; }
  // All streams are broken; agents go on.
  void restarted();

 private:
  static constexpr int kNodes = 4;
  static constexpr int kItems = 6;

  bool chance(std::uint64_t percent) { return random_.below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[random_.below(all.size())];
  }

  static model::NodeId node(int number) { return model::NodeId{"n" + std::to_string(number)}; }
  model::NodeId a_node_id() { return node(static_cast<int>(random_.between(1, kNodes))); }
  std::string an_item_id();
  std::string a_version() { return std::to_string(random_.between(1, 2)); }

  // --- What users ask for.

  // The last letters of the alphabet are components.
  static bool is_component(const std::string& id) { return id >= "e"; }

  model::Item an_item();

  void draw_connections(ItemBuilder& item);

  model::RunRequest a_request();

  model::NodeConfig a_config_of_thresholds();

  Event an_apply();

  // Once more what was applied last under a name, or more or less of it.
  Event another_extent();

  model::EnvOverride an_override();

  Event a_deletion();

  Event a_call();

  // --- What nodes do.

  model::NodeInfo a_random_node();

  model::Usage a_usage() { return {Dmips{random_.between(0, 9) * 100}, Bytes{}}; }

  void change_truth(FakeAgent& agent);

  static void finish_a_stop(FakeAgent& agent);

  model::ReportedStatus a_stray();

  void change_an_instance(FakeAgent& agent);

  void open(std::vector<Event>& batch, const model::NodeId& id);

  void say(std::vector<Event>& batch, const model::NodeId& id, model::Report report);

  // What is said is true, but may be old, come twice, or follow something that was lost.
  void say_something(std::vector<Event>& batch, const model::NodeId& id, FakeAgent& agent);

  void read_mail(std::vector<Event>& batch, const model::NodeId& id, FakeAgent& agent);

  void let_a_node_act(std::vector<Event>& batch);

  void add_events(std::vector<Event>& batch);

  Random random_;
  const bool is_calm_;  // users mostly ask for more, nodes mostly stay what they are
  std::map<std::string, model::Deployment> applied_;
  Time now_ = Time{} + 100s;
  std::map<model::NodeId, FakeAgent> agents_;
  std::map<model::NodeId, ConnectionId> connections_;
  std::map<model::NodeId, std::vector<Outgoing>> mail_;
  ConnectionId last_connection_ = 0;
  CallId last_call_ = 0;
};

}  // namespace berth::control
