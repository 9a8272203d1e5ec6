#include "trust/join.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "trust/openssl.h"

namespace berth::trust {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

WallTime now() { return std::chrono::system_clock::now(); }

KeyAndCertificate signed_by(const Authority& authority, Role role) {
  const std::string key = make_key();
  return {key, authority.sign(make_request(key).value(), {role, "berthd"}, 24h, now()).value()};
}

// A server of one connection: presents its chain, reads one request, gives the answer.
class OneShotServer {
 public:
  struct Setup {
    KeyAndCertificate own;
    std::string authority;  // presented behind it; empty: none
    std::function<std::string(const std::string& request)> answer;
  };

  explicit OneShotServer(Setup setup) : setup_(std::move(setup)) {
    std::signal(SIGPIPE, SIG_IGN);  // the server here writes by OpenSSL
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    address_ = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~OneShotServer() {
    wait();
    close(listener_);
  }

  const std::string& address() const { return address_; }

  // What the client said, when all is over.
  const std::string& request() {
    wait();
    return request_;
  }

 private:
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

  void serve() {
    const int connection = accept(listener_, nullptr, nullptr);
    const Owned<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
    const auto certificate = read_certificate(setup_.own.certificate);
    const auto key = read_key(setup_.own.key);
    SSL_CTX_use_certificate(context.get(), certificate->get());
    SSL_CTX_use_PrivateKey(context.get(), key->get());
    if (!setup_.authority.empty()) {
      SSL_CTX_add1_chain_cert(context.get(), read_certificate(setup_.authority)->get());
    }
    const Owned<SSL> ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), connection);
    if (SSL_accept(ssl.get()) == 1) talk(ssl.get());
    close(connection);
  }

  void talk(SSL* ssl) {
    char bytes[4096];
    while (!is_complete(request_)) {
      const int size = SSL_read(ssl, bytes, sizeof bytes);
      if (size <= 0) return;
      request_.append(bytes, static_cast<std::size_t>(size));
    }
    const std::string answer = setup_.answer(request_);
    if (!answer.empty()) SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
    SSL_shutdown(ssl);
  }

  static bool is_complete(const std::string& request) {
    return request.find("\r\n\r\n") != request.npos && request.ends_with("}");
  }

  Setup setup_;
  int listener_ = -1;
  std::string address_;
  std::string request_;
  std::thread thread_;
};

std::string http(int status, const std::string& body) {
  return fmt::format("HTTP/1.1 {} Any Words\r\ncontent-LENGTH: {}\r\n\r\n{}", status, body.size(),
                     body);
}

class Join : public testing::Test {
 protected:
  Result<Joined> join_at(const std::string& address, std::chrono::seconds timeout = 60s) {
    return join(address, token_, "n1", key_, timeout);
  }

  OneShotServer::Setup setup(std::function<std::string(const std::string&)> answer) {
    return {signed_by(authority_, Role::Server), authority_.pem().certificate, std::move(answer)};
  }

  std::string reply_to(const std::string& request) {
    const Json body = Json::parse(request.substr(request.find("\r\n\r\n")));
    const std::string certificate =
        authority_.sign(body["request"], {Role::Node, body["name"]}, 24h, now()).value();
    return http(200, Json{{"certificate", certificate},
                          {"authority", authority_.pem().certificate},
                          {"link", "10.0.0.1:7432"}}
                         .dump());
  }

  std::string message_for(const std::string& answer) {
    OneShotServer server(setup([&](const std::string&) { return answer; }));
    const auto joined = join_at(server.address());
    EXPECT_FALSE(joined);
    return joined ? "" : joined.error().message;
  }

  const Authority authority_ = Authority::make(now()).value();
  const Token token_ = make_token(authority_);
  const std::string key_ = make_key();
};

TEST_F(Join, GivesACertificateForTheKey) {
  OneShotServer server(setup([this](const std::string& request) { return reply_to(request); }));
  const auto joined = join_at("https://" + server.address() + "/");
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(verify(joined->certificate, joined->authority, now()).value(),
            (Identity{Role::Node, "n1"}));
  EXPECT_TRUE(check_pair({key_, joined->certificate}));
  EXPECT_EQ(joined->link, "10.0.0.1:7432");
  EXPECT_TRUE(server.request().starts_with("POST /v1/join HTTP/1.1\r\n"));
  EXPECT_NE(server.request().find(to_string(token_)), std::string::npos);
}

TEST_F(Join, SaysNothingToAServerOfAnotherAuthority) {
  const Authority other = Authority::make(now()).value();
  OneShotServer server({signed_by(other, Role::Server), other.pem().certificate, nullptr});
  const auto joined = join_at(server.address());
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, Code::InvalidInput);
  EXPECT_NE(joined.error().message.find("not the server that the token is for"), std::string::npos);
  EXPECT_EQ(server.request(), "");
}

TEST_F(Join, SaysNothingToAServerThatOnlyShowsTheAuthority) {
  const Authority other = Authority::make(now()).value();
  OneShotServer server({signed_by(other, Role::Server), authority_.pem().certificate, nullptr});
  const auto joined = join_at(server.address());
  ASSERT_FALSE(joined);
  EXPECT_NE(joined.error().message.find("not signed by"), std::string::npos);
  EXPECT_EQ(server.request(), "");
}

TEST_F(Join, SaysNothingToANodeThatPlaysTheServer) {
  OneShotServer server({signed_by(authority_, Role::Node), authority_.pem().certificate, nullptr});
  const auto joined = join_at(server.address());
  ASSERT_FALSE(joined);
  EXPECT_NE(joined.error().message.find("not a server's"), std::string::npos);
  EXPECT_EQ(server.request(), "");
}

TEST_F(Join, SaysNothingToAServerWithoutItsAuthority) {
  OneShotServer server({signed_by(authority_, Role::Server), "", nullptr});
  ASSERT_FALSE(join_at(server.address()));
  EXPECT_EQ(server.request(), "");
}

TEST_F(Join, GivesTheServersWordsWhenRefused) {
  EXPECT_EQ(message_for(http(403, R"({"error":{"message":"the token has been used"}})")),
            "the server refuses: the token has been used");
  EXPECT_EQ(message_for(http(403, R"({"message":"expired\u001b[31m"})")),
            "the server refuses: expired [31m");
  EXPECT_EQ(message_for(http(500, "")), "the server refuses: HTTP status 500");
}

TEST_F(Join, BelievesNoStrangeAnswer) {
  constexpr std::string_view kBegin = "the server's answer is not understood";
  const std::string other = Authority::make(now()).value().pem().certificate;
  const std::string own = signed_by(authority_, Role::Node).certificate;
  for (const std::string& answer :
       {std::string("SSH-2.0\r\n\r\n"), std::string("HTTP/1.1 200\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), http(200, "[]"),
        http(200, "{"), http(200, R"({"certificate":1,"authority":"x"})"),
        http(200, Json{{"certificate", own}, {"authority", other}}.dump()),
        "HTTP/1.1 200 OK\r\nX: " + std::string(50'000, 'x')}) {
    EXPECT_TRUE(message_for(answer).starts_with(kBegin)) << answer.substr(0, 100);
  }
}

TEST_F(Join, NeverTakesACertificateForAnotherKey) {
  const std::string other_key = signed_by(authority_, Role::Node).certificate;
  EXPECT_EQ(
      message_for(http(
          200,
          Json{{"certificate", other_key}, {"authority", authority_.pem().certificate}}.dump())),
      "the key is not the one that the certificate is for");
}

TEST_F(Join, SaysThatNobodyIsThere) {
  const auto joined = join_at("127.0.0.1:1");
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, Code::Unavailable);
  EXPECT_EQ(joined.error().message, "127.0.0.1:1 cannot be reached: Connection refused");
}

TEST_F(Join, DoesNotWaitForEver) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto joined = join_at(fmt::format("127.0.0.1:{}", ntohs(address.sin_port)), 1s);
  close(listener);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().message, "the server did not answer in time");
}

TEST_F(Join, SaysThatAnAddressIsNone) {
  for (const std::string address :
       {"", "host", ":1", "host:", "host:0", "host:70000", "a b:1", "http://host:1/x"}) {
    const auto joined = join_at(address);
    ASSERT_FALSE(joined) << address;
    EXPECT_EQ(joined.error().code, Code::InvalidInput) << address;
  }
}

}  // namespace
}  // namespace berth::trust
