#pragma once

#include <deque>
#include <optional>

#include "control/controller.h"
#include "sim/checker.h"
#include "sim/daemon.h"
#include "sim/network.h"

namespace berth::sim {

constexpr const char* kClusterOfTheWorld = "unit";    // the name of its store
constexpr Duration kDateOfTheWorld = 1'700'000'000s;  // when virtual time was zero

// The control plane's process.
class ControllerHost : public Daemon<control::Event, control::Effects> {
 public:
  ControllerHost(Stage& stage, Random random, Network& network, Checker& watch);

  // From its next start on, the date is off by so much; while it runs it does not ask for it.
  void set_clock_error(Duration error) { clock_error_ = error; }

  // Dies, and comes back with a store that is not its own: an older one of its own, if every agent
  // can show that, else an empty one. Nothing may be ordered until the right one is found.
  void remember_store();
  bool remembers_less_than(const model::CommandNumber& number) const;
  enum class Loss { Older, Everything };
  void lose_store(Loss loss, Duration down);
  void find_store(Duration down);
  bool has_lost_store() const { return own_store_.has_value(); }

  // The core of the running process; nullptr while there is none that decides.
  const control::Controller* core() const { return core_ && !own_store_ ? &*core_ : nullptr; }

 private:
  void boot() override;
  void died() override;
  control::Effects step_core(Time now, std::span<const control::Event> batch) override;
  std::vector<store::Change> changes_of(const control::Effects& effects) override;
  void committed(const control::Effects& effects) override;
  void perform(const control::Effects& effects) override;
  void perform_at_once(const control::Effects& effects) override;
  bool skips_commit() override;
  void reply(const control::SessionReply& reply);
  void tamper(control::Durable& durable) const;
  void begin_store(const model::CounterRecord& counters);

  Network& network_;
  Checker& watch_;
  std::optional<control::Controller> core_;
  std::optional<std::vector<store::Entry>> own_store_;  // while it has another
  model::CommandNumber remembered_;
  Duration clock_error_{};
  std::deque<std::uint64_t> revisions_;  // of steps that are to be told when they are durable
  std::uint64_t commits_ = 0;
  std::uint64_t lives_ = 0;
};

}  // namespace berth::sim
