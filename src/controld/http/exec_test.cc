#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <string>

#include "controld/testing/plane.h"

// Commands in instances, over a WebSocket.
namespace berth::controld {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using testing::HasSubstr;

const std::string kManifest =
    R"({"files":[{"name":"f","text":"apiVersion: berth/v1\nkind: Item\nmetadata: {name: web}\n)"
    R"(spec: {version: 1, images: [{command: [x]}]}\n---\napiVersion: berth/v1\nkind: Deployment\n)"
    R"(metadata: {name: base}\nspec: {run: [{item: web}]}\n"}]})";

class ExecByHttp : public testing::Test {
 protected:
  ExecByHttp() : socket_(context_) {
    plane_.add_node("n1");
    plane_.post("/v1/apply", kManifest);
    socket_.next_layer().connect(asio::local::stream_protocol::endpoint(plane_.socket()));
  }

  void send(const std::string& json) { socket_.write(asio::buffer(json)); }

  // Empty: the server has closed.
  std::string receive() {
    beast::flat_buffer buffer;
    beast::error_code error;
    socket_.read(buffer, error);
    return error ? "" : beast::buffers_to_string(buffer.data());
  }
  v1::ToAgent sent(std::size_t number) {
    while (plane_.sent_to_agents().size() <= number) std::this_thread::yield();
    return plane_.sent_to_agents()[number];
  }
  void say(const v1::StreamData& piece) { plane_.streams().received(1, piece); }

  Plane plane_;
  asio::io_context context_;
  beast::websocket::stream<asio::local::stream_protocol::socket> socket_;
};

TEST_F(ExecByHttp, CarriesInputOutputAndTheExitCode) {
  socket_.handshake("x", "/v1/instances/web/default/0/exec");
  send(R"({"command":["sh","-c","cat"],"terminal":true,"rows":24,"columns":80})");
  const v1::OpenExec opened = sent(0).open_exec();
  EXPECT_EQ(opened.command_size(), 3);
  EXPECT_EQ(opened.rows(), 24u);
  EXPECT_EQ(opened.key().item(), "web");

  send(R"({"data":"aGk="})");
  EXPECT_EQ(sent(1).stream().data(), "hi");
  send(R"({"end":true})");
  EXPECT_TRUE(sent(2).stream().end());

  v1::StreamData piece;
  piece.set_stream(opened.stream());
  piece.set_data("hi");
  say(piece);
  EXPECT_THAT(receive(), HasSubstr(R"("data":"aGk=")"));
  piece.clear_data();
  piece.set_exit_code(3);
  say(piece);
  EXPECT_THAT(receive(), HasSubstr(R"("exitCode":3)"));
  EXPECT_EQ(receive(), "");
  EXPECT_EQ(plane_.streams().open(), 0u);
}

TEST_F(ExecByHttp, ACallerWhoLeavesEndsTheSession) {
  socket_.handshake("x", "/v1/instances/web/exec");
  send(R"({"command":["sh"]})");
  sent(0);
  socket_.next_layer().close();
  EXPECT_TRUE(sent(1).stream().end());
  EXPECT_EQ(plane_.streams().open(), 0u);
}

TEST_F(ExecByHttp, ErrorsAreTold) {
  socket_.handshake("x", "/v1/instances/wed/exec");
  send(R"({"command":["sh"]})");
  EXPECT_THAT(receive(), HasSubstr("there is no instance wed"));
  EXPECT_EQ(receive(), "");
}

TEST_F(ExecByHttp, ALostAgentEndsTheSession) {
  socket_.handshake("x", "/v1/instances/web/exec");
  send(R"({"command":["sh"]})");
  sent(0);
  plane_.streams().disconnected(1);
  EXPECT_THAT(receive(), HasSubstr("the connection to node n1 broke"));
}

}  // namespace
}  // namespace berth::controld
