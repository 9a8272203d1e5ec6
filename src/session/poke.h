#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/network.h"
#include "network/network_namespace.h"
#include "session/fd.h"

namespace berth::session {

// Makes one end of a TCP connection speak, by a segment that looks like the other end's and is
// nothing new to it: every TCP answers that by saying where it is. The answer meets the rules that
// refuse it, so that whoever is cut off learns it though it is silent.
class Poker {
 public:
  // Which packets the kernel must not take for those of the connection; the rules know it.
  static constexpr std::uint32_t kMark = 0x62657274;

  struct End {
    model::Ipv4 address;
    std::uint16_t port = 0;
  };

  static Result<Poker> open(const network::NetworkNamespace& where);

  // It may get lost, as any packet may.
  void poke(const End& who, const End& as) const;

 private:
  explicit Poker(Fd socket) : socket_(std::move(socket)) {}

  Fd socket_;
};

}  // namespace berth::session
