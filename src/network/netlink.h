#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "runtime/shim/files.h"

// Netlink: what the kernel is told and asked about links, addresses and routes, about tables of
// rules and about connections.
namespace berth::network {

// A message to the kernel while it is written: a header, then attributes, which may be nested.
class Message {
 public:
  template <class Header>
  Message(std::uint16_t type, std::uint16_t flags, const Header& header)
      : type_(type), flags_(flags) {
    append(&header, sizeof header);
  }

  Message& bytes(std::uint16_t attribute, std::string_view content);
  Message& text(std::uint16_t attribute, std::string_view content);  // ended by a NUL
  template <class T>
  Message& number(std::uint16_t attribute, T value) {
    static_assert(std::is_integral_v<T>);
    return bytes(attribute, {reinterpret_cast<const char*>(&value), sizeof value});
  }

  // What is written between the two becomes the content of the attribute.
  std::size_t begin(std::uint16_t attribute);
  void end(std::size_t begun);

  template <class Plain>
  Message& plain(const Plain& value) {  // inside of an attribute: a header of its own
    append(&value, sizeof value);
    return *this;
  }

  std::string encode(std::uint16_t more_flags, std::uint32_t sequence) const;

 private:
  void append(const void* data, std::size_t size);

  std::uint16_t type_;
  std::uint16_t flags_;
  std::string payload_;
};

// The attributes of an answer, to be looked up by their numbers.
class Attributes {
 public:
  explicit Attributes(std::string_view bytes) : bytes_(bytes) {}

  std::optional<std::string_view> find(std::uint16_t attribute) const;
  std::vector<Attributes> all(std::uint16_t attribute) const;  // of a list: what is in each
  std::string text(std::uint16_t attribute) const;             // "" if there is none
  Attributes nested(std::uint16_t attribute) const;
  template <class T>
  std::optional<T> number(std::uint16_t attribute) const {
    const auto found = find(attribute);
    if (!found || found->size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, found->data(), sizeof value);
    return value;
  }

 private:
  std::string_view bytes_;
};

// One object that the kernel lists.
struct Listed {
  std::string bytes;

  template <class Header>
  std::optional<Header> header() const {
    if (bytes.size() < sizeof(Header)) return std::nullopt;
    Header value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  template <class Header>
  Attributes attributes() const {
    const std::size_t begin = (sizeof(Header) + 3) / 4 * 4;
    return Attributes(std::string_view(bytes).substr(std::min(begin, bytes.size())));
  }
};

// A conversation with the kernel about one network namespace. Not thread-safe.
class Netlink {
 public:
  // The namespace of the calling thread, wherever the conversation is held later.
  static Result<Netlink> open(int protocol);

  // Conflict: it is there already; NotFound: it is not there. The message is the kernel's.
  Result<void> tell(const Message& message);
  Result<std::vector<Listed>> list(const Message& message);
  // One object, which the message names.
  Result<Listed> get(const Message& message);
  // One transaction of a subsystem of netfilter: all of it holds, or nothing.
  Result<void> commit(std::uint16_t subsystem, const std::vector<Message>& messages);

 private:
  explicit Netlink(runtime::shim::Fd socket) : socket_(std::move(socket)) {}

  Result<void> send(const std::string& bytes);
  Result<std::string> receive();
  Result<void> read_verdict(std::uint32_t last);

  runtime::shim::Fd socket_;
  std::uint32_t sequence_ = 0;
};

}  // namespace berth::network
