#include "network/announcement.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/shim/files.h"

namespace berth::network {
namespace {

using runtime::shim::Fd;

struct [[gnu::packed]] Frame {
  ether_header ethernet;
  ether_arp arp;
};

Error announcement_failed(const char* what) {
  return {Code::Unavailable, std::string(what) + ": " + std::strerror(errno)};
}

Result<ifreq> ask(int socket, const std::string& device, unsigned long question) {
  ifreq request{};
  device.copy(request.ifr_name, IFNAMSIZ - 1);
  if (::ioctl(socket, question, &request) < 0) return announcement_failed(device.c_str());
  return request;
}

// A question for our own address, which nobody answers and everybody learns from.
Frame frame_about(const std::uint8_t* mac, const std::uint8_t* address) {
  Frame frame{};
  std::fill_n(frame.ethernet.ether_dhost, ETH_ALEN, 0xff);
  std::copy_n(mac, ETH_ALEN, frame.ethernet.ether_shost);
  frame.ethernet.ether_type = htons(ETHERTYPE_ARP);
  frame.arp.ea_hdr.ar_hrd = htons(ARPHRD_ETHER);
  frame.arp.ea_hdr.ar_pro = htons(ETHERTYPE_IP);
  frame.arp.ea_hdr.ar_hln = ETH_ALEN;
  frame.arp.ea_hdr.ar_pln = sizeof(in_addr);
  frame.arp.ea_hdr.ar_op = htons(ARPOP_REQUEST);
  std::copy_n(mac, ETH_ALEN, frame.arp.arp_sha);
  std::copy_n(address, sizeof(in_addr), frame.arp.arp_spa);
  std::copy_n(address, sizeof(in_addr), frame.arp.arp_tpa);
  return frame;
}

}  // namespace

Result<void> announce(const std::string& device) {
  const Fd plain(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Fd raw(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (plain.get() < 0 || raw.get() < 0) return announcement_failed("socket");
  const ifreq hardware = TRY(ask(plain.get(), device, SIOCGIFHWADDR));
  const ifreq address = TRY(ask(plain.get(), device, SIOCGIFADDR));
  const ifreq index = TRY(ask(plain.get(), device, SIOCGIFINDEX));
  sockaddr_in own{};
  std::memcpy(&own, &address.ifr_addr, sizeof own);
  const Frame frame =
      frame_about(reinterpret_cast<const std::uint8_t*>(hardware.ifr_hwaddr.sa_data),
                  reinterpret_cast<const std::uint8_t*>(&own.sin_addr));
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = index.ifr_ifindex;
  to.sll_halen = ETH_ALEN;
  const ssize_t sent = ::sendto(raw.get(), &frame, sizeof frame, 0,
                                reinterpret_cast<const sockaddr*>(&to), sizeof to);
  if (sent < 0) return announcement_failed("sendto");
  return {};
}

}  // namespace berth::network
