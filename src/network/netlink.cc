#include "network/netlink.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace berth::network {
namespace {

using runtime::shim::Fd;

constexpr std::size_t kAnswerBytesMax = 256 << 10;

constexpr std::size_t aligned(std::size_t size) { return (size + 3) / 4 * 4; }

Code code_of(int error) {
  switch (error) {
    case EEXIST: return Code::Conflict;
    case ENODEV:
    case ENOENT:
    case ESRCH:
    case EADDRNOTAVAIL: return Code::NotFound;
    default: return Code::Unavailable;
  }
}

Error failed(std::string_view what) {
  return {Code::Unavailable, fmt::format("netlink: {}: {}", what, std::strerror(errno))};
}

// The kernel's own words come after what it was sent, if it has any.
Error error_of(std::string_view payload, const nlmsghdr& header, int error) {
  std::string words = std::strerror(error);
  if ((header.nlmsg_flags & NLM_F_ACK_TLVS) != 0 && payload.size() > sizeof(nlmsgerr)) {
    const std::string more = Attributes(payload.substr(sizeof(nlmsgerr))).text(NLMSGERR_ATTR_MSG);
    if (!more.empty()) words += " (" + more + ")";
  }
  return {code_of(error), std::move(words)};
}

}  // namespace

// --- Messages ------------------------------------------------------------------------------------

void Message::append(const void* data, std::size_t size) {
  payload_.append(static_cast<const char*>(data), size);
  payload_.resize(aligned(payload_.size()));
}

Message& Message::bytes(std::uint16_t attribute, std::string_view content) {
  const std::size_t begun = begin(attribute);
  payload_.append(content);
  end(begun);
  return *this;
}

Message& Message::text(std::uint16_t attribute, std::string_view content) {
  return bytes(attribute, std::string(content) + '\0');
}

std::size_t Message::begin(std::uint16_t attribute) {
  const std::size_t begun = payload_.size();
  const rtattr header{.rta_len = 0, .rta_type = attribute};
  append(&header, sizeof header);
  return begun;
}

void Message::end(std::size_t begun) {
  const auto size = static_cast<std::uint16_t>(payload_.size() - begun);
  std::memcpy(payload_.data() + begun, &size, sizeof size);
  payload_.resize(aligned(payload_.size()));
}

std::string Message::encode(std::uint16_t more_flags, std::uint32_t sequence) const {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + payload_.size());
  header.nlmsg_type = type_;
  header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags_ | more_flags);
  header.nlmsg_seq = sequence;
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + payload_;
}

// --- Attributes ----------------------------------------------------------------------------------

namespace {

// Takes the next attribute off the front; nullopt: there is none, or it is damaged.
struct OneAttribute {
  int type = 0;
  std::string_view content;
};
std::optional<OneAttribute> take_attribute(std::string_view& rest) {
  rtattr header;
  if (rest.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, rest.data(), sizeof header);
  if (header.rta_len < sizeof header || header.rta_len > rest.size()) return std::nullopt;
  const OneAttribute taken{header.rta_type & NLA_TYPE_MASK,
                           rest.substr(sizeof header, header.rta_len - sizeof header)};
  rest.remove_prefix(std::min(aligned(header.rta_len), rest.size()));
  return taken;
}

}  // namespace

std::optional<std::string_view> Attributes::find(std::uint16_t attribute) const {
  std::string_view rest = bytes_;
  while (const auto taken = take_attribute(rest)) {
    if (taken->type == attribute) return taken->content;
  }
  return std::nullopt;
}

std::vector<Attributes> Attributes::all(std::uint16_t attribute) const {
  std::vector<Attributes> found;
  std::string_view rest = bytes_;
  while (const auto taken = take_attribute(rest)) {
    if (taken->type == attribute) found.emplace_back(taken->content);
  }
  return found;
}

std::string Attributes::text(std::uint16_t attribute) const {
  const std::string_view found = find(attribute).value_or("");
  return std::string(found.substr(0, found.find('\0')));
}

Attributes Attributes::nested(std::uint16_t attribute) const {
  return Attributes(find(attribute).value_or(""));
}

// --- The conversation ----------------------------------------------------------------------------

Result<Netlink> Netlink::open(int protocol) {
  Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!socket.is_open()) return failed("no socket");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
  return Netlink(std::move(socket));
}

Result<void> Netlink::send(const std::string& bytes) {
  for (;;) {
    if (::send(socket_.get(), bytes.data(), bytes.size(), 0) >= 0) return {};
    if (errno != EINTR) return failed("cannot send");
  }
}

Result<std::string> Netlink::receive() {
  std::string bytes(kAnswerBytesMax, '\0');
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got >= 0) {
      bytes.resize(static_cast<std::size_t>(got));
      return bytes;
    }
    if (errno != EINTR) return failed("cannot receive");
  }
}

Result<void> Netlink::tell(const Message& message) {
  TRY(send(message.encode(NLM_F_ACK, ++sequence_)));
  for (;;) {
    const std::string answer = TRY(receive());
    nlmsghdr header;
    if (answer.size() < sizeof header) return Error{Code::Unavailable, "netlink: a short answer"};
    std::memcpy(&header, answer.data(), sizeof header);
    if (header.nlmsg_seq != sequence_ || header.nlmsg_type != NLMSG_ERROR) continue;
    const std::string_view payload = std::string_view(answer).substr(sizeof header);
    int error = 0;
    std::memcpy(&error, payload.data(), std::min(payload.size(), sizeof error));
    if (error == 0) return {};
    return error_of(payload, header, -error);
  }
}

Result<std::vector<Listed>> Netlink::list(const Message& message) {
  TRY(send(message.encode(NLM_F_DUMP, ++sequence_)));
  std::vector<Listed> all;
  for (;;) {
    const std::string answer = TRY(receive());
    std::string_view rest = answer;
    while (rest.size() >= sizeof(nlmsghdr)) {
      nlmsghdr header;
      std::memcpy(&header, rest.data(), sizeof header);
      if (header.nlmsg_len < sizeof header || header.nlmsg_len > rest.size()) break;
      const std::string_view payload = rest.substr(sizeof header, header.nlmsg_len - sizeof header);
      rest.remove_prefix(std::min(aligned(header.nlmsg_len), rest.size()));
      if (header.nlmsg_seq != sequence_) continue;
      if (header.nlmsg_type == NLMSG_DONE) return all;
      if (header.nlmsg_type == NLMSG_ERROR) {
        int error = 0;
        std::memcpy(&error, payload.data(), std::min(payload.size(), sizeof error));
        return error_of(payload, header, -error);
      }
      all.push_back({std::string(payload)});
    }
  }
}

namespace {

// What one message says: an answer of ours, or how something ended.
struct Said {
  nlmsghdr header{};
  std::string_view payload;

  int error() const {
    int value = 0;
    std::memcpy(&value, payload.data(), std::min(payload.size(), sizeof value));
    return -value;
  }
};
std::optional<Said> take_message(std::string_view& rest) {
  Said said;
  if (rest.size() < sizeof said.header) return std::nullopt;
  std::memcpy(&said.header, rest.data(), sizeof said.header);
  const std::size_t size = said.header.nlmsg_len;
  if (size < sizeof said.header || size > rest.size()) return std::nullopt;
  said.payload = rest.substr(sizeof said.header, size - sizeof said.header);
  rest.remove_prefix(std::min(aligned(size), rest.size()));
  return said;
}

Message batch_end(std::uint16_t type, std::uint16_t subsystem) {
  const nfgenmsg header{
      .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(subsystem)};
  return Message(type, 0, header);
}

}  // namespace

Result<Listed> Netlink::get(const Message& message) {
  TRY(send(message.encode(NLM_F_ACK, ++sequence_)));
  std::optional<Listed> found;
  for (;;) {
    const std::string answer = TRY(receive());
    std::string_view rest = answer;
    while (const auto said = take_message(rest)) {
      if (said->header.nlmsg_seq != sequence_) continue;
      if (said->header.nlmsg_type != NLMSG_ERROR) {
        found = Listed{std::string(said->payload)};
      } else if (said->error() != 0) {
        return error_of(said->payload, said->header, said->error());
      } else if (found) {
        return *std::move(found);
      } else {
        return not_found("netlink: no answer");
      }
    }
  }
}

Result<void> Netlink::commit(std::uint16_t subsystem, const std::vector<Message>& messages) {
  if (messages.empty()) return {};
  std::string bytes = batch_end(NFNL_MSG_BATCH_BEGIN, subsystem).encode(0, ++sequence_);
  for (const Message& message : messages) {
    const bool is_last = &message == &messages.back();
    bytes += message.encode(is_last ? NLM_F_ACK : 0, ++sequence_);
  }
  const std::uint32_t last = sequence_;
  bytes += batch_end(NFNL_MSG_BATCH_END, subsystem).encode(0, ++sequence_);
  TRY(send(bytes));
  return read_verdict(last);
}

// The kernel has answered before `send` returns: each fault, and what became of the last one.
Result<void> Netlink::read_verdict(std::uint32_t last) {
  std::string bytes(kAnswerBytesMax, '\0');
  std::optional<Error> first;
  bool is_told = false;
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != EAGAIN) return failed("cannot receive");
    if (got < 0) break;
    std::string_view rest(bytes.data(), static_cast<std::size_t>(got));
    while (const auto said = take_message(rest)) {
      if (said->header.nlmsg_type != NLMSG_ERROR) continue;
      is_told |= said->header.nlmsg_seq == last;
      const int error = said->error();
      if (error != 0 && !first) first = error_of(said->payload, said->header, error);
    }
  }
  if (first) return *std::move(first);
  if (!is_told) return Error{Code::Unavailable, "netlink: no answer to a transaction"};
  return {};
}

}  // namespace berth::network
