#include "controld/identity/join_tokens.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "codec/rules.h"

namespace berth::controld {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPrefix = "join-tokens/";
constexpr auto kRememberedFor = 7 * 24h;  // after it has expired

const Error kCannotStore{Code::Unavailable,
                         "the control plane cannot store anything now; try again"};

std::string key_of(const trust::Token& token) {
  return std::string(kPrefix) + trust::hash_of(token);
}

std::int64_t milliseconds(trust::WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

// Erases what nobody will ask about any more.
Result<std::vector<store::Change>> forget_old(const store::Store& store, trust::WallTime now) {
  std::vector<store::Change> changes;
  for (const store::Entry& entry : TRY(store.list(kPrefix))) {
    const auto grant = decode_grant(entry.value);
    if (grant && now < grant->expires + kRememberedFor) continue;
    changes.push_back({entry.key, std::nullopt});
  }
  return changes;
}

Result<std::string> agreed_name(const JoinGrant& grant, const std::string& name) {
  if (grant.name.empty() && name.empty()) {
    return invalid_input("the token does not say for whom it is: give a name");
  }
  if (!grant.name.empty() && !name.empty() && grant.name != name) {
    return invalid_input(fmt::format("the token is for \"{}\", not for \"{}\"", grant.name, name));
  }
  const std::string& agreed = grant.name.empty() ? name : grant.name;
  if (const auto flaw = codec::flaw_of(agreed, codec::Name{})) {
    return invalid_input(fmt::format("the name {}", *flaw));
  }
  return agreed;
}

struct Taken {
  JoinGrant grant;
  std::string name;
};

Result<Taken> find_grant(const store::Store& store, const trust::Token& token,
                         const std::string& name, trust::WallTime now) {
  const auto stored = TRY(store.get(key_of(token)));
  if (!stored) return not_found("the token is not known here; make one with berth join-token");
  Taken taken{TRY(decode_grant(*stored)), ""};
  if (taken.grant.used) {
    return Error{Code::Conflict, "the token has been used already; each can be used once"};
  }
  if (taken.grant.expires <= now) {
    return Error{Code::Conflict, "the token has expired; make another with berth join-token"};
  }
  taken.name = TRY(agreed_name(taken.grant, name));
  return taken;
}

}  // namespace

// The second form has the namespaces of a client before its name.
std::string encode(const JoinGrant& grant) {
  std::string spaces;
  for (const std::string& ns : grant.namespaces) spaces += ns + " ";
  const std::string counted =
      spaces.empty() ? "" : fmt::format("{} {}", grant.namespaces.size(), spaces);
  return fmt::format("{} {} {} {} {}{}", spaces.empty() ? 1 : 2, trust::to_string(grant.role),
                     milliseconds(grant.expires), grant.used ? "used" : "unused", counted,
                     grant.name);
}

Result<JoinGrant> decode_grant(const std::string& text) {
  std::istringstream in(text);
  int version = 0;
  std::string role;
  std::int64_t expires = 0;
  std::string used;
  in >> version >> role >> expires >> used;
  const auto known_role = trust::parse_role(role);
  const bool is_known_form = version == 1 || version == 2;
  if (!in || !is_known_form || !known_role || (used != "used" && used != "unused")) {
    return Error{Code::Damaged, "a stored join token cannot be read"};
  }
  JoinGrant grant{*known_role, "", trust::WallTime(std::chrono::milliseconds(expires)),
                  used == "used"};
  std::size_t namespaces = 0;
  if (version == 2) in >> namespaces;
  for (std::string ns; grant.namespaces.size() < namespaces && in >> ns;) {
    grant.namespaces.push_back(ns);
  }
  in >> grant.name;
  return grant;
}

void store_token(Loop& loop, const trust::Token& token, JoinGrant grant, trust::WallTime now,
                 std::function<void(Result<void>)> done) {
  const auto make = [token, grant = std::move(grant),
                     now](const store::Store& store) -> Result<std::vector<store::Change>> {
    auto changes = TRY(forget_old(store, now));
    changes.push_back({key_of(token), encode(grant)});
    return changes;
  };
  if (!loop.post(StoreCall{make, done})) done(kCannotStore);
}

void take_token(Loop& loop, const trust::Token& token, std::string name, trust::WallTime now,
                std::function<void(Result<trust::Identity>)> done) {
  const auto identity = std::make_shared<trust::Identity>();
  const auto make = [token, name = std::move(name), now,
                     identity](const store::Store& store) -> Result<std::vector<store::Change>> {
    Taken taken = TRY(find_grant(store, token, name, now));
    *identity = {taken.grant.role, taken.name, taken.grant.namespaces};
    taken.grant.used = true;
    return std::vector<store::Change>{{key_of(token), encode(taken.grant)}};
  };
  const auto committed = [identity, done](Result<void> result) {
    done(result ? Result<trust::Identity>(*identity) : Result<trust::Identity>(result.error()));
  };
  if (!loop.post(StoreCall{make, committed})) done(kCannotStore);
}

}  // namespace berth::controld
