#include "model/network.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace berth::model {
namespace {

// A number without sign, leading zeros or anything around it.
std::optional<std::uint32_t> parse_number(std::string_view text, std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  const bool padded = text.size() > 1 && text.front() == '0';
  if (!whole || padded || number > most) return std::nullopt;
  return number;
}

std::uint32_t mask_of(std::uint8_t prefix) {
  return prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
}

}  // namespace

std::string to_string(Ipv4 address) {
  const std::uint32_t v = address.value;
  return fmt::format("{}.{}.{}.{}", v >> 24, (v >> 16) & 255, (v >> 8) & 255, v & 255);
}

std::optional<Ipv4> parse_ipv4(std::string_view text) {
  Ipv4 address;
  for (int part = 0; part < 4; ++part) {
    const auto dot = text.find('.');
    if ((part == 3) != (dot == text.npos)) return std::nullopt;
    const auto number = parse_number(text.substr(0, dot), 255);
    if (!number) return std::nullopt;
    address.value = address.value << 8 | *number;
    text.remove_prefix(dot == text.npos ? text.size() : dot + 1);
  }
  return address;
}

std::string to_string(const Subnet& subnet) {
  return fmt::format("{}/{}", to_string(subnet.base), subnet.prefix);
}

std::optional<Subnet> parse_subnet(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const auto base = parse_ipv4(text.substr(0, slash));
  const auto prefix = parse_number(text.substr(slash + 1), 32);
  if (!base || !prefix) return std::nullopt;
  const Subnet subnet{*base, static_cast<std::uint8_t>(*prefix)};
  if ((base->value & ~mask_of(subnet.prefix)) != 0) return std::nullopt;
  return subnet;
}

bool contains(const Subnet& subnet, Ipv4 address) {
  return (address.value & mask_of(subnet.prefix)) == subnet.base.value;
}

}  // namespace berth::model
