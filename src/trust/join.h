#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "trust/token.h"

namespace berth::trust {

struct Joined {
  std::string certificate;  // PEM, for the key that was given
  std::string authority;    // PEM
  std::string link;         // host:port of the agents' link; empty: not said

  friend bool operator==(const Joined&, const Joined&) = default;
};

// Joins a unit with nothing but a token: "https://host:port", or host:port. The server is known by
// the authority in its chain, whose fingerprint is in the token; before that is checked nothing is
// sent, so that the secret is never said to anybody else. Blocks, at most for the timeout (but for
// the resolver of the system, that has its own).
//
// Errors: InvalidInput if the server is not the right one, or refuses (its message is in the
// error: used or expired token); Unavailable if it cannot be reached, or does not answer in time.
Result<Joined> join(const std::string& url_host_port, const Token& token, const std::string& name,
                    const std::string& key_pem, std::chrono::seconds timeout);

}  // namespace berth::trust
