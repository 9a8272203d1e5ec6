#include "controld/http/peer.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <vector>

namespace berth::controld::http {
namespace {

std::string user_name(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16 * 1024);
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? fmt::format("uid-{}", uid) : found->pw_name;
}

// The groups that the caller really has, whatever /etc/group says of its user now.
bool is_member(int socket, gid_t own_group, gid_t group) {
  std::vector<gid_t> groups(65'536);  // the most that the kernel gives anybody
  socklen_t size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) size = 0;
  groups.resize(size / sizeof(gid_t));
  groups.push_back(own_group);
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

// The name in the certificate that the handshake has verified.
std::optional<std::string> common_name_of(SSL* connection) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      SSL_get1_peer_certificate(connection), &X509_free);
  if (certificate == nullptr || SSL_get_verify_result(connection) != X509_V_OK) {
    return std::nullopt;
  }
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  if (out == nullptr || PEM_write_bio_X509(out.get(), certificate.get()) != 1) return std::nullopt;
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  const auto view = trust::look_at(std::string(text, static_cast<std::size_t>(size)));
  if (!view) return std::nullopt;
  return view->common_name;
}

}  // namespace

Result<std::optional<gid_t>> group_named(const std::string& name) {
  if (name.empty()) return std::optional<gid_t>();
  group entry{};
  group* found = nullptr;
  std::vector<char> buffer(64 * 1024);
  getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return invalid_input("there is no group " + name);
  return std::optional<gid_t>(found->gr_gid);
}

api::Caller caller_of(UnixStream& stream, std::optional<gid_t> group) {
  api::Caller caller{.identity = std::nullopt, .address = "unix"};
  ucred peer{};
  socklen_t size = sizeof peer;
  const int socket = stream.socket().native_handle();
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return caller;
  const bool is_ours = peer.uid == 0 || peer.uid == geteuid();
  if (is_ours || (group && is_member(socket, peer.gid, *group))) {
    caller.identity = trust::Identity{trust::Role::Admin, user_name(peer.uid)};
  }
  return caller;
}

std::string address_of(beast::tcp_stream& stream) {
  beast::error_code error;
  const auto address = stream.socket().remote_endpoint(error).address();
  if (error) return "";
  if (!address.is_v6()) return address.to_string();
  if (address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return asio::ip::make_network_v6(address.to_v6(), 64).canonical().to_string();
}

api::Caller caller_of(TlsStream& stream) {
  api::Caller caller;
  beast::error_code error;
  const auto remote = beast::get_lowest_layer(stream).socket().remote_endpoint(error);
  if (!error) caller.address = remote.address().to_string();
  const auto name = common_name_of(stream.native_handle());
  if (name) caller.identity = trust::parse_identity(*name);
  return caller;
}

Result<std::shared_ptr<asio::ssl::context>> tls_context(const trust::KeyAndCertificate& server,
                                                        const std::string& authority) {
  namespace ssl = asio::ssl;
  const auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  const std::string chain = server.certificate + authority;
  beast::error_code error;
  const auto failed = [&](const char* what) {
    return Error{Code::Damaged, fmt::format("cannot use {}: {}", what, error.message())};
  };
  // Sessions are not resumed: each connection proves anew who it is.
  context->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 |
                           ssl::context::no_tlsv1_1 | SSL_OP_NO_TICKET,
                       error);
  SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
  context->use_certificate_chain(asio::buffer(chain), error);
  if (error) return failed("the server's certificate");
  context->use_private_key(asio::buffer(server.key), ssl::context::pem, error);
  if (error) return failed("the server's key");
  context->add_certificate_authority(asio::buffer(authority), error);
  if (error) return failed("the authority's certificate");
  context->set_verify_mode(ssl::verify_peer, error);  // optional, but verified
  return context;
}

}  // namespace berth::controld::http
