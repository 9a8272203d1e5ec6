#include "controld/connection_limits.h"

#include <algorithm>

namespace berth::controld {
namespace {

constexpr std::uint64_t kOwn = 128;  // for the stores, the log, and all that waits for something
constexpr std::uint64_t kParts = 16;

// More than this helps nobody, and costs memory.
constexpr std::size_t kStrangersMax = 4096;
constexpr std::size_t kHandshakesMax = 256;
constexpr std::size_t kKnownMax = 100'000;
constexpr std::size_t kCallersMax = 8192;
constexpr std::size_t kOfNameMax = 64;

std::size_t at_most(std::size_t count, std::size_t most) {
  return std::clamp<std::size_t>(count, 1, most);
}

// One address gets half of what there is for all strangers.
shell::Guests::Limits with_strangers(std::size_t strangers) {
  strangers = at_most(strangers, kStrangersMax);
  const std::size_t handshakes = at_most(strangers / 2, kHandshakesMax);
  return {.strangers = strangers,
          .strangers_of_address = at_most(strangers / 2, strangers),
          .engaged = handshakes,
          .engaged_of_address = at_most(handshakes / 2, handshakes)};
}

}  // namespace

ConnectionLimits connection_limits(std::uint64_t descriptors) {
  const std::size_t part = (std::max(descriptors, 2 * kOwn) - kOwn) / kParts;
  ConnectionLimits limits{.grpc = with_strangers(2 * part),
                          .https = with_strangers(2 * part),
                          .local = with_strangers(part)};
  limits.grpc.known = at_most(8 * part, kKnownMax);
  limits.https.known = at_most(2 * part, kCallersMax);
  limits.local.known = at_most(part, kCallersMax);
  limits.grpc.known_of_name = kOfNameMax;
  limits.https.known_of_name = at_most(limits.https.known / 2, kCallersMax);
  limits.local.known_of_name = limits.local.known;  // it is one's own machine
  return limits;
}

}  // namespace berth::controld
