#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <tl/expected.hpp>

#include "model/ids.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/run.h"

namespace berth::runtime {

// The device of an instance in its namespace.
inline constexpr char kInstanceDevice[] = "eth0";
// For guests: a tap, out of which comes all that comes to the instance's device, and the reverse.
inline constexpr char kGuestDevice[] = "tap0";

// What an instance gets of its owner's network on this machine.
struct JoinedNetwork {
  std::filesystem::path network_namespace;  // to be entered by what runs
  model::Ipv4 address;
  std::uint8_t prefix = 0;
  model::Ipv4 name_server;  // the gateway, too
  std::string mac;          // of the device: "be:..."
  std::uint32_t mtu = 1500;
};

// Gives instances a network of their own. Blocks for milliseconds; safe to call from several
// threads for different instances.
class InstanceNetworks {
 public:
  virtual ~InstanceNetworks() = default;

  // Finds what an earlier run, or an earlier life of the agent, has left, or makes it. From now on
  // it is this run's. The problem's reason is NetworkFailed.
  virtual tl::expected<JoinedNetwork, model::Problem> attach(
      const model::InstanceKey& key, const model::RunId& run,
      const model::InstanceNetwork& network) = 0;

  // As before, for a guest that has a network stack of its own: it speaks at the instance's
  // address, through a device in the namespace.
  virtual tl::expected<JoinedNetwork, model::Problem> attach_guest(
      const model::InstanceKey& key, const model::RunId& run,
      const model::InstanceNetwork& network) = 0;
  // Why instances cannot be connected now; "" if they can. Cheap: it asks the kernel, starts no
  // program and waits for nobody.
  virtual std::string why_not_ready() { return ""; }

  // The run is over: takes away what it had, unless that is another run's by now, or one lives.
  virtual void release(const model::InstanceKey& key, const model::RunId& run) = 0;
};

}  // namespace berth::runtime
