#include "trust/certificate.h"

#include <gtest/gtest.h>

#include "trust/token.h"

namespace berth::trust {
namespace {

using std::chrono::hours;

const WallTime kNow = std::chrono::system_clock::from_time_t(1'800'000'000);
constexpr hours kYear{365 * 24};

const Authority& authority() {
  static const Authority made = Authority::make(kNow).value();
  return made;
}

std::string signed_for(const Identity& identity, const std::vector<std::string>& hosts = {}) {
  const auto certificate =
      authority().sign(make_request(make_key()).value(), identity, kYear, kNow, hosts);
  EXPECT_TRUE(certificate) << certificate.error().message;
  return certificate.value_or("");
}

TEST(Identity, IsRoleAndName) {
  EXPECT_EQ(to_string(Identity{Role::Node, "n1"}), "node/n1");
  EXPECT_EQ(parse_identity("node/n1"), (Identity{Role::Node, "n1"}));
  EXPECT_EQ(parse_identity("admin/alice.b-c_d"), (Identity{Role::Admin, "alice.b-c_d"}));
}

TEST(Identity, OfAClientHasNamespaces) {
  const Identity lobby{Role::Client, "lobby", {"games", "chat"}};
  EXPECT_EQ(to_string(lobby), "client/lobby/games,chat");
  EXPECT_EQ(parse_identity("client/lobby/games,chat"), lobby);
  for (const char* text : {"client/lobby", "client/lobby/", "client/lobby/a,", "client/lobby/a/b",
                           "client/lobby/,a", "admin/kim/games"}) {
    EXPECT_EQ(parse_identity(text), std::nullopt) << text;
  }
  EXPECT_EQ(look_at(signed_for(lobby)).value().common_name, "client/lobby/games,chat");
}

TEST(Identity, ThatIsNoneIsNotGuessed) {
  using namespace std::string_view_literals;
  for (const auto text :
       {""sv, "node"sv, "node/"sv, "/n1"sv, "root/n1"sv, "Node/n1"sv, "node/a/b"sv, "node/a b"sv,
        "node/a\0"sv, "node/-a"sv, "node/ä"sv, " node/a"sv}) {
    EXPECT_EQ(parse_identity(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_identity("node/" + std::string(254, 'a')), std::nullopt);
}

TEST(Authority, SignsForAnIdentity) {
  const std::string certificate = signed_for({Role::Node, "n1"});
  const CertificateView view = look_at(certificate).value();
  EXPECT_EQ(view.common_name, "node/n1");
  EXPECT_EQ(view.not_before, kNow - hours(24));
  EXPECT_EQ(view.not_after, kNow + kYear);
  EXPECT_EQ(view.fingerprint.size(), 64U);
  EXPECT_EQ(verify(certificate, authority().pem().certificate, kNow).value(),
            (Identity{Role::Node, "n1"}));
}

TEST(Authority, SignsForNamesLongerThanTheTablesOfX520) {
  const Identity identity{Role::Node, std::string(253, 'n')};
  EXPECT_EQ(verify(signed_for(identity), authority().pem().certificate, kNow).value(), identity);
}

TEST(Authority, RefusesNamesThatWouldBeAnotherIdentity) {
  const std::string request = make_request(make_key()).value();
  for (const std::string name : {"", "a/b", "a b", "-a", "a\n", "../a"}) {
    const auto refused = authority().sign(request, {Role::Node, name}, kYear, kNow);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Code::InvalidInput);
  }
}

TEST(Authority, LivesForThirtyYears) {
  const CertificateView view = look_at(authority().pem().certificate).value();
  EXPECT_EQ(view.not_after, kNow + 30 * kYear);
  EXPECT_EQ(view.fingerprint, authority().fingerprint());
}

TEST(Authority, IsTheSameAfterLoading) {
  const Authority loaded = Authority::load(authority().pem()).value();
  EXPECT_EQ(loaded.fingerprint(), authority().fingerprint());
  const auto certificate =
      loaded.sign(make_request(make_key()).value(), {Role::Viewer, "bob"}, kYear, kNow);
  EXPECT_TRUE(verify(certificate.value(), authority().pem().certificate, kNow));
}

TEST(Authority, IsNotLoadedFromAnotherKeyOrAnotherCertificate) {
  EXPECT_FALSE(Authority::load({make_key(), authority().pem().certificate}));
  const std::string key = make_key();
  const auto certificate =
      authority().sign(make_request(key).value(), {Role::Admin, "a"}, kYear, kNow);
  const auto refused = Authority::load({key, certificate.value()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the certificate is not one of an authority");
}

TEST(Authority, TakesNoDamagedRequest) {
  std::string request = make_request(make_key()).value();
  EXPECT_FALSE(authority().sign("", {Role::Node, "n"}, kYear, kNow));
  EXPECT_FALSE(authority().sign("garbage", {Role::Node, "n"}, kYear, kNow));
  request[request.size() / 2] = request[request.size() / 2] == 'A' ? 'B' : 'A';
  const auto refused = authority().sign(request, {Role::Node, "n"}, kYear, kNow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::InvalidInput);
}

TEST(Authority, PutsHostsIntoServersOnly) {
  const auto request = make_request(make_key()).value();
  const Identity server{Role::Server, "berthd"};
  for (const std::string host : {"edge.example.org", "10.0.0.1", "::1", "fe80::1"}) {
    EXPECT_TRUE(authority().sign(request, server, kYear, kNow, {host})) << host;
  }
  for (const std::string host : {"", "a b", "a,DNS:evil", "*.example.org", "10.0.0.1/8"}) {
    EXPECT_FALSE(authority().sign(request, server, kYear, kNow, {host})) << host;
  }
}

TEST(Verify, RefusesOtherAuthoritiesAndOtherTimes) {
  const std::string certificate = signed_for({Role::Node, "n1"});
  const Authority other = Authority::make(kNow).value();
  const std::string& ours = authority().pem().certificate;
  EXPECT_FALSE(verify(certificate, other.pem().certificate, kNow));
  EXPECT_TRUE(verify(certificate, ours, kNow - hours(23)));
  EXPECT_FALSE(verify(certificate, ours, kNow - hours(25)));
  EXPECT_TRUE(verify(certificate, ours, kNow + kYear - hours(1)));
  const auto expired = verify(certificate, ours, kNow + kYear + hours(1));
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().message,
            "the certificate is not to be trusted: certificate has expired");
}

TEST(LookAt, SaysThatBytesAreNoCertificate) {
  for (const std::string& bytes :
       {std::string(), std::string("garbage"), make_key(), std::string(2 << 20, 'x')}) {
    const auto view = look_at(bytes);
    ASSERT_FALSE(view);
    EXPECT_EQ(view.error().code, Code::InvalidInput);
  }
  EXPECT_FALSE(make_request("garbage"));
  EXPECT_FALSE(check_pair({make_key(), signed_for({Role::Node, "n1"})}));
}

TEST(WantsRenewal, WhenLessThanAThirdIsLeft) {
  const CertificateView view{.not_before = kNow, .not_after = kNow + hours(300)};
  EXPECT_FALSE(wants_renewal(view, kNow));
  EXPECT_FALSE(wants_renewal(view, kNow + hours(200)));
  EXPECT_TRUE(wants_renewal(view, kNow + hours(201)));
  EXPECT_TRUE(wants_renewal(view, kNow + hours(1000)));
}

TEST(Tokens, ComeBackAsTheyWere) {
  const Token token = make_token(authority());
  EXPECT_EQ(token.fingerprint, authority().fingerprint());
  EXPECT_EQ(parse_token(to_string(token)).value(), token);
  EXPECT_EQ(parse_token("  " + to_string(token) + "\n").value(), token);
  EXPECT_NE(make_token(authority()).secret, token.secret);
}

TEST(Tokens, ThatAreDamagedAreRefusedWithoutBeingRepeated) {
  const std::string text = to_string(make_token(authority()));
  for (const std::string& damaged :
       {std::string(), std::string("berth1."), std::string("berth2.a.b"), text.substr(0, 60),
        text.substr(0, text.size() - 1), text + "0", "x" + text,
        text.substr(0, 20) + text.substr(21), text.substr(0, text.size() - 1) + "g"}) {
    const auto refused = parse_token(damaged);
    ASSERT_FALSE(refused) << damaged;
    EXPECT_EQ(refused.error().code, Code::InvalidInput);
    EXPECT_EQ(refused.error().message.find(text.substr(10, 20)), std::string::npos);
  }
}

TEST(Tokens, AreKeptAsHashes) {
  const Token token = make_token(authority());
  EXPECT_EQ(hash_of(token), hash_of(parse_token(to_string(token)).value()));
  EXPECT_NE(hash_of(token), hash_of(make_token(authority())));
  EXPECT_EQ(hash_of({"abc", ""}),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace berth::trust
