#include "network/guest_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "network/firewall.h"
#include "network/links.h"
#include "runtime/instance_networks.h"

namespace berth::network {
namespace {

using runtime::kGuestDevice;
using runtime::kInstanceDevice;
using runtime::shim::Fd;

// In the namespace of the calling thread; it stays when the descriptor is closed.
Result<void> make_tap() {
  const Fd tun(::open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  ifreq request{};
  std::strncpy(request.ifr_name, kGuestDevice, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  if (tun.is_open() && ::ioctl(tun.get(), TUNSETIFF, &request) == 0 &&
      ::ioctl(tun.get(), TUNSETPERSIST, 1) == 0) {
    return {};
  }
  return Error{Code::Unavailable,
               fmt::format("/dev/net/tun makes no device: {}", std::strerror(errno))};
}

std::string joining_rules() {
  constexpr const char* kChain =
      "  chain from-{0} {{\n    type filter hook ingress device \"{0}\" priority 0\n"
      "    fwd to \"{1}\"\n  }}\n";
  return "table netdev berth {}\ndelete table netdev berth\ntable netdev berth {\n" +
         fmt::format(kChain, kInstanceDevice, kGuestDevice) +
         fmt::format(kChain, kGuestDevice, kInstanceDevice) + "}\n";
}

}  // namespace

Result<bool> has_guest_device(const NetworkNamespace& inside) {
  Links links = TRY(Links::open(inside));
  return TRY(links.find(kGuestDevice)).has_value();
}

Result<void> ensure_guest_device(const NetworkNamespace& inside, std::uint32_t mtu) {
  Links links = TRY(Links::open(inside));
  auto device = TRY(links.find(kGuestDevice));
  if (!device) {
    TRY(inside.run([] { return make_tap(); }));
    device = TRY(links.find(kGuestDevice));
  }
  if (!device) return not_found("the guest's device is gone again");
  TRY(links.set_mtu(device->index, mtu));
  TRY(links.set_up(device->index));
  return apply_rules(inside, joining_rules());
}

}  // namespace berth::network
