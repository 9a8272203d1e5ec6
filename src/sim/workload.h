#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "control/events.h"
#include "sim/cluster.h"

namespace berth::sim {

// The users of a simulated unit: they add, change and remove what shall run, and now and then
// cordon a node, ask for nonsense or try to forget a node.
class Workload {
 public:
  Workload(Random random, const Cluster& cluster);

  // The first call: node configs, items and all deployments.
  control::Event first_call();
  control::Event next_call();

 private:
  // One item as it is asked for now.
  struct Line {
    model::Item item;
    std::string deployment;
    model::RunRequest request;
    bool fixed_needs = false;  // new versions ask for exactly the same
  };

  void draw_line(std::size_t index);
  model::Item draw_service(std::size_t index);
  model::Item draw_component(std::size_t index);
  void draw_needs(model::Item& item);
  void draw_connections(model::Item& item);
  model::RunRequest draw_request(const model::Item& item);

  control::Event apply(const std::string& deployment, std::vector<model::Document> documents);
  control::Event change_a_request();
  control::Event update_an_item();
  control::Event remove_a_deployment();
  control::Event remove_an_old_version();
  control::Event cordon_a_node();
  control::Event ask_for_nonsense();
  control::Event forget_a_node();
  control::Event break_an_item();
  control::Event override_variables();
  control::Event change_a_subject();
  control::Event delete_an_instance();
  control::Event pause_an_instance();
  model::Deployment deployment(const std::string& name) const;
  Line& draw_a_line() { return lines_[random_.below(lines_.size())]; }

  Random random_;
  Cluster cluster_;
  std::vector<Line> lines_;
  std::uint64_t last_call_ = 0;
  std::uint64_t last_version_ = 1;
};

}  // namespace berth::sim
