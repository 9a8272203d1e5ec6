#pragma once

#include <cstdint>
#include <map>

#include "model/pool.h"

namespace berth::bench {

// What a stand-in for an agent says of pools: it has done what it was told at once, and runs
// nothing.
class InstantPool {
 public:
  // Whether sessions are remembered, to be told of in full reports.
  enum class Keeps { Sessions, InstancesOnly };

  explicit InstantPool(Keeps keeps) : keeps_(keeps) {}

  void connected() { acted_ = 0; }
  // What has changed by it.
  model::PoolReport answer(const model::PoolCommand& command);
  // All that there is.
  model::PoolReport all() const;

 private:
  void carry_out(const model::StartPoolInstance& order, model::PoolReport& report);
  void carry_out(const model::StopPoolInstance& order, model::PoolReport& report);
  void carry_out(const model::SetPoolPausing& order, model::PoolReport& report);
  void carry_out(const model::OpenSession& order, model::PoolReport& report);
  void carry_out(const model::CloseSession& order, model::PoolReport& report);

  const Keeps keeps_;
  std::uint64_t acted_ = 0;
  std::map<model::InstanceKey, model::ReportedPoolInstance> instances_;
  std::map<model::SessionRef, model::ReportedSession> sessions_;
};

}  // namespace berth::bench
