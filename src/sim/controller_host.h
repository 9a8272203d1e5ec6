#pragma once

#include <optional>

#include "control/controller.h"
#include "sim/checker.h"
#include "sim/daemon.h"
#include "sim/network.h"

namespace berth::sim {

constexpr Duration kDateOfTheWorld = 1'700'000'000s;  // when virtual time was zero

// The control plane's process.
class ControllerHost : public Daemon<control::Event, control::Effects> {
 public:
  ControllerHost(Stage& stage, Random random, Network& network, Checker& watch);

  // From its next start on, the date is off by so much; while it runs it does not ask for it.
  void set_clock_error(Duration error) { clock_error_ = error; }

  // The core of the running process; nullptr while there is none.
  const control::Controller* core() const { return core_ ? &*core_ : nullptr; }

 private:
  void boot() override;
  void died() override;
  control::Effects step_core(Time now, std::span<const control::Event> batch) override;
  std::vector<store::Change> changes_of(const control::Effects& effects) override;
  void committed(const control::Effects& effects) override;
  void perform(const control::Effects& effects) override;
  bool skips_commit() override;
  void tamper(control::Durable& durable) const;

  Network& network_;
  Checker& watch_;
  std::optional<control::Controller> core_;
  Duration clock_error_{};
  std::uint64_t commits_ = 0;
};

}  // namespace berth::sim
