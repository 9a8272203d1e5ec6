#include "trust/tls_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace berth::trust {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Error unavailable(std::string message) { return {Code::Unavailable, std::move(message)}; }

Result<Addresses> resolve(const HostPort& to) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found);
  if (failed != 0) {
    return unavailable(fmt::format("{} is not known: {}", to.host, gai_strerror(failed)));
  }
  return Addresses(found, &freeaddrinfo);
}

// Until the socket is ready for it.
Result<void> wait_for(int socket, short events, TlsClient::Deadline deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return unavailable("the server did not answer in time");
    pollfd waiting{.fd = socket, .events = events, .revents = 0};
    const auto timeout = std::min<std::int64_t>(left.count(), 60'000);
    if (poll(&waiting, 1, static_cast<int>(timeout)) > 0) return {};
  }
}

Result<void> connect_socket(int socket, const addrinfo& address, TlsClient::Deadline deadline) {
  if (connect(socket, address.ai_addr, address.ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS) return unavailable(std::strerror(errno));
  TRY(wait_for(socket, POLLOUT, deadline));
  int failed = 0;
  socklen_t size = sizeof failed;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &failed, &size);
  if (failed != 0) return unavailable(std::strerror(failed));
  return {};
}

bool is_address(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

TlsClient::TlsClient(TlsClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      deadline_(other.deadline_),
      context_(std::move(other.context_)),
      ssl_(std::move(other.ssl_)) {}

TlsClient::~TlsClient() {
  if (socket_ >= 0) ::close(socket_);
}

Result<TlsClient> TlsClient::connect(const HostPort& to, Deadline deadline) {
  const Addresses addresses = TRY(resolve(to));
  Error last = unavailable("it has no address");
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    TlsClient client(::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                     deadline);
    if (client.socket_ < 0) continue;
    if (const auto connected = connect_socket(client.socket_, *at, deadline); !connected) {
      last = connected.error();
      continue;
    }
    TRY(client.shake_hands(to.host));
    return client;
  }
  return unavailable(fmt::format("{}:{} cannot be reached: {}", to.host, to.port, last.message));
}

// The bytes go through memory and our own send(): what OpenSSL does with a socket can raise
// SIGPIPE.
Result<void> TlsClient::shake_hands(const std::string& host) {
  context_.reset(SSL_CTX_new(TLS_client_method()));
  if (context_ == nullptr) return Error{Code::Internal, "no TLS: " + last_reason()};
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);
  ssl_.reset(SSL_new(context_.get()));
  BIO* incoming = BIO_new(BIO_s_mem());
  BIO* outgoing = BIO_new(BIO_s_mem());
  if (ssl_ == nullptr || incoming == nullptr || outgoing == nullptr) {
    BIO_free(incoming);
    BIO_free(outgoing);
    return Error{Code::Internal, "no TLS: " + last_reason()};
  }
  SSL_set_bio(ssl_.get(), incoming, outgoing);
  if (!is_address(host)) SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
  SSL_set_connect_state(ssl_.get());
  TRY(run([this] { return SSL_do_handshake(ssl_.get()); }));
  return {};
}

const STACK_OF(X509) * TlsClient::chain() const { return SSL_get_peer_cert_chain(ssl_.get()); }

Result<void> TlsClient::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = static_cast<int>(std::min<std::size_t>(bytes.size(), 16 * 1024));
    const int written = TRY(run([&] { return SSL_write(ssl_.get(), bytes.data(), size); }));
    if (written == 0) return unavailable("the server has closed the connection");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> TlsClient::read(std::size_t size_max) {
  std::string bytes(std::min<std::size_t>(size_max, 16 * 1024), '\0');
  const int size =
      TRY(run([&] { return SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())); }));
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

// What the operation gives when it is through; 0: the peer has closed.
template <class Operation>
Result<int> TlsClient::run(Operation operation) {
  while (true) {
    ERR_clear_error();
    const int done = operation();
    const int why = SSL_get_error(ssl_.get(), done);
    TRY(send_pending());
    if (done > 0) return done;
    if (why == SSL_ERROR_ZERO_RETURN) return 0;
    if (why != SSL_ERROR_WANT_READ) return unavailable("TLS failed: " + last_reason());
    TRY(receive());
  }
}

Result<void> TlsClient::send_pending() {
  char* data = nullptr;
  BIO* outgoing = SSL_get_wbio(ssl_.get());
  const long size = BIO_get_mem_data(outgoing, &data);
  std::string_view bytes(data, static_cast<std::size_t>(size));
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      TRY(wait_for(socket_, POLLOUT, deadline_));
    } else if (errno != EINTR) {
      return unavailable(fmt::format("the connection broke: {}", std::strerror(errno)));
    }
  }
  BIO_reset(outgoing);
  return {};
}

Result<void> TlsClient::receive() {
  std::array<char, 16 * 1024> bytes;
  while (true) {
    TRY(wait_for(socket_, POLLIN, deadline_));
    const ssize_t size = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (size == 0) return unavailable("the server has closed the connection");
    if (size > 0) {
      BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(size));
      return {};
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return unavailable(fmt::format("the connection broke: {}", std::strerror(errno)));
    }
  }
}

}  // namespace berth::trust
