#include "agentd/renewal.h"

#include <gtest/gtest.h>

#include <future>

#include "agentd/testing/fakes.h"

namespace berth::agentd {
namespace {

using testing::FakeMachine;
using testing::FakeServer;
using testing::FakeStore;
using testing::RunningAgent;

const trust::Identity kNode{trust::Role::Node, "n1"};

// A unit, and a node of it whose certificate has that long to live.
struct Unit {
  trust::Authority authority = *trust::Authority::make(std::chrono::system_clock::now());
  std::shared_ptr<std::optional<trust::Credentials>> saved =
      std::make_shared<std::optional<trust::Credentials>>();

  std::string sign(const std::string& request, std::chrono::hours validity,
                   const trust::Identity& identity = kNode) const {
    return *authority.sign(request, identity, validity, std::chrono::system_clock::now());
  }

  std::function<void(Config&, Dependencies&)> credentials(std::chrono::hours validity) const {
    return [this, validity](Config&, Dependencies& dependencies) {
      const std::string key = trust::make_key();
      const std::string certificate = sign(*trust::make_request(key), validity);
      dependencies.identity.credentials = {{key, certificate}, authority.pem().certificate};
      dependencies.identity.save = [kept = saved](const trust::Credentials& renewed) {
        *kept = renewed;
        return Result<void>{};
      };
    };
  }
};

TEST(Renewal, AnAgingCertificateIsReplacedSavedAndUsed) {
  FakeMachine machine;
  FakeStore store;
  FakeServer server;
  const Unit unit;
  const RunningAgent agent(machine, store, &server, unit.credentials(std::chrono::hours(1)));
  const auto asked =
      server.wait_for([](const v1::FromAgent& message) { return message.has_renew(); });
  ASSERT_TRUE(asked);
  v1::ToAgent answer;
  answer.mutable_renewed()->set_certificate(
      unit.sign(asked->renew().request(), std::chrono::hours(24 * 90)));
  server.say(answer);
  ASSERT_TRUE(server.wait_for_identity());
  EXPECT_EQ(server.identity()->certificate, answer.renewed().certificate());
  ASSERT_TRUE(*unit.saved);
  EXPECT_EQ((*unit.saved)->own, *server.identity());
  EXPECT_TRUE(trust::check_pair((*unit.saved)->own));
}

// It is asked at the start, with each connection and every hour; the first answer is as good as
// any.
TEST(Renewal, TheFirstAnswerIsTakenHoweverOftenWasAsked) {
  const Unit unit;
  const std::string key = trust::make_key();
  std::promise<trust::KeyAndCertificate> used;
  std::promise<std::string> first_request;
  std::promise<void> asked_again;
  int asked = 0;
  Renewal renewal({{key, unit.sign(*trust::make_request(key), std::chrono::hours(1))}, "authority"},
                  {.send =
                       [&](std::uint64_t, const v1::FromAgent& message) {
                         ++asked;
                         if (asked == 1) first_request.set_value(message.renew().request());
                         if (asked == 2) asked_again.set_value();
                       },
                   .save = [](const trust::Credentials&) { return Result<void>{}; },
                   .use = [&](const trust::KeyAndCertificate& own) { used.set_value(own); },
                   .now = [] { return std::chrono::system_clock::now(); }});
  renewal.connected(1);
  const std::string request = first_request.get_future().get();
  renewal.connected(2);
  asked_again.get_future().wait();
  renewal.renewed(unit.sign(request, std::chrono::hours(24 * 90)));
  auto taken = used.get_future();
  ASSERT_EQ(taken.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_TRUE(trust::check_pair(taken.get()));
}

}  // namespace
}  // namespace berth::agentd
