#include <berth_session.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/pool.h"
#include "session/testing/peers.h"
#include "session/testing/service.h"

// The clients that apps have, against the real service.
namespace berth::session {
namespace {

using testing::becomes;
using testing::Port;
using testing::Service;
using testing::Stream;
using testing::Told;

std::string random_bytes(std::size_t size) {
  Random random(size);
  std::string bytes;
  while (bytes.size() < size) bytes += static_cast<char>(random.below(256));
  return bytes;
}

// An app, as an agent starts it.
class App {
 public:
  App(const Service& service, const std::vector<std::string>& command)
      : port_(testing::free_port()) {
    const std::vector<std::string> variables{
        "BERTH_SESSION_SOCKET=" + service.path, "BERTH_SESSION_TOKEN=" + service.token,
        "BERTH_PORT_7000=" + std::to_string(port_), "PATH=" + std::string(std::getenv("PATH")),
        "PYTHONDONTWRITEBYTECODE=1"};
    const auto pointers = [](const std::vector<std::string>& texts) {
      std::vector<char*> made;
      for (const auto& text : texts) made.push_back(const_cast<char*>(text.c_str()));
      made.push_back(nullptr);
      return made;
    };
    const auto argv = pointers(command);
    const auto envp = pointers(variables);
    EXPECT_EQ(::posix_spawnp(&pid_, argv[0], nullptr, nullptr, argv.data(), envp.data()), 0);
  }
  ~App() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  Endpoint endpoint() const { return {"127.0.0.1", port_}; }
  Stream connect() const { return Stream::connect(endpoint()); }

 private:
  std::uint16_t port_;
  pid_t pid_ = -1;
};

bool has_python() { return std::system("python3 -c 0 2>/dev/null") == 0; }

class EchoTest : public ::testing::TestWithParam<const char*> {
 protected:
  static std::vector<std::string> command() {
    if (GetParam() == std::string("cpp")) return {BERTH_BIN_DIR "/session-echo"};
    return {"python3", BERTH_SOURCE_DIR "/examples/sessions/echo.py"};
  }
  void SetUp() override {
    if (GetParam() == std::string("python") && !has_python()) GTEST_SKIP() << "there is no python3";
  }

  Service service_;
};
INSTANTIATE_TEST_SUITE_P(Clients, EchoTest, ::testing::Values("cpp", "python"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(EchoTest, ServesASession) {
  const App app(service_, command());
  ASSERT_TRUE(service_.told.has("connected"));
  const std::string data = random_bytes(model::SessionSpec::kDataMax);
  service_.service->open(service_.key, "blue \"1\" \xc3\xa9", data);
  ASSERT_TRUE(service_.told.has("opened blue \"1\" \xc3\xa9"));

  Stream client = app.connect();
  EXPECT_TRUE(client.receive(data.size()) == data);
  EXPECT_TRUE(service_.told.has("clients blue \"1\" \xc3\xa9 1"));
  client.send("hear me");
  EXPECT_EQ(client.receive(7), "hear me");
  const Stream other = app.connect();
  EXPECT_TRUE(service_.told.has("clients blue \"1\" \xc3\xa9 2"));
  client = Stream();
  EXPECT_TRUE(becomes([&] { return service_.told.count("clients blue \"1\" \xc3\xa9 1") == 2; }));
  const Port sender(SOCK_DGRAM);
  sender.send("by UDP", app.endpoint());
  EXPECT_EQ(sender.receive().bytes, "by UDP");

  service_.service->close(service_.key, "blue \"1\" \xc3\xa9", 10s);
  EXPECT_TRUE(service_.told.has("closed blue \"1\" \xc3\xa9"));
  EXPECT_EQ(other.receive(data.size() + 1), data) << "and then the end";
  service_.service->open(service_.key, "red", "next");
  EXPECT_TRUE(service_.told.has("opened red"));
  EXPECT_EQ(app.connect().receive(4), "next");
}

TEST_P(EchoTest, ComesBackByItself) {
  const App app(service_, command());
  service_.service->open(service_.key, "blue", "data");
  ASSERT_TRUE(service_.told.has("opened blue"));
  const Stream client = app.connect();
  EXPECT_EQ(client.receive(4), "data");
  EXPECT_TRUE(service_.told.has("clients blue 1"));
  service_.restart();
  // It is there before the service has heard what it serves.
  ASSERT_TRUE(becomes([&] { return service_.told.count("connected") == 2; }));
  service_.service->open(service_.key, "blue", "data");
  EXPECT_TRUE(becomes([&] { return service_.told.count("opened blue") == 2; }));
  EXPECT_TRUE(becomes([&] { return service_.told.count("clients blue 1") == 2; }));
  client.send("still here");
  EXPECT_EQ(client.receive(10), "still here");
  service_.service->close(service_.key, "blue", 10s);
  EXPECT_TRUE(service_.told.has("closed blue"));
}

// --- The client itself -------------------------------------------------------------------------

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    client_.on_open = [this](const std::string& session, const std::string&) {
      seen_.add("open " + session);
      client_.opened(session);
    };
    client_.on_close = [this](const std::string& session, std::chrono::milliseconds grace) {
      seen_.add("close " + session + " " + std::to_string(grace.count() > 9'000));
      client_.closed(session);
    };
  }

  Service service_;
  Told seen_;
  SessionClient client_{service_.path, service_.token};
};

TEST_F(ClientTest, TellsTheGrace) {
  client_.start();
  service_.service->open(service_.key, "blue", "");
  EXPECT_TRUE(service_.told.has("opened blue"));
  service_.service->close(service_.key, "blue", 10s);
  EXPECT_TRUE(seen_.has("close blue 1"));
  EXPECT_TRUE(service_.told.has("closed blue"));
}

TEST_F(ClientTest, AnExceptionIsAFailure) {
  client_.on_open = [](const std::string&, const std::string&) {
    throw std::runtime_error("no \"map\"\n");
  };
  client_.start();
  service_.service->open(service_.key, "blue", "");
  EXPECT_TRUE(service_.told.has("opened blue: no \"map\"\n"));
}

TEST_F(ClientTest, Pings) {
  client_.ping_every = std::chrono::milliseconds(1);
  client_.start();
  EXPECT_TRUE(service_.told.has("pinged"));
}

TEST_F(ClientTest, WhatIsUnknownIsClosed) {
  client_.start();
  service_.service->close(service_.key, "of another life", 10s);
  EXPECT_TRUE(service_.told.has("closed of another life"));
}

TEST_F(ClientTest, WhatEndsWithoutAConnectionIsNotOpenedAgain) {
  client_.start();
  service_.service->open(service_.key, "blue", "");
  service_.service->open(service_.key, "red", "");
  ASSERT_TRUE(service_.told.has("opened red"));
  client_.clients("red", 3);
  ASSERT_TRUE(service_.told.has("clients red 3"));
  {
    // Another takes the connection for as long as it takes.
    Stream other = service_.dial();
    ASSERT_TRUE(other.send("{\"type\":\"hello\",\"token\":\"secret\"}\n"));
    other.receive_line();
    client_.closed("blue");
  }
  EXPECT_TRUE(service_.told.has("closed blue"));
  EXPECT_TRUE(becomes([&] { return service_.told.count("connected") >= 3; }));
  service_.service->close(service_.key, "red", 10s);
  EXPECT_TRUE(service_.told.has("closed red"));
  EXPECT_EQ(seen_.count("open blue"), 1u);
  EXPECT_EQ(seen_.count("open red"), 1u);
}

// What the example does not do. The names of sessions tell it what to do.
constexpr char kPythonApp[] = R"(
import sys
sys.path.insert(0, sys.argv[1])
from berth_session import SessionClient
client = SessionClient()
opened = []
def open_session(session, data):
    opened.append(session)
    if session == "fail":
        raise ValueError("as told")
    client.opened(session)
    if session == "end blue":
        client._hang_up()
        client.closed("blue")
    if session == "count":
        client.clients("count", opened.count("blue"))
client.on_open = open_session
client.start()
client._thread.join()
)";

TEST(PythonClient, FailsAndEndsSessionsAsItShould) {
  if (!has_python()) GTEST_SKIP() << "there is no python3";
  Service service;
  const App app(service, {"python3", "-c", kPythonApp, BERTH_SOURCE_DIR "/sdk/session"});
  service.service->open(service.key, "blue", "");
  EXPECT_TRUE(service.told.has("opened blue"));
  service.service->open(service.key, "end blue", "");
  EXPECT_TRUE(service.told.has("closed blue"));
  service.service->open(service.key, "count", "");
  EXPECT_TRUE(service.told.has("clients count 1"));
  service.service->open(service.key, "fail", "");
  EXPECT_TRUE(service.told.has("opened fail: as told"));
}

TEST_F(ClientTest, WaitsForAServiceThatIsNotThereYet) {
  service_.service->end(service_.key);
  client_.start();
  ASSERT_TRUE(service_.service->serve(service_.key, service_.path, service_.token));
  EXPECT_TRUE(service_.told.has("connected"));
}

TEST_F(ClientTest, ReadsTextsAsTheyAreMeant) {
  const auto fields =
      session_detail::LineReader(
          R"( {"a" : "\u00e9\ud83d\ude00\n\"", "b":-12 ,"c":[1,{"x":[]}],"d":true} )")
          .read();
  EXPECT_EQ(fields.at("a"), "\xc3\xa9\xf0\x9f\x98\x80\n\"");
  EXPECT_EQ(fields.at("b"), "-12");
  EXPECT_EQ(fields.at("d"), "true");
  for (const char* wrong : {"", "{", "{\"a\"}", "{\"a\":\"\\u12\"}", "{\"a\":[1}", "[]"}) {
    EXPECT_THROW(session_detail::LineReader(wrong).read(), std::invalid_argument) << wrong;
  }
}

}  // namespace
}  // namespace berth::session
