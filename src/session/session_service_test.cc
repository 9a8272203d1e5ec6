#include "session/session_service.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "codec/json_reader.h"
#include "model/pool.h"
#include "session/app_connection.h"
#include "session/protocol.h"
#include "session/testing/peers.h"
#include "session/testing/service.h"

namespace berth::session {
namespace {

using testing::becomes;
using testing::Service;
using testing::Stream;

class SessionServiceTest : public ::testing::Test {
 protected:
  explicit SessionServiceTest(SessionService::Config config = {}) : service_(config) {}

  // An app that has shown its token.
  Stream connect() {
    Stream app = service_.dial();
    EXPECT_TRUE(app.send(R"({"type":"hello","token":"secret"})"
                         "\n"));
    EXPECT_EQ(app.receive_line(), R"({"type":"welcome","instance":"@games/echo/7"})");
    return app;
  }
  void say(const Stream& app, const std::string& line) { EXPECT_TRUE(app.send(line + "\n")); }

  // Whether the app gets an answer: whatever it has said before was heard.
  bool answers(Stream& app) {
    say(app, R"({"type":"ping"})");
    return app.receive_line() == R"({"type":"pong"})";
  }
  bool told(const std::string& what) { return service_.told.has(what); }

  Service service_;
  SessionService& sessions_ = *service_.service;
  const model::InstanceKey& key_ = service_.key;
};

// Whose service has more patience with who floods it.
class BusySessionServiceTest : public SessionServiceTest {
 protected:
  BusySessionServiceTest()
      : SessionServiceTest({.accept_pause = 1ms, .bytes_per_second = 100 << 20}) {}
};

TEST_F(SessionServiceTest, OpensAndClosesASession) {
  Stream app = connect();
  EXPECT_TRUE(told("connected"));
  sessions_.open(key_, "blue", "hi");
  EXPECT_EQ(app.receive_line(), R"({"type":"open","session":"blue","data":"aGk="})");
  say(app, R"({"type":"opened","session":"blue"})");
  EXPECT_TRUE(told("opened blue"));
  say(app, R"({"type":"clients","session":"blue","count":2})");
  EXPECT_TRUE(told("clients blue 2"));
  sessions_.close(key_, "blue", 0s);
  EXPECT_EQ(app.receive_line(), R"({"type":"close","session":"blue","graceMs":0})");
  say(app, R"({"type":"closed","session":"blue"})");
  EXPECT_TRUE(told("closed blue"));
}

TEST_F(SessionServiceTest, AFirstCountOfNobodyIsToldToo) {
  Stream app = connect();
  sessions_.open(key_, "blue", "");
  app.receive_line();
  say(app, R"({"type":"opened","session":"blue"})");
  say(app, R"({"type":"clients","session":"blue","count":0})");
  EXPECT_TRUE(told("clients blue 0")) << "in another life of the service there may have been some";
}

TEST_F(SessionServiceTest, EveryoneMayUseTheSocket) {
  struct stat found {};
  ASSERT_EQ(::stat(service_.path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0666u);
}

TEST_F(SessionServiceTest, AnAppThatComesLaterIsTold) {
  sessions_.open(key_, "blue", "hi");
  sessions_.close(key_, "red", 0s);
  Stream app = connect();
  EXPECT_EQ(app.receive_line(), R"({"type":"open","session":"blue","data":"aGk="})");
  EXPECT_EQ(app.receive_line(), R"({"type":"close","session":"red","graceMs":0})");
}

TEST_F(SessionServiceTest, AnAppThatComesBackIsToldAgain) {
  sessions_.open(key_, "blue", "hi");
  {
    Stream app = connect();
    app.receive_line();
    say(app, R"({"type":"opened","session":"blue"})");
    EXPECT_TRUE(told("opened blue"));
  }
  EXPECT_TRUE(told("disconnected"));
  Stream app = connect();
  EXPECT_EQ(app.receive_line(), R"({"type":"open","session":"blue","data":"aGk="})");
  say(app, R"({"type":"opened","session":"blue"})");
  EXPECT_TRUE(answers(app));
  EXPECT_EQ(service_.told.count("opened blue"), 1u);
}

TEST_F(SessionServiceTest, WhatHasEndedMeanwhileIsSaidWithHello) {
  sessions_.open(key_, "blue", "");
  Stream app = service_.dial();
  say(app, R"({"type":"hello","token":"secret","closed":["blue","unknown"]})");
  app.receive_line();
  EXPECT_TRUE(told("closed blue"));
  EXPECT_TRUE(answers(app)) << "it is not opened again";
}

TEST_F(SessionServiceTest, ManyWaitForAnAppThatStandsStill) {
  const std::string data(model::SessionSpec::kDataMax, 'x');
  Stream app = connect();
  for (int i = 0; i < 100; ++i) sessions_.open(key_, std::to_string(i), data);
  for (int i = 0; i < 100; ++i) {
    const auto line = app.receive_line();
    ASSERT_TRUE(line.starts_with(R"({"type":"open","session":")" + std::to_string(i) + "\""));
  }
  EXPECT_EQ(service_.told.count("disconnected"), 0u);
}

TEST_F(SessionServiceTest, WhatIsClosedBeforeItCouldBeToldIsNotOpened) {
  Stream app = connect();
  const std::string data(model::SessionSpec::kDataMax, 'x');
  for (int i = 0; i < 20; ++i) sessions_.open(key_, std::to_string(i), data);
  sessions_.close(key_, "19", 0s);
  for (int i = 0; i < 19; ++i) EXPECT_TRUE(app.receive_line().starts_with(R"({"type":"open")"));
  EXPECT_EQ(app.receive_line(), R"({"type":"close","session":"19","graceMs":0})");
}

TEST_F(SessionServiceTest, AnAppMayFail) {
  Stream app = connect();
  sessions_.open(key_, "blue", "");
  say(app, R"({"type":"failed","session":"blue","message":"no map"})");
  EXPECT_TRUE(told("opened blue: no map"));
  sessions_.open(key_, "blue", "");
  say(app, R"({"type":"failed","session":"blue"})");
  EXPECT_TRUE(told("opened blue: the app did not say why"));
}

TEST_F(SessionServiceTest, ASessionThatIsBeingClosedIsOpenedAgainAfterwards) {
  Stream app = connect();
  sessions_.open(key_, "blue", "1");
  sessions_.close(key_, "blue", 0s);
  sessions_.open(key_, "blue", "2");
  EXPECT_EQ(app.receive_line(), R"({"type":"open","session":"blue","data":"MQ=="})");
  EXPECT_EQ(app.receive_line(), R"({"type":"close","session":"blue","graceMs":0})");
  say(app, R"({"type":"closed","session":"blue"})");
  EXPECT_EQ(app.receive_line(), R"({"type":"open","session":"blue","data":"Mg=="})");
}

TEST_F(SessionServiceTest, PingsAreAnsweredAndTold) {
  Stream app = connect();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(answers(app));
  EXPECT_TRUE(told("pinged"));
  EXPECT_LT(service_.told.count("pinged"), 10u) << "not all of them";
}

TEST_F(SessionServiceTest, AWrongTokenIsDisconnected) {
  Stream stranger = service_.dial();
  say(stranger, R"({"type":"hello","token":"secreT"})");
  EXPECT_EQ(stranger.receive_line(), R"({"type":"error","message":"this is not the token"})");
  EXPECT_TRUE(stranger.is_over());
  Stream silent = service_.dial();
  say(silent, R"({"type":"ping"})");
  EXPECT_EQ(silent.receive_line(), R"({"type":"error","message":"say hello first"})");
  EXPECT_TRUE(silent.is_over());
  EXPECT_TRUE(service_.told.all().empty());
}

TEST_F(SessionServiceTest, NonsenseEndsTheConnection) {
  for (const std::string line :
       {"", "x", "[]", "{}", R"({"type":1})", R"({"type":"closed"})",
        R"({"type":"clients","session":"a","count":-1})",
        R"({"type":"clients","session":"a","count":"1"})", "{\"type\":\"\xff\"}"}) {
    Stream app = connect();
    say(app, line);
    EXPECT_TRUE(app.receive_line().starts_with(R"({"type":"error")")) << line;
    EXPECT_TRUE(app.is_over()) << line;
  }
}

TEST_F(SessionServiceTest, WhatItDoesNotKnowDoesNot) {
  Stream app = connect();
  say(app, R"({"type":"opened","session":"unknown"})");
  EXPECT_EQ(app.receive_line(), R"({"type":"error","message":"there is no session \"unknown\""})");
  say(app, R"({"type":"dance","steps":[1,{"a":null}]})");
  EXPECT_EQ(app.receive_line(), R"({"type":"error","message":"there is no such type"})");
  EXPECT_TRUE(answers(app));
}

TEST_F(SessionServiceTest, LongLinesEndTheConnection) {
  Stream app = connect();
  const std::string comment(kLineMax - 30, 'x');
  say(app, R"({"type":"ping","why":")" + comment + "\"}");
  EXPECT_EQ(app.receive_line(), R"({"type":"pong"})");
  app.send(std::string(kLineMax + 1, ' '));
  EXPECT_EQ(app.receive_line(), R"({"type":"error","message":"this line is too long"})");
  EXPECT_TRUE(app.is_over());
  Stream stranger = service_.dial();
  stranger.send(std::string(64 << 10, ' '));
  EXPECT_EQ(stranger.receive_line(), R"({"type":"error","message":"this line is too long"})");
}

TEST_F(SessionServiceTest, OfManyStrangersTheOldestGo) {
  std::vector<Stream> strangers;
  for (int i = 0; i < 12; ++i) strangers.push_back(service_.dial());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(strangers[i].is_over());
  Stream app = connect();
  EXPECT_TRUE(answers(app));
}

TEST_F(SessionServiceTest, WhoConnectsLaterIsTheApp) {
  Stream earlier = connect();
  Stream later = connect();
  EXPECT_EQ(earlier.receive_line(), R"({"type":"error","message":"there is another connection"})");
  EXPECT_TRUE(earlier.is_over());
  EXPECT_TRUE(answers(later));
  EXPECT_TRUE(told("pinged"));
  EXPECT_EQ(service_.told.all(),
            (std::vector<std::string>{"connected", "disconnected", "connected", "pinged"}));
}

TEST_F(BusySessionServiceTest, WhoNeverReadsIsDroppedAndHarmsNobody) {
  const auto other = testing::instance(8);
  const std::string path = service_.path_of("other");
  ASSERT_TRUE(sessions_.serve(other, path, "other"));
  Stream app = connect();
  std::string pings;
  for (int i = 0; i < 1'000; ++i) pings += "{\"type\":\"ping\"}\n";
  const timeval soon{0, 200'000};
  ::setsockopt(app.fd(), SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
  app.send(pings);
  Stream neighbour = Stream::connect_unix(path);
  say(neighbour, R"({"type":"hello","token":"other"})");
  EXPECT_EQ(neighbour.receive_line(), R"({"type":"welcome","instance":"@games/echo/8"})");
  while (app.send(pings)) {
  }
  EXPECT_TRUE(told("disconnected"));
}

TEST_F(SessionServiceTest, AFloodIsSlowedDown) {
  Stream app = connect();
  std::string flood;
  const auto affordable =
      SessionService::Config{}.bytes_per_second / (AppConnection::kLineCost + 15);
  for (std::int64_t i = 0; i < affordable * 2; ++i) flood += "{\"type\":\"ping\"}\n";
  const auto begin = std::chrono::steady_clock::now();
  std::thread sender([&] { app.send(flood); });
  Stream reader(Fd(::dup(app.fd())));
  for (std::int64_t i = 0; i < affordable * 2; ++i) {
    ASSERT_EQ(reader.receive_line(), R"({"type":"pong"})");
  }
  sender.join();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 900ms);
}

TEST_F(SessionServiceTest, EndingForgetsEverything) {
  Stream app = connect();
  sessions_.open(key_, "blue", "");
  app.receive_line();
  sessions_.end(key_);
  EXPECT_TRUE(app.is_over());
  EXPECT_FALSE(std::filesystem::exists(service_.path));
  sessions_.open(key_, "red", "");
  sessions_.close(key_, "blue", 1s);
  ASSERT_TRUE(sessions_.serve(key_, service_.path, "secret"));
  Stream again = connect();
  EXPECT_TRUE(answers(again));
}

TEST_F(SessionServiceTest, RefusesWhatCannotBeServed) {
  EXPECT_EQ(sessions_.serve(key_, service_.path, "secret").error().code, Code::Conflict);
  const auto other = testing::instance(8);
  EXPECT_EQ(sessions_.serve(other, service_.path_of("a"), "").error().code, Code::InvalidInput);
  EXPECT_EQ(sessions_.serve(other, service_.path_of(std::string(120, 'a')), "t").error().code,
            Code::InvalidInput);
  EXPECT_EQ(sessions_.serve(other, service_.path_of("no/where"), "t").error().code,
            Code::Unavailable);
}

TEST_F(SessionServiceTest, ALaterLifeTakesTheSocketOver) {
  service_.restart();
  Stream app = service_.dial();
  say(app, R"({"type":"hello","token":"secret"})");
  EXPECT_EQ(app.receive_line(), R"({"type":"welcome","instance":"@games/echo/7"})");
}

TEST(SessionService, WhoDoesNotSayHelloHasToGo) {
  Service service({.hello_within = 20ms});
  const Stream silent = service.dial();
  EXPECT_TRUE(silent.is_over());
}

TEST_F(BusySessionServiceTest, RandomBytesHarmNobody) {
  Random random(7);
  const std::vector<std::string> words{"{",      "}",       "\"",       "type",  "hello",
                                       "token",  "secret",  ":",        ",",     "\n",
                                       "opened", "session", "\"blue\"", "count", "\\u00"};
  sessions_.open(key_, "blue", "data");
  for (int i = 0; i < 200; ++i) {
    Stream stream = service_.dial();
    if (random.below(2) == 0) stream.send("{\"type\":\"hello\",\"token\":\"secret\"}\n");
    std::string bytes;
    const auto size = random.below(2'000);
    while (bytes.size() < size) {
      if (random.below(3) == 0) {
        bytes += static_cast<char>(random.below(256));
      } else {
        bytes += words[random.below(words.size())];
      }
    }
    stream.send(bytes + "\n");
    stream.end_sending();
    while (!stream.receive_line().empty()) {
    }
  }
  Stream app = connect();
  EXPECT_EQ(app.receive_line(), R"({"type":"open","session":"blue","data":"ZGF0YQ=="})");
}

TEST(SessionProtocol, DataAreWrittenInBase64) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64(std::string("\xff\xfe\x00", 3)), "//4A");
}

TEST(SessionProtocol, EveryLineCanBeRead) {
  for (const std::string& line :
       {open_line("a\"\n", "x"), close_line("\\", 1500ms), error_line("\xff \t"),
        welcome_line(testing::instance(1)), pong_line()}) {
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_TRUE(codec::read_json(line)) << line;
  }
  EXPECT_EQ(close_line("a", 1500ms), "{\"type\":\"close\",\"session\":\"a\",\"graceMs\":1500}\n");
}

}  // namespace
}  // namespace berth::session
