#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "runtime/shim/files.h"
#include "runtime/shim/launch.h"

// What the shim has to do with a virtual machine beyond what it does for any program.
namespace berth::runtime::shim {

// A connection to the emulator of a virtual machine, whose sockets are in the working directory:
// QMP (lines of JSON, of which this knows a few words), and the port on which the guest says its
// code.
class Machine {
 public:
  // Waits until the emulator answers, which it does when the machine is made. False: it has not, in
  // a minute or before its end.
  bool connect(pid_t emulator);

  int monitor() const { return monitor_.get(); }
  int exit_port() const { return exit_port_.get(); }

  // Reads what is there; closes what has ended.
  void listen();

  // Presses the power button. The machine may stand still, so that it is set in motion first.
  void power_down();

  // What the guest's end means. Nullopt: the emulator did not end for the guest's sake.
  std::optional<Ending> ending() const;

 private:
  enum class End { None, PoweredOff, Reset, Panicked };

  void order(std::string_view command);
  void hear(std::string_view line);

  Fd monitor_;
  Fd exit_port_;
  std::string heard_;      // a line that has not come to its end yet
  std::string exit_text_;  // the last that the guest has said
  bool is_made_ = false;
  End end_ = End::None;
};

}  // namespace berth::runtime::shim
