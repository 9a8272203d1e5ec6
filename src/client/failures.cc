#include "client/failures.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace berth::client {
namespace {

constexpr std::array kCodes{Code::InvalidInput, Code::NotFound,   Code::Conflict, Code::Unavailable,
                            Code::Exhausted,    Code::NotDurable, Code::Damaged,  Code::Internal};

// "InvalidInput", "invalid_input" and "invalid input" are one code.
std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c >= 'a' && c <= 'z') letters += c;
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
  }
  return letters;
}

// What is said of sessions in words of its own.
constexpr std::array kOtherWords{
    std::pair<std::string_view, Code>{"busy", Code::Exhausted},
    std::pair<std::string_view, Code>{"timeout", Code::NotDurable},
    std::pair<std::string_view, Code>{"failed", Code::Conflict},
    std::pair<std::string_view, Code>{"closed", Code::Conflict},
};

std::optional<Code> parse_code(std::string_view text) {
  for (const auto& [word, code] : kOtherWords) {
    if (word == letters_of(text)) return code;
  }
  for (const Code code : kCodes) {
    if (letters_of(to_string(code)) == letters_of(text)) return code;
  }
  return std::nullopt;
}

Code code_of(unsigned status) {
  switch (status) {
    case 400:
    case 413:
    case 422: return Code::InvalidInput;
    case 404: return Code::NotFound;
    case 409:
    case 412: return Code::Conflict;
    case 429:
    case 507: return Code::Exhausted;
    case 502:
    case 503:
    case 504: return Code::Unavailable;
    default: return Code::Internal;
  }
}

std::string text_of(const google::protobuf::Struct& object, const char* name) {
  const auto field = object.fields().find(name);
  return field == object.fields().end() ? "" : field->second.string_value();
}

std::string advice_for(const Endpoint& endpoint, std::string_view why) {
  if (std::holds_alternative<Https>(endpoint)) {
    if (why.find("certificate") != std::string_view::npos) {
      return "Its certificate is not from the authority of the last login: berth login again, with "
             "a new token.";
    }
    return "Is berthd running there, and is this its address? berth --server https://HOST:PORT "
           "names another.";
  }
  if (why.find("ermission") != std::string_view::npos) {
    return "This user may not use the socket: try as root, or ask to be added to its group.";
  }
  return "Is berthd running? Another socket is named by --socket PATH or BERTH_SOCKET, another "
         "machine by\nberth --server https://HOST:PORT or BERTH_SERVER (after berth login).";
}

}  // namespace

Error unreachable(const Endpoint& endpoint, std::string_view why) {
  return {Code::Unavailable, fmt::format("cannot reach the control plane at {}: {}\n{}",
                                         to_string(endpoint), why, advice_for(endpoint, why))};
}

Error refusal(unsigned status, std::string_view body) {
  google::protobuf::Struct answer;
  const bool is_json =
      google::protobuf::util::JsonStringToMessage({body.data(), body.size()}, &answer).ok();
  const auto error = answer.fields().find("error");
  if (is_json && error != answer.fields().end()) {
    const auto& said = error->second.struct_value();
    return {parse_code(text_of(said, "code")).value_or(code_of(status)), text_of(said, "message")};
  }
  return {code_of(status), fmt::format("the server answers with HTTP status {}", status)};
}

}  // namespace berth::client
