#include "session/conntrack.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_compat.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace berth::session {
namespace {

using network::Attributes;
using network::Listed;
using network::Message;

constexpr int kEventsPerRead = 64;
constexpr int kEventRoom = 4 << 20;  // bytes that may wait

constexpr std::uint16_t about_connections(int type) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_CTNETLINK << 8) | type);
}
constexpr nfgenmsg kFamilyHeader{.nfgen_family = AF_INET, .version = NFNETLINK_V0, .res_id = 0};

struct Tuple {
  std::uint8_t protocol = 0;
  model::Ipv4 from;
  std::uint16_t from_port = 0;
  model::Ipv4 to;
  std::uint16_t to_port = 0;
};

std::optional<Tuple> read_tuple(const Attributes& tuple) {
  const Attributes ip = tuple.nested(CTA_TUPLE_IP);
  const Attributes proto = tuple.nested(CTA_TUPLE_PROTO);
  const auto from = ip.number<std::uint32_t>(CTA_IP_V4_SRC);
  const auto to = ip.number<std::uint32_t>(CTA_IP_V4_DST);
  const auto from_port = proto.number<std::uint16_t>(CTA_PROTO_SRC_PORT);
  const auto to_port = proto.number<std::uint16_t>(CTA_PROTO_DST_PORT);
  if (!from || !to || !from_port || !to_port) return std::nullopt;
  return Tuple{proto.number<std::uint8_t>(CTA_PROTO_NUM).value_or(0),
               {ntohl(*from)},
               ntohs(*from_port),
               {ntohl(*to)},
               ntohs(*to_port)};
}

// Whoever connects again from the same port gets another entry.
bool has_ended(const Attributes& attributes) {
  const Attributes tcp = attributes.nested(CTA_PROTOINFO).nested(CTA_PROTOINFO_TCP);
  const auto state = tcp.number<std::uint8_t>(CTA_PROTOINFO_TCP_STATE);
  return state && (*state == TCP_CONNTRACK_TIME_WAIT || *state == TCP_CONNTRACK_CLOSE);
}

std::optional<TrackedConnection> read_connection(const Attributes& attributes) {
  const auto status = attributes.number<std::uint32_t>(CTA_STATUS);
  if (status && (ntohl(*status) & IPS_DST_NAT) == 0) return std::nullopt;
  const auto there = read_tuple(attributes.nested(CTA_TUPLE_ORIG));
  const auto back = read_tuple(attributes.nested(CTA_TUPLE_REPLY));
  if (!there || !back) return std::nullopt;
  return TrackedConnection{
      {there->protocol, there->from, there->from_port, there->to, there->to_port},
      back->from,
      back->from_port,
      back->to,
      back->to_port,
      has_ended(attributes)};
}

void put_tuple(Message& message, const Connection& connection) {
  const auto nested = [](int attribute) {
    return static_cast<std::uint16_t>(attribute | NLA_F_NESTED);
  };
  const auto tuple = message.begin(nested(CTA_TUPLE_ORIG));
  const auto ip = message.begin(nested(CTA_TUPLE_IP));
  message.number<std::uint32_t>(CTA_IP_V4_SRC, htonl(connection.client.value));
  message.number<std::uint32_t>(CTA_IP_V4_DST, htonl(connection.asked.value));
  message.end(ip);
  const auto proto = message.begin(nested(CTA_TUPLE_PROTO));
  message.number<std::uint8_t>(CTA_PROTO_NUM, connection.protocol);
  message.number<std::uint16_t>(CTA_PROTO_SRC_PORT, htons(connection.client_port));
  message.number<std::uint16_t>(CTA_PROTO_DST_PORT, htons(connection.asked_port));
  message.end(proto);
  message.end(tuple);
}

// A busy machine has many connections that nobody here asks for: the kernel does not even wake us
// for those whose target is what was asked.
bool hear_only_of_translated(int socket) {
  constexpr std::uint32_t kHeaders = sizeof(nlmsghdr) + sizeof(nfgenmsg);
  constexpr auto kFind = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_NLATTR);
  std::array<sock_filter, 9> program{{
      BPF_STMT(BPF_LD | BPF_IMM, kHeaders),
      BPF_STMT(BPF_LDX | BPF_IMM, CTA_STATUS),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFind),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0),  // no status is said
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_IND, sizeof(nlattr)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, IPS_DST_NAT, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

Error no_events() {
  return {Code::Unavailable, fmt::format("cannot hear of connections: {}", std::strerror(errno))};
}

void read_event(std::string_view bytes, std::vector<TrackedConnection>& all) {
  nlmsghdr header;
  if (bytes.size() < sizeof header + sizeof(nfgenmsg)) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t size = std::min<std::size_t>(header.nlmsg_len, bytes.size());
  if (size < sizeof header) return;
  const Listed event{std::string(bytes.substr(sizeof header, size - sizeof header))};
  auto found = read_connection(event.attributes<nfgenmsg>());
  if (!found) return;
  found->is_over |= header.nlmsg_type == about_connections(IPCTNL_MSG_CT_DELETE);
  all.push_back(*found);
}

}  // namespace

Result<Conntrack> Conntrack::open(const network::NetworkNamespace& where) {
  return Conntrack(TRY(where.run([] { return network::Netlink::open(NETLINK_NETFILTER); })));
}

Result<std::vector<TrackedConnection>> Conntrack::list() {
  std::vector<TrackedConnection> all;
  const Message question(about_connections(IPCTNL_MSG_CT_GET), 0, kFamilyHeader);
  for (const Listed& listed : TRY(netlink_.list(question))) {
    if (auto found = read_connection(listed.attributes<nfgenmsg>())) all.push_back(*found);
  }
  return all;
}

Result<void> Conntrack::remove(const Connection& connection) {
  Message message(about_connections(IPCTNL_MSG_CT_DELETE), 0, kFamilyHeader);
  put_tuple(message, connection);
  const auto removed = netlink_.tell(message);
  if (!removed && removed.error().code == Code::NotFound) return {};
  return removed;
}

Result<Fd> ConntrackEvents::open_socket() {
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER));
  if (!fd.is_open()) return no_events();
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kEventRoom, sizeof kEventRoom);
  if (!hear_only_of_translated(fd.get())) return no_events();
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups =
      NF_NETLINK_CONNTRACK_NEW | NF_NETLINK_CONNTRACK_UPDATE | NF_NETLINK_CONNTRACK_DESTROY;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return no_events();
  }
  return fd;
}

ConntrackEvents::News ConntrackEvents::read(int socket) {
  static thread_local std::array<char, 64 << 10> room;
  News news;
  for (int i = 0; i < kEventsPerRead; ++i) {
    const auto size = ::recv(socket, room.data(), room.size(), 0);
    if (size < 0 && errno == ENOBUFS) {
      news.was_lost = true;
    } else if (size < 0) {
      return news;
    } else {
      read_event({room.data(), static_cast<std::size_t>(size)}, news.connections);
    }
  }
  return news;
}

}  // namespace berth::session
