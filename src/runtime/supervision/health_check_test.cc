#include "runtime/supervision/health_check.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "runtime/conformance.h"
#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

using shim::Fd;
using testing::HasSubstr;

// A server that takes one connection and says this.
class Server {
 public:
  explicit Server(std::string answer)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, text = std::move(answer)] {
      const Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (text.empty()) return;
      char request[1024];
      const ssize_t got = ::read(peer.get(), request, sizeof request);
      if (got > 0) request_.assign(request, static_cast<std::size_t>(got));
      shim::write_all(peer.get(), text);
    });
  }
  ~Server() { finish(); }

  std::uint16_t port() const { return port_; }
  const std::string& finish() {
    if (thread_.joinable()) thread_.join();
    return request_;
  }

 private:
  Fd listener_;
  std::uint16_t port_ = 0;
  std::string request_;
  std::thread thread_;
};

// A port where nobody listens.
std::uint16_t closed_port() {
  Server server("");
  const Fd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(caller.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  return server.port();
}

class HealthCheckTest : public RuntimeTest {
 protected:
  HealthCheckTest() { open(model::RuntimeType::Process); }

  HealthAnswer check(std::variant<model::ExecCheck, model::TcpCheck, model::HttpCheck> probe,
                     Duration deadline = 20s) {
    return check_health({.probe = std::move(probe)}, {.key = spec_.key}, runtime(), deadline);
  }

  void start_instance() {
    spec_.key = {model::ItemId{"item"}, model::SubjectId{"subject"}, 0};
    spec_.item.images.push_back({.form = model::CommandImage{{"sleep", "1000"}}});
    spec_.uid = ::geteuid();
    spec_.gid = ::getegid();
    start(spec_);
  }

  model::InstanceSpec spec_;
};

TEST_F(HealthCheckTest, APortThatTakesConnectionsIsHealthy) {
  Server server("");
  EXPECT_TRUE(check(model::TcpCheck{server.port()}).healthy);
}

TEST_F(HealthCheckTest, APortThatNobodyListensOnIsNot) {
  const HealthAnswer answer = check(model::TcpCheck{closed_port()});
  EXPECT_FALSE(answer.healthy);
  EXPECT_THAT(answer.message, HasSubstr("refused"));
}

TEST_F(HealthCheckTest, AGoodHttpStatusIsHealthy) {
  for (const char* status : {"200 OK", "204 No Content", "302 Found"}) {
    Server server(std::string("HTTP/1.1 ") + status + "\r\n\r\n");
    EXPECT_TRUE(check(model::HttpCheck{server.port(), "/live?x=1"}).healthy) << status;
    EXPECT_THAT(server.finish(), HasSubstr("GET /live?x=1 HTTP/1.1\r\n"));
  }
}

TEST_F(HealthCheckTest, ABadHttpStatusIsNot) {
  Server server("HTTP/1.0 503 Busy\r\n\r\n");
  const HealthAnswer answer = check(model::HttpCheck{server.port(), "/"});
  EXPECT_FALSE(answer.healthy);
  EXPECT_EQ(answer.message, "GET /: status 503");
}

TEST_F(HealthCheckTest, WhatIsNotHttpIsNot) {
  for (const char* text : {"SSH-2.0-x\r\n", "HTTP/1.1", "HTTP/1.1 2x0 \r\n", "\n"}) {
    Server server(text);
    EXPECT_FALSE(check(model::HttpCheck{server.port(), "/"}).healthy) << text;
  }
}

TEST_F(HealthCheckTest, ALateAnswerIsAFailure) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 4), 0);  // connections come through, nobody answers
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const HealthAnswer answer = check(model::HttpCheck{ntohs(address.sin_port), "/"}, 50ms);
  EXPECT_FALSE(answer.healthy);
  EXPECT_THAT(answer.message, HasSubstr("in time"));
}

TEST_F(HealthCheckTest, AProgramsExitCodeTells) {
  start_instance();
  EXPECT_TRUE(check(model::ExecCheck{{"true"}}).healthy);
  const HealthAnswer answer = check(model::ExecCheck{{"sh", "-c", "echo sick; exit 3"}});
  EXPECT_FALSE(answer.healthy);
  EXPECT_EQ(answer.message, "the check ended with 3: sick");
}

TEST_F(HealthCheckTest, AProgramThatTakesTooLongIsAFailure) {
  start_instance();
  const HealthAnswer answer = check(model::ExecCheck{{"sleep", "1000"}}, 50ms);
  EXPECT_FALSE(answer.healthy);
  EXPECT_THAT(answer.message, HasSubstr("in time"));
}

TEST_F(HealthCheckTest, WhatDoesNotRunIsNotHealthy) {
  EXPECT_FALSE(check(model::ExecCheck{{"true"}}).healthy);
}

}  // namespace
}  // namespace berth::runtime
