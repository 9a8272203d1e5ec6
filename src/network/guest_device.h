#pragma once

#include <cstdint>

#include "base/result.h"
#include "network/network_namespace.h"

namespace berth::network {

// Makes the device to which a guest is plugged in, in the namespace of an instance, unless it is
// there: a tap that is joined to the instance's own device, so that all frames pass from one to the
// other. The namespace itself hears nothing of them: the instance's device keeps its addresses, by
// which it is found and announced, but it is the guest that speaks there.
Result<void> ensure_guest_device(const NetworkNamespace& inside, std::uint32_t mtu);

// Whether there is one.
Result<bool> has_guest_device(const NetworkNamespace& inside);

}  // namespace berth::network
