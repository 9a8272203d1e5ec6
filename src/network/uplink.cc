#include "network/uplink.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "network/names.h"

namespace berth::network {
namespace {

using runtime::shim::Fd;

constexpr char kLockFile[] = "/run/berth/lock";
constexpr std::uint32_t kUsualMtu = 1500;
constexpr std::uint8_t kPairPrefix = 31;
constexpr std::uint32_t kLoopbackNetwork = 127;

// The first of a pair is the machine's, the second the router's.
model::Ipv4 other_end(model::Ipv4 address) { return {address.value ^ 1}; }

Result<model::Ipv4> choose_address(Links& host, const UplinkSpec& spec) {
  std::set<std::uint32_t> used;
  for (const LinkAddress& one : TRY(host.addresses())) used.insert(one.address.value / 2);
  const std::uint32_t pairs = spec.range.prefix < 31 ? 1u << (31 - spec.range.prefix) : 1;
  const std::uint32_t first = first_pair(spec.tag, pairs);
  for (std::uint32_t i = 0; i < pairs; ++i) {
    const std::uint32_t pair = spec.range.base.value / 2 + (first + i) % pairs;
    if (!used.contains(pair)) return model::Ipv4{pair * 2 + 1};
  }
  return Error{Code::Exhausted, "no address is free in " + to_string(spec.range)};
}

std::optional<model::Ipv4> address_of(const std::vector<LinkAddress>& all, int link) {
  for (const LinkAddress& one : all) {
    if (one.link == link) return one.address;
  }
  return std::nullopt;
}

// Held by one agent of the machine at a time.
class MachineLock {
 public:
  static Result<MachineLock> take() {
    ::mkdir("/run/berth", 0755);
    Fd file(::open(kLockFile, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    while (file.is_open() && ::flock(file.get(), LOCK_EX) != 0) {
      if (errno != EINTR) file.reset();
    }
    if (!file.is_open()) {
      return Error{Code::Unavailable,
                   fmt::format("cannot lock {}: {}", kLockFile, std::strerror(errno))};
    }
    return MachineLock(std::move(file));
  }

 private:
  explicit MachineLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

std::string claim_text(model::Ipv4 address) { return "berth " + to_string(address); }

}  // namespace

Result<model::Ipv4> ensure_uplink(Links& host, Links& router, const NetworkNamespace& inside,
                                  const UplinkSpec& spec) {
  const MachineLock lock = TRY(MachineLock::take());
  auto outer = TRY(host.find(host_device(spec.tag)));
  auto inner = TRY(router.find(kUplinkDevice));
  if (!outer || !inner) {
    TRY(host.remove(host_device(spec.tag)));
    TRY(router.remove(kUplinkDevice));
    TRY(host.make(VethSpec{.name = host_device(spec.tag),
                           .alias = "berth",
                           .mtu = spec.mtu,
                           .peer_name = kUplinkDevice,
                           .peer_namespace = inside.fd()}));
    outer = TRY(host.find(host_device(spec.tag)));
    inner = TRY(router.find(kUplinkDevice));
  }
  if (!outer || !inner) return Error{Code::Unavailable, "the device to the router is gone again"};
  const auto known = address_of(TRY(router.addresses()), inner->index);
  const model::Ipv4 address = known ? *known : TRY(choose_address(host, spec));
  TRY(router.ensure_address(inner->index, address, kPairPrefix));
  TRY(host.ensure_address(outer->index, other_end(address), kPairPrefix));
  TRY(host.set_up(outer->index));
  TRY(router.set_up(inner->index));
  TRY(router.ensure_default_route(other_end(address)));
  return address;
}

Result<bool> claim_address(Links& host, const std::string& tag, model::Ipv4 address) {
  const MachineLock lock = TRY(MachineLock::take());
  std::optional<Link> own;
  for (const Link& link : TRY(host.all())) {
    if (!link.name.starts_with(kHostDevicePrefix)) continue;
    if (link.name == host_device(tag)) {
      own = link;
    } else if (link.alias == claim_text(address)) {
      return false;
    }
  }
  if (!own) return not_found("the device to the router is gone");
  if (own->alias != claim_text(address)) TRY(host.set_alias(own->index, claim_text(address)));
  return true;
}

std::optional<model::Ipv4> address_toward(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (host.empty() || ::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  socklen_t size = sizeof own;
  if (!socket.is_open() || ::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    return std::nullopt;
  }
  const model::Ipv4 address{ntohl(own.sin_addr.s_addr)};
  if (address.value >> 24 == kLoopbackNetwork) return std::nullopt;
  return address;
}

Result<std::uint32_t> mtu_at(Links& host, std::optional<model::Ipv4> address) {
  if (!address) return kUsualMtu;
  for (const LinkAddress& one : TRY(host.addresses())) {
    if (one.address != *address) continue;
    for (const Link& link : TRY(host.all())) {
      if (link.index == one.link && link.mtu > 0) return link.mtu;
    }
  }
  return kUsualMtu;
}

}  // namespace berth::network
