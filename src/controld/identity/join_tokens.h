#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controld/loop/loop.h"
#include "trust/certificate.h"
#include "trust/token.h"

// Tokens with which others join, once each. The store has only their hashes, under "join-tokens/",
// and so who reads it cannot join. Used and expired ones are kept for a while, to be told apart.
namespace berth::controld {

struct JoinGrant {
  trust::Role role = trust::Role::Node;
  std::string name;  // empty: whoever uses it says
  trust::WallTime expires;
  bool used = false;
  std::vector<std::string> namespaces = {};  // of a client

  friend bool operator==(const JoinGrant&, const JoinGrant&) = default;
};

// The stored form, and back.
std::string encode(const JoinGrant& grant);
Result<JoinGrant> decode_grant(const std::string& text);

// `done` is called from the thread of the loop, when the token is durable.
void store_token(Loop& loop, const trust::Token& token, JoinGrant grant, trust::WallTime now,
                 std::function<void(Result<void>)> done);

// Takes the token, durably, so that nobody can take it again; gives whom it was for. `name`: what
// the one who joins calls itself, if it does.
void take_token(Loop& loop, const trust::Token& token, std::string name, trust::WallTime now,
                std::function<void(Result<trust::Identity>)> done);

}  // namespace berth::controld
