#pragma once

#include <map>
#include <set>

#include "model/pool.h"

// Included by tests only.
namespace berth::control {

// What a fake agent does about pools: what it is told, at once, unless the test says otherwise.
class FakePool {
 public:
  std::map<model::InstanceKey, model::ReportedPoolInstance> instances;
  std::map<model::SessionRef, model::ReportedSession> sessions;  // that are not over
  std::map<model::InstanceKey, int> starts;

  bool starts_slowly = false;  // what it starts stays so until the test says otherwise
  bool fails_starts = false;
  bool opens_slowly = false;
  bool refuses_sessions = false;  // as an app does
  bool closes_slowly = false;
  bool cannot_pause = false;
  std::set<std::uint16_t> taken_ports = {};  // by strangers

  void connected() { acted_ = 0; }
  void carry_out(const model::PoolCommand& command);

  void set(const model::InstanceKey& key, model::PoolInstanceState state,
           model::Problem problem = {});
  void set(const model::SessionRef& ref, model::SessionState state, model::Problem reason = {});
  // The instance has ended, and its sessions with it.
  void die(const model::InstanceKey& key);
  // All of it is gone, as after a reboot.
  void lose_everything();

  bool has_news() const { return must_answer_ || !changed_.empty() || !news_.empty(); }
  model::PoolReport take_news();
  model::PoolReport take_all();

 private:
  void carry_out(const model::StartPoolInstance& order);
  void carry_out(const model::StopPoolInstance& order);
  void carry_out(const model::SetPoolPausing& order);
  void carry_out(const model::OpenSession& order);
  void carry_out(const model::CloseSession& order);

  std::uint64_t acted_ = 0;
  bool must_answer_ = false;
  std::map<model::InstanceKey, model::ReportedPoolInstance> changed_;
  std::map<model::SessionRef, model::ReportedSession> news_;
};

}  // namespace berth::control
