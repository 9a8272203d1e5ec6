#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trust/openssl.h"

namespace berth::trust {

struct HostPort {
  std::string host;
  std::string port;
};

// A blocking TLS connection that does not check whom it talks to: the caller looks at the chain
// before saying anything. Every call ends by the deadline that was given on connecting. Used by one
// thread.
class TlsClient {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  static Result<TlsClient> connect(const HostPort& to, Deadline deadline);

  TlsClient(TlsClient&& other) noexcept;
  TlsClient& operator=(TlsClient&&) = delete;
  ~TlsClient();

  // What the server presented, its own certificate first; belongs to the connection.
  const STACK_OF(X509) * chain() const;

  Result<void> write(std::string_view bytes);

  // Some bytes, at most `size_max`; empty: the server has said that nothing follows.
  Result<std::string> read(std::size_t size_max);

 private:
  TlsClient(int socket, Deadline deadline) : socket_(socket), deadline_(deadline) {}

  Result<void> shake_hands(const std::string& host);
  template <class Operation>
  Result<int> run(Operation operation);
  Result<void> send_pending();
  Result<void> receive();

  int socket_;
  Deadline deadline_;
  Owned<SSL_CTX> context_;
  Owned<SSL> ssl_;
};

}  // namespace berth::trust
