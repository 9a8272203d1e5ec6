#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/failures.h"
#include "client/path.h"
#include "client/testing/canned_server.h"

namespace berth::client {
namespace {

using testing::Canned;
using testing::CannedServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Client client_of(const CannedServer& server) { return Client(UnixSocket{server.socket()}); }

TEST(Client, ReadsAnAnswerAndSkipsWhatItDoesNotKnow) {
  CannedServer server;
  server.answer("GET /v1/nodes",
                R"({"revision":"7","nodes":[{"name":"n1","silentForMs":"12","newer":true}]})");
  const auto nodes = call<v1::Nodes>(client_of(server), {.path = "/v1/nodes"});
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->revision(), 7u);
  EXPECT_EQ(nodes->nodes(0).name(), "n1");
  EXPECT_EQ(nodes->nodes(0).silent_for_ms(), 12);
}

TEST(Client, SendsTheRequestAsJson) {
  CannedServer server;
  server.answer("POST /v1/nodes/n1/drain", R"({"revision":3})");
  v1::DrainRequest request;
  request.set_node("n1");
  request.set_deadline_ms(5000);
  const auto revision = call<v1::Revision>(
      client_of(server), {.method = Method::Post, .path = "/v1/nodes/n1/drain", .body = &request});
  ASSERT_TRUE(revision);
  ASSERT_EQ(server.received().size(), 1u);
  EXPECT_EQ(server.received()[0].body, R"({"node":"n1","deadlineMs":"5000"})");
}

TEST(Client, TakesAnAnswerInManyPieces) {
  CannedServer server;
  std::string text = R"({"nodes":[{"name":"n0"})";
  Canned canned{.pieces = {text}};
  for (int i = 1; i < 2000; ++i) {
    canned.pieces.push_back(R"(,{"name":"n)" + std::to_string(i) + "\"}");
  }
  canned.pieces.push_back("]}");
  server.answer("GET /v1/nodes", canned);
  const auto nodes = call<v1::Nodes>(client_of(server), {.path = "/v1/nodes"});
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->nodes_size(), 2000);
}

TEST(Client, GivesTheServersErrorWithItsCode) {
  CannedServer server;
  server.answer(
      "GET /v1/nodes",
      Canned{.status = 409, .pieces = {R"({"error":{"code":"conflict","message":"m"}})"}});
  const auto nodes = call<v1::Nodes>(client_of(server), {.path = "/v1/nodes"});
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error(), (Error{Code::Conflict, "m"}));
}

TEST(Client, KnowsAServerThatDoesNotSpeakTheApi) {
  CannedServer server;
  server.answer("GET /v1/nodes", Canned{.status = 500, .type = "text/html", .pieces = {"<html>"}});
  server.answer("GET /v1/items", Canned{.pieces = {"[1, 2"}});
  const auto nodes = call<v1::Nodes>(client_of(server), {.path = "/v1/nodes"});
  EXPECT_THAT(nodes.error().message, HasSubstr("HTTP status 500"));
  const auto items = call<v1::Documents>(client_of(server), {.path = "/v1/items"});
  EXPECT_THAT(items.error().message, HasSubstr("cannot be understood"));
}

TEST(Client, SaysThatNobodyIsThereAndWhatToDo) {
  const Client client(UnixSocket{"/nowhere/berthd.sock"});
  const auto nodes = call<v1::Nodes>(client, {.path = "/v1/nodes"});
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().code, Code::Unavailable);
  EXPECT_THAT(nodes.error().message, HasSubstr("/nowhere/berthd.sock: No such file"));
  EXPECT_THAT(nodes.error().message, HasSubstr("Is berthd running?"));
  EXPECT_THAT(nodes.error().message, HasSubstr("--server https://"));
}

TEST(Client, GivesUpOnAServerThatDoesNotAnswer) {
  CannedServer server;
  server.answer("GET /v1/nodes", Canned{.pieces = {"{"}, .hold = true});
  const Client client(UnixSocket{server.socket()}, {.answer_timeout = 50ms});
  const auto nodes = call<v1::Nodes>(client, {.path = "/v1/nodes"});
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().code, Code::Unavailable);
  EXPECT_THAT(nodes.error().message, HasSubstr("no answer in time"));
}

std::vector<std::uint64_t> revisions(const CannedServer& server, Result<void>& ended) {
  std::vector<std::uint64_t> seen;
  ended = stream<v1::Revision>(client_of(server), {.path = "/v1/watch"},
                               [&](const v1::Revision& revision) {
                                 seen.push_back(revision.revision());
                                 return revision.revision() != 3;
                               });
  return seen;
}

TEST(ClientStream, PassesOnEachEventUntilTheServerEnds) {
  CannedServer server;
  server.stream("GET /v1/watch", {R"({"revision":1})", R"({"revision":2})"});
  Result<void> ended;
  EXPECT_THAT(revisions(server, ended), ElementsAre(1, 2));
  EXPECT_TRUE(ended);
}

TEST(ClientStream, EndsWhenTheListenerHasEnough) {
  CannedServer server;
  server.stream("GET /v1/watch", {R"({"revision":3})", R"({"revision":4})"}, true);
  Result<void> ended;
  EXPECT_THAT(revisions(server, ended), ElementsAre(3));
  EXPECT_TRUE(ended);
}

TEST(ClientStream, EndsWhenTheTickHasEnough) {
  CannedServer server;
  server.stream("GET /v1/watch", {R"({"revision":1})"}, true);
  bool seen = false;
  const auto ended = stream<v1::Revision>(
      client_of(server), {.path = "/v1/watch"}, [&](const v1::Revision&) { return seen = true; },
      [&] { return !seen; });
  EXPECT_TRUE(ended);
  EXPECT_TRUE(seen);
}

TEST(ClientStream, GivesTheErrorInsteadOfTheStreamOrInIt) {
  CannedServer server;
  const std::string error = R"({"error":{"code":"exhausted","message":"too slow"}})";
  server.answer("GET /v1/watch", Canned{.status = 429, .pieces = {error}});
  server.answer("GET /v1/watch", Canned{.type = "text/event-stream",
                                        .pieces = {"event: error\ndata: " + error + "\n\n"}});
  for (int i = 0; i < 2; ++i) {
    Result<void> ended;
    EXPECT_TRUE(revisions(server, ended).empty());
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error(), (Error{Code::Exhausted, "too slow"}));
  }
}

TEST(ClientStream, TakesOnePlainAnswerForAStreamOfOne) {
  CannedServer server;
  server.answer("GET /v1/watch", R"({"revision":1})");
  Result<void> ended;
  EXPECT_THAT(revisions(server, ended), ElementsAre(1));
}

TEST(Path, EncodesWhatWouldSeparate) {
  EXPECT_EQ(encoded("web/default/0"), "web%2Fdefault%2F0");
  EXPECT_EQ(encoded("web@1.0.0 ä"), "web@1.0.0%20%C3%A4");
  EXPECT_EQ(with_query("/v1/events", {{"about", "node/n1"}, {"after", ""}, {"limit", "3"}}),
            "/v1/events?about=node%2Fn1&limit=3");
}

TEST(Refusal, ReadsCodesHoweverTheyAreSpelt) {
  for (const char* code : {"InvalidInput", "invalid_input", "invalid input", "INVALID_INPUT"}) {
    const Error error =
        refusal(500, std::string(R"({"error":{"code":")") + code + R"(","message":"m"}})");
    EXPECT_EQ(error, (Error{Code::InvalidInput, "m"})) << code;
  }
  EXPECT_EQ(refusal(404, "{}").code, Code::NotFound);
  EXPECT_EQ(refusal(503, "").code, Code::Unavailable);
}

}  // namespace
}  // namespace berth::client
