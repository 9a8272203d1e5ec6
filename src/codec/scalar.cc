#include "codec/scalar.h"

#include <optional>
#include <vector>

namespace berth::codec {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array kSizes{
    Unit{"Ki", 1LL << 10},
    Unit{"Mi", 1LL << 20},
    Unit{"Gi", 1LL << 30},
    Unit{"Ti", 1LL << 40},
};

constexpr std::array kTimes{
    Unit{"h", 3'600'000'000}, Unit{"m", 60'000'000}, Unit{"s", 1'000'000},
    Unit{"ms", 1'000},        Unit{"us", 1},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The leading digits or the leading non-digits of a text, which loses them.
template <class Predicate>
std::string_view take_while(std::string_view& text, Predicate predicate) {
  const auto end = std::find_if_not(text.begin(), text.end(), predicate);
  const std::string_view taken = text.substr(0, std::size_t(end - text.begin()));
  text.remove_prefix(taken.size());
  return taken;
}

std::optional<std::int64_t> product(std::string_view digits, std::int64_t factor) {
  const auto number = parse_integer<std::int64_t>(digits);
  std::int64_t value = 0;
  if (!number || __builtin_mul_overflow(*number, factor, &value)) return std::nullopt;
  return value;
}

Error too_large(std::string_view text) { return invalid_input(in_quotes(text) + " is too large"); }

Error no_size(std::string_view text) {
  return invalid_input(in_quotes(text) +
                       " is no size: write whole bytes, or Ki, Mi, Gi or Ti as in 128Mi");
}

Error no_duration(std::string_view text) {
  return invalid_input(in_quotes(text) +
                       " is no duration: write whole ms, s, m or h as in 500ms or 1m30s");
}

Error no_port(std::string_view text) {
  return invalid_input(in_quotes(text) +
                       " is no port: write 1 to 65535, with /tcp or /udp, as in 8080/tcp");
}

Error no_address(std::string_view text) {
  return invalid_input(in_quotes(text) + " is no address: write an IPv4 address as in 192.168.1.7");
}

Error no_subnet(std::string_view text) {
  return invalid_input(in_quotes(text) +
                       " is no subnet: write the lowest address and a prefix as in 10.1.0.0/16");
}

Error no_connection(std::string_view text) {
  return invalid_input(in_quotes(text) +
                       " is no connection: write item/port/protocol as in broker/1883/tcp");
}

// Splits at the last slash; the tail of a text without one is all of it.
std::string_view take_tail(std::string_view& text) {
  const auto slash = text.rfind('/');
  const std::string_view tail = slash == text.npos ? text : text.substr(slash + 1);
  text = slash == text.npos ? std::string_view() : text.substr(0, slash);
  return tail;
}

}  // namespace

bool is_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

Result<Bytes> parse_bytes(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const std::string_view digits = take_while(rest, is_digit);
  const auto unit = std::ranges::find(kSizes, rest, &Unit::name);
  if (digits.empty() || (!rest.empty() && (unit == kSizes.end() || negative))) return no_size(text);
  const std::string_view number = negative ? text : digits;
  const auto bytes = product(number, rest.empty() ? 1 : unit->factor);
  if (!bytes) return too_large(text);
  return Bytes(*bytes);
}

std::string Scalar<Duration>::text(const Duration& value) {
  if (value.count() == 0) return "0s";
  const auto unit = std::ranges::find_if(
      kTimes, [&](const Unit& candidate) { return value.count() % candidate.factor == 0; });
  return fmt::format("{}{}", value.count() / unit->factor, unit->name);
}

Result<Duration> Scalar<Duration>::parse(std::string_view text) {
  std::string_view rest = text;
  std::int64_t sum = 0;
  auto largest = kTimes.begin();
  do {
    const std::string_view digits = take_while(rest, is_digit);
    const std::string_view name = take_while(rest, [](char c) { return !is_digit(c); });
    const auto unit = std::find_if(largest, kTimes.end(),
                                   [&](const Unit& candidate) { return candidate.name == name; });
    if (digits.empty() || unit == kTimes.end()) return no_duration(text);
    const auto part = product(digits, unit->factor);
    if (!part || __builtin_add_overflow(sum, *part, &sum)) return too_large(text);
    largest = unit + 1;
  } while (!rest.empty());
  return Duration(sum);
}

std::string Scalar<model::Port>::text(const model::Port& value) {
  return fmt::format("{}/{}", value.number, model::to_string(value.protocol));
}

Result<model::Port> Scalar<model::Port>::parse(std::string_view text) {
  model::Port port;
  std::string_view number = text;
  if (text.find('/') != text.npos) {
    const auto protocol = model::from_string<model::Protocol>(take_tail(number));
    if (!protocol) return no_port(text);
    port.protocol = *protocol;
  }
  const auto parsed = parse_integer<std::uint16_t>(number);
  if (!parsed) return no_port(text);
  port.number = *parsed;
  return port;
}

std::string Scalar<model::Ipv4>::text(const model::Ipv4& value) { return to_string(value); }

Result<model::Ipv4> Scalar<model::Ipv4>::parse(std::string_view text) {
  const auto address = model::parse_ipv4(text);
  if (!address) return no_address(text);
  return *address;
}

std::string Scalar<model::Subnet>::text(const model::Subnet& value) { return to_string(value); }

Result<model::Subnet> Scalar<model::Subnet>::parse(std::string_view text) {
  const auto subnet = model::parse_subnet(text);
  if (!subnet) return no_subnet(text);
  return *subnet;
}

std::string Scalar<model::AllowedConnection>::text(const model::AllowedConnection& value) {
  return fmt::format("{}/{}", value.item.value(), Scalar<model::Port>::text(value.port));
}

Result<model::AllowedConnection> Scalar<model::AllowedConnection>::parse(std::string_view text) {
  std::string_view item = text;
  const bool has_protocol = !is_integer(take_tail(item));
  if (has_protocol) take_tail(item);
  if (item.size() == text.size() || item.data() == nullptr) return no_connection(text);
  auto port = Scalar<model::Port>::parse(text.substr(item.size() + 1));
  if (!port) return no_connection(text);
  return model::AllowedConnection{model::ItemId(item), *port};
}

}  // namespace berth::codec
