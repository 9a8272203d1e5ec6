#include "session/poke.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace berth::session {
namespace {

struct Segment {
  iphdr ip{};
  tcphdr tcp{};
};

std::uint32_t sum_words(const void* bytes, std::size_t size) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    std::uint16_t word = 0;
    std::memcpy(&word, static_cast<const char*>(bytes) + i, sizeof word);
    sum += word;
  }
  return sum;
}

// Over the header and what TCP knows of the addresses.
std::uint16_t checksum_of(const Segment& segment) {
  std::uint32_t sum = sum_words(&segment.ip.saddr, sizeof segment.ip.saddr) +
                      sum_words(&segment.ip.daddr, sizeof segment.ip.daddr) + htons(IPPROTO_TCP) +
                      htons(sizeof segment.tcp) + sum_words(&segment.tcp, sizeof segment.tcp);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

Result<Poker> Poker::open(const network::NetworkNamespace& where) {
  const auto fd = where.run([]() -> Result<int> {
    const int made = ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
    if (made >= 0) return made;
    return Error{Code::Unavailable, fmt::format("no raw socket: {}", std::strerror(errno))};
  });
  Fd socket(TRY(fd));
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_MARK, &kMark, sizeof kMark) != 0) {
    return Error{Code::Unavailable, fmt::format("no marked packets: {}", std::strerror(errno))};
  }
  return Poker(std::move(socket));
}

void Poker::poke(const End& who, const End& as) const {
  Segment segment;
  segment.ip.version = 4;
  segment.ip.ihl = sizeof segment.ip / 4;
  segment.ip.tot_len = htons(sizeof segment);
  segment.ip.ttl = 64;
  segment.ip.protocol = IPPROTO_TCP;
  segment.ip.saddr = htonl(as.address.value);
  segment.ip.daddr = htonl(who.address.value);
  segment.tcp.source = htons(as.port);
  segment.tcp.dest = htons(who.port);
  segment.tcp.doff = sizeof segment.tcp / 4;
  segment.tcp.ack = 1;
  segment.tcp.check = checksum_of(segment);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = segment.ip.daddr;
  ::sendto(socket_.get(), &segment, sizeof segment, 0, reinterpret_cast<const sockaddr*>(&to),
           sizeof to);
}

}  // namespace berth::session
