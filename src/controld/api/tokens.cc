#include <fmt/format.h>

#include <chrono>

#include "codec/rules.h"
#include "controld/api/calls.h"
#include "controld/identity/join_tokens.h"
#include "trust/token.h"

namespace berth::controld::api {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

const Error kNoTrust{Code::Unavailable, "this control plane has no authority: nobody can join"};

Result<void> check_namespaces(trust::Role role, const v1::CreateJoinTokenRequest& request) {
  const bool is_client = role == trust::Role::Client;
  const auto count = static_cast<std::size_t>(request.namespaces_size());
  if (!is_client && count > 0) return invalid_input("only clients are bound to namespaces");
  if (is_client && (count == 0 || count > trust::Identity::kNamespacesMax)) {
    return invalid_input(fmt::format("a client is bound to 1 to {} namespaces: --namespace",
                                     trust::Identity::kNamespacesMax));
  }
  for (const std::string& ns : request.namespaces()) {
    if (const auto flaw = codec::flaw_of(ns, codec::Name{})) {
      return invalid_input(fmt::format("namespace \"{}\": it {}", ns, *flaw));
    }
  }
  return {};
}

Result<JoinGrant> grant_of(const v1::CreateJoinTokenRequest& request, trust::WallTime now) {
  constexpr std::chrono::milliseconds kLongest = 30 * 24h;
  const std::string role_name = request.role().empty() ? "node" : request.role();
  const auto role = trust::parse_role(role_name);
  if (!role || *role == trust::Role::Server) {
    return invalid_input(fmt::format("\"{}\" is no role (node, admin, viewer, client)", role_name));
  }
  TRY(check_namespaces(*role, request));
  if (!request.name().empty()) {
    if (const auto flaw = codec::flaw_of(request.name(), codec::Name{})) {
      return invalid_input(fmt::format("the name {}", *flaw));
    }
  }
  const std::chrono::milliseconds life(request.ttl_ms() == 0 ? 3'600'000 : request.ttl_ms());
  if (life <= 0ms || life > kLongest) {
    return invalid_input("a token can be valid for 30 days at most");
  }
  return JoinGrant{*role,
                   request.name(),
                   now + life,
                   false,
                   {request.namespaces().begin(), request.namespaces().end()}};
}

std::string line_for(const JoinGrant& grant, const std::string& host, const std::string& token) {
  if (grant.role != trust::Role::Node) return fmt::format("berth login https://{} {}", host, token);
  const std::string name = grant.name.empty() ? "" : " --name " + grant.name;
  return fmt::format("berth-agent join https://{} {}{}", host, token, name);
}

std::int64_t wall_milliseconds(trust::WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

void create_join_token(const Services& services, const v1::CreateJoinTokenRequest& request,
                       const CallPtr& call) {
  if (services.identity == nullptr) return call->fail(kNoTrust);
  const trust::WallTime now = system_clock::now();
  const auto grant = grant_of(request, now);
  if (!grant) return call->fail(grant.error());
  const trust::Token token = trust::make_token(services.identity->authority());
  v1::JoinToken answer;
  answer.set_token(trust::to_string(token));
  answer.set_line(line_for(*grant, services.endpoints.load()->https, answer.token()));
  answer.set_expires_ms(wall_milliseconds(grant->expires));
  store_token(services.loop, token, *grant, now, [call, answer](const Result<void>& stored) {
    stored ? call->answer(answer_of(answer)) : call->fail(stored.error());
  });
}

// The token is taken before anything is signed: it cannot be used twice, whatever happens.
void join(const Services& services, const v1::JoinRequest& request, const CallPtr& call) {
  if (services.identity == nullptr) return call->fail(kNoTrust);
  const auto token = trust::parse_token(request.token());
  if (!token) return call->fail(token.error());
  const trust::WallTime now = system_clock::now();
  const auto sign = [&services, request, call, now](const trust::Identity& identity) {
    const trust::Authority& authority = services.identity->authority();
    const auto certificate =
        authority.sign(request.request(), identity, services.identity->validity(), now);
    if (!certificate) return call->fail(certificate.error());
    v1::JoinReply reply;
    reply.set_certificate(*certificate);
    reply.set_authority(authority.pem().certificate);
    reply.set_link(services.endpoints.load()->grpc);
    call->answer(answer_of(std::move(reply)));
  };
  take_token(services.loop, *token, request.name(), now,
             [&services, call, sign](const Result<trust::Identity>& identity) {
               if (!identity) return call->fail(identity.error());
               work(services, call, [sign, identity = *identity] { sign(identity); });
             });
}

void get_version(const Services& services, const v1::GetVersionRequest&, const CallPtr& call) {
  v1::Version version;
  version.set_version(services.version);
  call->answer(answer_of(std::move(version)));
}

}  // namespace berth::controld::api
