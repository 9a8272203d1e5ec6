#include "session/datagrams.h"

#include <sys/socket.h>

#include <cstring>
#include <type_traits>

namespace berth::session {
namespace {

// Room for what goes beside a datagram.
struct alignas(cmsghdr) Beside {
  char bytes[CMSG_SPACE(sizeof(in6_pktinfo))];
};

msghdr message_of(iovec& part, Beside& beside) {
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.bytes;
  message.msg_controllen = sizeof beside.bytes;
  return message;
}

template <class Info>
Info info_in(const cmsghdr& header) {
  Info info;
  std::memcpy(&info, CMSG_DATA(&header), sizeof info);
  return info;
}

void read_ours(msghdr& message, Path& path) {
  for (auto* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
      auto info = info_in<in_pktinfo>(*at);
      info.ipi_ifindex = 0;  // the way back is the kernel's choice
      path.ours = info;
    } else if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
      path.ours = info_in<in6_pktinfo>(*at);
    }
  }
}

template <class Info>
void write_ours(msghdr& message, const Info& info) {
  constexpr bool kVersion4 = std::is_same_v<Info, in_pktinfo>;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = kVersion4 ? IPPROTO_IP : IPPROTO_IPV6;
  header->cmsg_type = kVersion4 ? IP_PKTINFO : IPV6_PKTINFO;
  header->cmsg_len = CMSG_LEN(sizeof info);
  std::memcpy(CMSG_DATA(header), &info, sizeof info);
  message.msg_controllen = CMSG_SPACE(sizeof info);
}

}  // namespace

void tell_paths(int fd, int family) {
  const int on = 1;
  if (family == AF_INET) ::setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
}

std::optional<std::size_t> receive_datagram(int fd, char* room, std::size_t size, Path& path) {
  iovec part{room, size};
  Beside beside{};
  msghdr message = message_of(part, beside);
  message.msg_name = path.peer.room();
  message.msg_namelen = *path.peer.room_size();
  const auto received = ::recvmsg(fd, &message, MSG_DONTWAIT);
  if (received < 0) return std::nullopt;
  *path.peer.room_size() = message.msg_namelen;
  read_ours(message, path);
  return static_cast<std::size_t>(received);
}

void send_back(int fd, std::string_view bytes, const Path& path) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  Beside beside{};
  msghdr message = message_of(part, beside);
  message.msg_name = const_cast<sockaddr*>(path.peer.get());
  message.msg_namelen = path.peer.size();
  if (const auto* v4 = std::get_if<in_pktinfo>(&path.ours)) {
    write_ours(message, *v4);
  } else if (const auto* v6 = std::get_if<in6_pktinfo>(&path.ours)) {
    write_ours(message, *v6);
  } else {
    message.msg_control = nullptr;
    message.msg_controllen = 0;
  }
  ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace berth::session
