#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/events.h"
#include "base/time.h"
#include "control/events.h"
#include "control/tables.h"

namespace berth::sim {

class World;

// Something that must never be, and was.
struct Violation {
  Time when{};
  std::string checker;
  std::string what;
};

// Watches a simulated world and says when a promise is broken. Each method is a moment at which a
// checker may look; most look at few of them.
class Checker {
 public:
  virtual ~Checker() = default;

  // A process has read its store and begins.
  virtual void controller_loaded(const control::Durable&) {}
  virtual void agent_loaded(const model::NodeId&, const agent::Restored&) {}
  // The same of an agent whose store was lost, torn or replaced by an older one: what is left.
  virtual void agent_store_lost(const model::NodeId&, const agent::Restored&) {}
  // What a node does from now on may not be what it has answered for: its disk has lied, or a clone
  // has spoken in its place.
  virtual void agent_strayed(const model::NodeId&) {}
  // A core has stepped; nothing of it is durable or done yet. The controller may step on before.
  virtual void controller_stepped(const control::Effects&) {}
  // A command of that step: decided by what the controller knows now, sent when that is durable. By
  // then the controller may have stepped on, so who compares a command with the state that it was
  // decided by has to do that here. Each is sent in its turn, unless the controller dies before.
  virtual void commanding(const control::Outgoing&) {}
  virtual void agent_stepped(const model::NodeId&, const agent::Effects&) {}
  // The batch of a step is durable: of the next one after those before.
  virtual void controller_committed(const control::Effects&) {}
  virtual void agent_committed(const model::NodeId&, const agent::Effects&) {}
  // An effect is about to be performed.
  virtual void sending(const control::Outgoing&) {}
  virtual void sending_pool(const control::PoolOutgoing&) {}
  // The same of a controller that has lost its store.
  virtual void sending_without_store(const control::Outgoing&) {}
  virtual void sending_pool_without_store(const control::PoolOutgoing&) {}
  virtual void replying(const control::Reply&) {}
  virtual void replying(const control::SessionReply&) {}
  virtual void acting(const model::NodeId&, const agent::Action&) {}
  virtual void acting_for_pool(const model::NodeId&, const agent::PoolAction&) {}
  // A user calls the controller.
  virtual void called(const control::Event&) {}
  // Every virtual second, or half a heartbeat.
  virtual void ticked() {}
  // Faults have stopped and all is as desired; and then everything has had its time to rest.
  virtual void settled() {}
  virtual void rested() {}
};

using Violate = std::function<void(std::string_view checker, std::string what)>;

}  // namespace berth::sim
