#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/instant_pool.h"
#include "control/controller.h"
#include "model/protocol.h"

namespace berth::bench {

// The core of a control plane alone: no store, no threads, no sockets. Its agents are stand-ins
// that do at once what they are told; what they need for it is not counted. Virtual time.
class SessionsInProcess {
 public:
  // Alike nodes, connected, each with an address of its own.
  explicit SessionsInProcess(std::uint32_t nodes);

  // Asks for it with so many instances, all of which are ready then.
  void add_application(const std::string& name, std::uint32_t instances,
                       std::uint32_t per_instance);
  // Other instances that nothing here concerns.
  void deploy(std::uint32_t instances);

  // Opens so many, that many with one step; the names that they were given.
  std::vector<model::SessionKey> open(const std::string& application, std::size_t count,
                                      std::size_t at_once);
  void close(std::span<const model::SessionKey> sessions);

  // Seconds that the controller has thought for, since it was asked before.
  double take_spent() { return std::exchange(spent_, 0); }

 private:
  struct StandIn {
    control::ConnectionId connection = 1;
    std::uint64_t revision = 0;
    model::CommandNumber acted;
    InstantPool pool{InstantPool::Keeps::InstancesOnly};
  };

  // Until all is quiet.
  void tell(std::vector<control::Event> events);
  control::Effects step(const std::vector<control::Event>& events);
  void answer(const control::Effects& effects, std::vector<control::Event>& events);
  control::Event reported(const model::NodeId& node, StandIn& agent, model::Report report);
  void read(const control::Effects& effects);

  control::Controller controller_;
  std::map<model::NodeId, StandIn> agents_;
  std::size_t answered_ = 0;                          // open and close calls
  std::vector<model::SessionKey>* opened_ = nullptr;  // where the names go
  control::CallId last_call_ = 0;
  Time now_{};
  double spent_ = 0;
};

}  // namespace berth::bench
