#include "session/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "codec/json_reader.h"
#include "codec/text.h"

namespace berth::session {
namespace {

using Kind = codec::Tree::Kind;

constexpr std::size_t kMessageMax = 512;  // of what an app says why it has failed

const codec::Tree* field(const codec::Tree& line, std::string_view name) {
  for (std::size_t i = 0; i < line.keys.size(); ++i) {
    if (line.keys[i].text == name) return &line.children[i];
  }
  return nullptr;
}

bool is_text(const codec::Tree& tree) { return tree.kind == Kind::Scalar && tree.quoted; }

Result<std::string> text_of(const codec::Tree& line, std::string_view name) {
  const codec::Tree* found = field(line, name);
  if (found == nullptr || !is_text(*found)) {
    return invalid_input(fmt::format("\"{}\" must be a text", name));
  }
  return found->text;
}

Result<std::uint32_t> count_of(const codec::Tree& line) {
  const codec::Tree* found = field(line, "count");
  std::uint32_t count = 0;
  if (found != nullptr && found->kind == Kind::Scalar && !found->quoted) {
    const char* end = found->text.data() + found->text.size();
    const auto parsed = std::from_chars(found->text.data(), end, count);
    if (parsed.ec == std::errc{} && parsed.ptr == end) return count;
  }
  return invalid_input("\"count\" must be a number of clients");
}

Result<std::vector<std::string>> closed_of(const codec::Tree& line) {
  std::vector<std::string> closed;
  const codec::Tree* found = field(line, "closed");
  if (found == nullptr) return closed;
  for (const codec::Tree& each : found->children) closed.push_back(each.text);
  const bool is_list = found->kind == Kind::List;
  if (is_list && std::all_of(found->children.begin(), found->children.end(), is_text)) {
    return closed;
  }
  return invalid_input("\"closed\" must be a list of sessions");
}

AppLine::Type type_of(std::string_view word) {
  using Type = AppLine::Type;
  constexpr std::array kTypes{
      std::pair{"hello", Type::Hello},   std::pair{"opened", Type::Opened},
      std::pair{"failed", Type::Failed}, std::pair{"closed", Type::Closed},
      std::pair{"ping", Type::Ping},     std::pair{"clients", Type::Clients}};
  for (const auto& [name, type] : kTypes) {
    if (word == name) return type;
  }
  return Type::Unknown;
}

std::string shortened(std::string message) {
  if (message.size() <= kMessageMax) return message;
  message.resize(kMessageMax);
  message.resize(codec::valid_utf8_prefix(message));
  return message;
}

std::string line_about(std::string_view type, std::string_view name, std::string_view text) {
  std::string line = fmt::format(R"({{"type":"{}","{}":)", type, name);
  codec::append_json_string(line, text);
  return line;
}

}  // namespace

Result<AppLine> parse_app_line(std::string_view line) {
  const codec::Tree tree = TRY(codec::read_json(line));
  if (tree.kind != Kind::Map) return invalid_input("a line must be a JSON object");
  AppLine said;
  said.type = type_of(TRY(text_of(tree, "type")));
  switch (said.type) {
    case AppLine::Type::Hello:
      said.token = TRY(text_of(tree, "token"));
      said.closed = TRY(closed_of(tree));
      break;
    case AppLine::Type::Failed:
      said.session = TRY(text_of(tree, "session"));
      said.message = shortened(text_of(tree, "message").value_or(""));
      break;
    case AppLine::Type::Clients:
      said.session = TRY(text_of(tree, "session"));
      said.count = TRY(count_of(tree));
      break;
    case AppLine::Type::Opened:
    case AppLine::Type::Closed: said.session = TRY(text_of(tree, "session")); break;
    case AppLine::Type::Ping:
    case AppLine::Type::Unknown: break;
  }
  return said;
}

std::string welcome_line(const model::InstanceKey& key) {
  return line_about("welcome", "instance", to_string(key)) + "}\n";
}

std::string open_line(std::string_view session, std::string_view data) {
  return fmt::format("{},\"data\":\"{}\"}}\n", line_about("open", "session", session),
                     to_base64(data));
}

std::string close_line(std::string_view session, Duration grace) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(grace).count();
  return fmt::format("{},\"graceMs\":{}}}\n", line_about("close", "session", session), ms);
}

std::string pong_line() { return "{\"type\":\"pong\"}\n"; }

std::string error_line(std::string_view message) {
  return line_about("error", "message", message) + "}\n";
}

std::string to_base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) {
      return at < bytes.size() ? std::uint32_t{static_cast<unsigned char>(bytes[at])} : 0u;
    };
    const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kDigits[group >> 18];
    text += kDigits[group >> 12 & 63];
    text += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
  return text;
}

}  // namespace berth::session
