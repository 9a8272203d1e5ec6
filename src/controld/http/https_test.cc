#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <vector>

#include "controld/testing/plane.h"
#include "trust/join.h"

// The port for other machines: who may do what is decided by certificates.
namespace berth::controld {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;
using testing::StartsWith;

std::string field_of(const std::string& json, const std::string& name) {
  const std::size_t at = json.find("\"" + name + "\":\"") + name.size() + 4;
  return json.substr(at, json.find('"', at) - at);
}

class Https : public testing::Test {
 protected:
  Https() : Https(Plane::Options{.with_https = true}) {}
  explicit Https(const Plane::Options& options) : plane_(options) {}

  // Empty key: without a certificate. Empty answer: the server did not want to talk.
  std::string get(const std::string& path, const trust::KeyAndCertificate& own = {}) {
    asio::io_context context;
    asio::ssl::context tls(asio::ssl::context::tls_client);
    tls.add_certificate_authority(asio::buffer(plane_.identity().authority().pem().certificate));
    tls.set_verify_mode(asio::ssl::verify_peer);
    if (!own.key.empty()) {
      tls.use_private_key(asio::buffer(own.key), asio::ssl::context::pem);
      tls.use_certificate(asio::buffer(own.certificate), asio::ssl::context::pem);
    }
    asio::ssl::stream<asio::ip::tcp::socket> stream(context, tls);
    boost::system::error_code error;
    stream.lowest_layer().connect({asio::ip::make_address("127.0.0.1"), plane_.https_port()},
                                  error);
    stream.handshake(asio::ssl::stream_base::client, error);
    if (error) return "";
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    asio::write(stream, asio::buffer(request), error);
    std::string answer;
    asio::read(stream, asio::dynamic_buffer(answer), error);
    return answer;
  }

  trust::KeyAndCertificate certificate(trust::Role role, const trust::Authority& authority) {
    trust::KeyAndCertificate own;
    own.key = trust::make_key();
    own.certificate = *authority.sign(*trust::make_request(own.key), {role, "kim"},
                                      std::chrono::hours(1), std::chrono::system_clock::now());
    return own;
  }

  std::string token(const std::string& request) {
    return field_of(plane_.post("/v1/join-tokens", request), "token");
  }

  Plane plane_;
};

TEST_F(Https, WithoutACertificateOnlyTheDoorIsOpen) {
  EXPECT_THAT(get("/livez"), HasSubstr("200 OK"));
  EXPECT_THAT(get("/readyz"), HasSubstr("200 OK"));
  EXPECT_THAT(get("/v1/version"), HasSubstr("200 OK"));
  EXPECT_THAT(get("/v1/nodes"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 401"));
}

TEST_F(Https, ACertificateSaysWhatOneMayDo) {
  const trust::Authority& authority = plane_.identity().authority();
  const auto viewer = certificate(trust::Role::Viewer, authority);
  EXPECT_THAT(get("/v1/nodes", viewer), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/v1/instances/web/exec", viewer), StartsWith("HTTP/1.1 403"));
  const auto node = certificate(trust::Role::Node, authority);
  EXPECT_THAT(get("/v1/nodes", node), StartsWith("HTTP/1.1 403"));
  const auto admin = certificate(trust::Role::Admin, authority);
  EXPECT_THAT(get("/v1/instances/web/exec", admin), StartsWith("HTTP/1.1 426"));
}

class HttpsWithLittleRoom : public Https {
 protected:
  HttpsWithLittleRoom()
      : Https({.with_https = true,
               .http = {.remote = {.strangers = 3, .strangers_of_address = 3}}}) {}
};

TEST_F(HttpsWithLittleRoom, StrangersMakeRoomForTheNextAndForNobodyWhoIsKnown) {
  asio::io_context context;
  std::vector<asio::ip::tcp::socket> silent;
  for (int i = 0; i < 10; ++i) {
    silent.emplace_back(context).connect(
        {asio::ip::make_address("127.0.0.1"), plane_.https_port()});
  }
  const auto viewer = certificate(trust::Role::Viewer, plane_.identity().authority());
  EXPECT_THAT(get("/v1/nodes", viewer), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/readyz"), HasSubstr("200 OK"));
  char byte = 0;
  boost::system::error_code error;
  silent.front().read_some(asio::buffer(&byte, 1), error);
  EXPECT_TRUE(error) << "who came first has made room";
}

TEST_F(Https, ACertificateOfAnotherUnitIsNone) {
  const auto other = trust::Authority::make(std::chrono::system_clock::now());
  const auto admin = certificate(trust::Role::Admin, *other);
  EXPECT_EQ(get("/v1/nodes", admin).find("200 OK"), std::string::npos);
}

TEST_F(Https, ATokenLetsANodeJoinOnce) {
  const std::string made = plane_.post("/v1/join-tokens", "{}");
  EXPECT_THAT(field_of(made, "line"), StartsWith("berth-agent join https://127.0.0.1:" +
                                                 std::to_string(plane_.https_port()) + " berth1."));
  const auto parsed = trust::parse_token(field_of(made, "token"));
  ASSERT_TRUE(parsed);
  const std::string server = "https://127.0.0.1:" + std::to_string(plane_.https_port());
  const std::string key = trust::make_key();
  const auto joined = trust::join(server, *parsed, "n1", key, std::chrono::seconds(30));
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(trust::look_at(joined->certificate)->common_name, "node/n1");
  EXPECT_EQ(joined->link, "127.0.0.1:1");
  const auto again = trust::join(server, *parsed, "n1", key, std::chrono::seconds(30));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("used already"));
}

TEST_F(Https, ATokenForAnAdminIsForLogin) {
  const std::string made = plane_.post("/v1/join-tokens", R"({"role":"admin","name":"kim"})");
  EXPECT_THAT(field_of(made, "line"), StartsWith("berth login https://"));
  EXPECT_THAT(plane_.post("/v1/join-tokens", R"({"role":"server"})"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(plane_.post("/v1/join-tokens", R"({"ttlMs":"-1"})"), StartsWith("HTTP/1.1 400"));
}

}  // namespace
}  // namespace berth::controld
