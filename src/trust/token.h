#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "trust/certificate.h"

namespace berth::trust {

// What is pasted on another machine: "berth1.<secret>.<fingerprint of the authority>". Whoever uses
// it checks the server against the fingerprint before saying the secret.
struct Token {
  std::string secret;       // 32 random bytes, base64url
  std::string fingerprint;  // of the authority: SHA-256, hex

  friend bool operator==(const Token&, const Token&) = default;
};

Token make_token(const Authority& authority);
std::string to_string(const Token& token);
Result<Token> parse_token(std::string_view text);

// What the server keeps of a token: it cannot be used by who reads the store.
std::string hash_of(const Token& token);

}  // namespace berth::trust
