#include "link/peer.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <string_view>

namespace berth::link {
namespace {

// The text with every `from` as the one character that it stands for.
std::string unescaped(const std::string& text, std::string_view from, char to) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const bool escaped = text.compare(at, from.size(), from) == 0;
    plain.push_back(escaped ? to : text[at]);
    at += escaped ? from.size() : 1;
  }
  return plain;
}

}  // namespace

// "ipv6:%5B::1%5D:4711" is [::1]:4711.
std::string address_of(const grpc::ServerContextBase& context) {
  std::string peer = context.peer();
  if (peer.starts_with("ipv4:") || peer.starts_with("ipv6:")) peer.erase(0, 5);
  return unescaped(unescaped(unescaped(peer, "%5B", '['), "%5D", ']'), "%25", '%');
}

std::string common_name_of(const grpc::ServerContextBase& context) {
  const auto auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return "";
  const auto names = auth->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.size() == 1 ? std::string(names[0].data(), names[0].size()) : "";
}

}  // namespace berth::link
