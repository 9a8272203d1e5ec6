#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Who is who: keys, certificates and the authority that berthd makes for itself.
namespace berth::trust {

enum class Role { Admin, Viewer, Client, Node, Server };

std::string_view to_string(Role role);  // "admin", "viewer", "client", "node", "server"
std::optional<Role> parse_role(std::string_view text);

// Whom a certificate speaks for. Its common name is "role/name", of a client
// "client/name/games,chat".
struct Identity {
  static constexpr std::size_t kNamespacesMax = 16;

  Role role = Role::Viewer;
  std::string name;
  std::vector<std::string> namespaces = {};  // of a client: where it may use sessions; at least one

  friend bool operator==(const Identity&, const Identity&) = default;
};

std::string to_string(const Identity& identity);
std::optional<Identity> parse_identity(std::string_view common_name);

using WallTime = std::chrono::system_clock::time_point;

struct KeyAndCertificate {
  std::string key;          // PEM
  std::string certificate;  // PEM

  friend bool operator==(const KeyAndCertificate&, const KeyAndCertificate&) = default;
};

std::string make_key();  // PEM, P-256

// A PEM certificate request for the key; who it is for is decided by whoever signs.
Result<std::string> make_request(const std::string& key_pem);

// What a certificate says. The error of bytes that are none is InvalidInput.
struct CertificateView {
  std::string common_name;
  WallTime not_before;
  WallTime not_after;
  std::string fingerprint;  // SHA-256 of the DER, hex
};
Result<CertificateView> look_at(const std::string& certificate_pem);

// Whom the certificate speaks for, if the authority signed it and it is valid at that time.
Result<Identity> verify(const std::string& certificate_pem, const std::string& authority_pem,
                        WallTime now);

// Whether the key is the one that the certificate is for.
Result<void> check_pair(const KeyAndCertificate& pair);

// Whether less than a third of its life is left.
bool wants_renewal(const CertificateView& certificate, WallTime now);

// Signs for a unit. Its certificate is valid for 30 years, what it signs for `validity`; each from
// a day before now, so that a clock that is a little late does no harm.
class Authority {
 public:
  static Result<Authority> make(WallTime now);
  static Result<Authority> load(const KeyAndCertificate& pem);

  const KeyAndCertificate& pem() const { return pem_; }
  const std::string& fingerprint() const { return fingerprint_; }

  // `hosts`: DNS names and IP addresses of a server, beside "berthd", which every server has.
  Result<std::string> sign(const std::string& request_pem, const Identity& identity,
                           std::chrono::hours validity, WallTime now,
                           const std::vector<std::string>& hosts = {}) const;

 private:
  Authority(KeyAndCertificate pem, std::string fingerprint);

  KeyAndCertificate pem_;
  std::string fingerprint_;
};

}  // namespace berth::trust
