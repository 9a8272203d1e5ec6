#include "trust/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "trust/tls_client.h"

namespace berth::trust {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kHeadMax = 16 * 1024;
constexpr std::size_t kBodyMax = 256 * 1024;
constexpr std::size_t kMessageMax = 500;

struct Answer {
  int status = 0;
  std::string body;
};

Error not_understood(std::string_view what) {
  return {Code::Unavailable, fmt::format("the server's answer is not understood: {}", what)};
}

Result<HostPort> parse_host_port(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  while (text.ends_with('/')) text.remove_suffix(1);
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != text.npos && colon > 0 && colon + 1 < text.size();
  std::string_view host = has_port ? text.substr(0, colon) : "";
  const std::string_view port = has_port ? text.substr(colon + 1) : "";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  unsigned number = 0;
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (host.empty() || failed != std::errc() || end != port.data() + port.size() || number == 0 ||
      number > 65535 || host.find_first_of("/ \t\r\n") != host.npos) {
    return invalid_input(fmt::format("\"{}\" is no address of a server: host:port", text));
  }
  return HostPort{std::string(host), std::string(port)};
}

// The authority of the token must be in the chain and must have signed the server's certificate,
// and that must be a server's: every node has a certificate of the same authority.
Result<void> check_server(const STACK_OF(X509) * chain, const Token& token) {
  const Error wrong = invalid_input(
      "this is not the server that the token is for: it does not present the authority with the "
      "token's fingerprint. Nothing was sent to it");
  if (chain == nullptr || sk_X509_num(chain) == 0) return wrong;
  X509* server = sk_X509_value(chain, 0);
  X509* authority = nullptr;
  for (int i = 1; i < sk_X509_num(chain); ++i) {
    if (fingerprint_of(sk_X509_value(chain, i)) == token.fingerprint) {
      authority = sk_X509_value(chain, i);
    }
  }
  if (authority == nullptr) return wrong;
  if (X509_verify(server, X509_get0_pubkey(authority)) != 1) {
    last_reason();
    return invalid_input("the server's certificate is not signed by the token's authority");
  }
  const auto identity = parse_identity(common_name_of(server));
  if (!identity || identity->role != Role::Server) {
    return invalid_input("the certificate of whoever answers is not a server's");
  }
  return {};
}

std::string post(const HostPort& to, const std::string& body) {
  const bool is_v6 = to.host.find(':') != to.host.npos;
  return fmt::format(
      "POST /v1/join HTTP/1.1\r\n"
      "Host: {}{}{}:{}\r\n"
      "Content-Type: application/json\r\n"
      "Accept: application/json\r\n"
      "Content-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      is_v6 ? "[" : "", to.host, is_v6 ? "]" : "", to.port, body.size(), body);
}

Result<int> parse_status(std::string_view head) {
  int status = 0;
  constexpr std::size_t kAt = 9;  // "HTTP/1.1 200 OK"
  if (!head.starts_with("HTTP/1.") || head.size() < kAt + 3) return not_understood("no HTTP");
  const auto [end, failed] = std::from_chars(head.data() + kAt, head.data() + kAt + 3, status);
  if (failed != std::errc() || status < 100) return not_understood("no HTTP status");
  return status;
}

std::optional<std::string> find_header(std::string_view head, std::string_view name) {
  std::string lower(head);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string line = fmt::format("\r\n{}:", name);
  const std::size_t at = lower.find(line);
  if (at == lower.npos) return std::nullopt;
  const std::size_t begin = lower.find_first_not_of(" \t", at + line.size());
  return lower.substr(begin, lower.find("\r\n", begin) - begin);
}

Result<std::size_t> body_size(std::string_view head) {
  const auto header = find_header(head, "content-length");
  if (!header) return not_understood("it has no Content-Length");
  std::size_t size = 0;
  const char* last = header->data() + header->size();
  const auto [end, failed] = std::from_chars(header->data(), last, size);
  if (failed != std::errc() || end != last) return not_understood("a wrong Content-Length");
  if (size > kBodyMax) return not_understood("it is too long");
  return size;
}

Result<Answer> read_answer(TlsClient& server) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  std::string bytes;
  while (bytes.find(kEnd) == bytes.npos) {
    if (bytes.size() > kHeadMax) return not_understood("its head is too long");
    const std::string more = TRY(server.read(kHeadMax));
    if (more.empty()) return not_understood("it ends too early");
    bytes += more;
  }
  const std::size_t head_size = bytes.find(kEnd) + kEnd.size();
  const std::string_view head = std::string_view(bytes).substr(0, head_size);
  Answer answer{.status = TRY(parse_status(head)), .body = {}};
  const std::size_t size = TRY(body_size(head));
  answer.body = bytes.substr(head_size, size);
  while (answer.body.size() < size) {
    const std::string more = TRY(server.read(size - answer.body.size()));
    if (more.empty()) return not_understood("it ends too early");
    answer.body += more;
  }
  return answer;
}

// "" if the member is not there or is no text.
std::string text_of(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// The server's sentence, fit for a terminal.
std::string message_of(const Answer& answer) {
  const Json json = Json::parse(answer.body, nullptr, false);
  std::string message = text_of(json, "message");
  if (message.empty()) message = text_of(json, "error");
  if (message.empty() && json.is_object() && json.contains("error")) {
    message = text_of(json["error"], "message");
  }
  if (message.empty()) return fmt::format("HTTP status {}", answer.status);
  message.resize(std::min(message.size(), kMessageMax));
  std::ranges::replace_if(
      message, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return message;
}

Error refusal_of(const Answer& answer) {
  const bool may_work_later = answer.status >= 500 || answer.status == 429;
  return {may_work_later ? Code::Unavailable : Code::InvalidInput,
          fmt::format("the server refuses: {}", message_of(answer))};
}

Result<Joined> parse_joined(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  Joined joined{text_of(json, "certificate"), text_of(json, "authority"), text_of(json, "link")};
  if (joined.certificate.empty() || joined.authority.empty()) {
    return not_understood("it has no certificate");
  }
  return joined;
}

Result<void> check_joined(const Joined& joined, const Token& token, const std::string& key_pem) {
  const CertificateView authority = TRY(look_at(joined.authority));
  if (authority.fingerprint != token.fingerprint) {
    return not_understood("its authority is not the token's");
  }
  TRY(check_pair({key_pem, joined.certificate}));
  return {};
}

}  // namespace

Result<Joined> join(const std::string& url_host_port, const Token& token, const std::string& name,
                    const std::string& key_pem, std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const HostPort to = TRY(parse_host_port(url_host_port));
  const std::string request = TRY(make_request(key_pem));
  TlsClient server = TRY(TlsClient::connect(to, deadline));
  TRY(check_server(server.chain(), token));
  const Json body = {{"token", to_string(token)}, {"name", name}, {"request", request}};
  TRY(server.write(post(to, body.dump(-1, ' ', true, Json::error_handler_t::replace))));
  const Answer answer = TRY(read_answer(server));
  if (answer.status != 200) return refusal_of(answer);
  Joined joined = TRY(parse_joined(answer.body));
  TRY(check_joined(joined, token, key_pem));
  return joined;
}

}  // namespace berth::trust
