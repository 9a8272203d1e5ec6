#include "trust/certificate.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "trust/openssl.h"

namespace berth::trust {
namespace {

constexpr std::chrono::hours kClockTolerance{24};
constexpr std::chrono::hours kAuthorityValidity{30 * 365 * 24};
constexpr std::size_t kNameMax = 253;
constexpr std::size_t kHostsMax = 64;
constexpr int kSecurityBitsLeast = 112;  // RSA with 2048 bits

constexpr std::array<std::pair<Role, std::string_view>, 5> kRoles{{
    {Role::Admin, "admin"},
    {Role::Viewer, "viewer"},
    {Role::Client, "client"},
    {Role::Node, "node"},
    {Role::Server, "server"},
}};

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// As names of nodes are in manifests. A '/' or a NUL must never come into a common name.
bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kNameMax || !is_letter_or_digit(text.front())) return false;
  return std::ranges::all_of(
      text, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

Error openssl_error(std::string_view what) {
  return {Code::Internal, fmt::format("{}: {}", what, last_reason())};
}

WallTime to_wall_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

bool set_time(ASN1_TIME* time, WallTime value) {
  return ASN1_TIME_set(time, std::chrono::system_clock::to_time_t(value)) != nullptr;
}

bool set_random_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, of full length
  const Owned<BIGNUM> number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return number != nullptr &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// Given as UTF-8 and not by the table of X.520, whose 64 bytes are too few for names of nodes.
bool set_common_name(X509* certificate, const std::string& name) {
  return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                    V_ASN1_UTF8STRING,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// An IP address, or else a DNS name.
Owned<GENERAL_NAME> to_general_name(const std::string& host) {
  Owned<GENERAL_NAME> name(GENERAL_NAME_new());
  CHECK(name != nullptr, "out of memory");
  if (ASN1_OCTET_STRING* address = a2i_IPADDRESS(host.c_str()); address != nullptr) {
    GENERAL_NAME_set0_value(name.get(), GEN_IPADD, address);
    return name;
  }
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  CHECK(text != nullptr && ASN1_STRING_set(text, host.data(), static_cast<int>(host.size())) == 1,
        "out of memory");
  GENERAL_NAME_set0_value(name.get(), GEN_DNS, text);
  return name;
}

bool add_hosts(X509* certificate, const std::vector<std::string>& hosts) {
  const Owned<GENERAL_NAMES> names(GENERAL_NAMES_new());
  if (names == nullptr) return false;
  for (const std::string& host : hosts) {
    Owned<GENERAL_NAME> name = to_general_name(host);
    if (sk_GENERAL_NAME_push(names.get(), name.get()) <= 0) return false;
    static_cast<void>(name.release());
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

// A certificate for the key that only lacks its name and what it may be used for.
Owned<X509> blank_certificate(EVP_PKEY* key, WallTime now, std::chrono::hours validity) {
  Owned<X509> certificate(X509_new());
  const bool made = certificate != nullptr &&
                    X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                    set_random_serial(certificate.get()) &&
                    set_time(X509_getm_notBefore(certificate.get()), now - kClockTolerance) &&
                    set_time(X509_getm_notAfter(certificate.get()), now + validity) &&
                    X509_set_pubkey(certificate.get(), key) == 1;
  return made ? std::move(certificate) : nullptr;
}

Result<Owned<EVP_PKEY>> checked_key_of(const std::string& request_pem) {
  const Owned<X509_REQ> request = TRY(read_request(request_pem));
  Owned<EVP_PKEY> key(X509_REQ_get_pubkey(request.get()));
  if (key == nullptr) return invalid_input("the request has no key that is understood");
  if (X509_REQ_verify(request.get(), key.get()) != 1) {
    return invalid_input("the request is not signed by its own key");
  }
  if (EVP_PKEY_get_security_bits(key.get()) < kSecurityBitsLeast) {
    return invalid_input("the key of the request is too weak");
  }
  return key;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end + 1)) {
    end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) break;
  }
  return parts;
}

// Those of a client, and nobody else has any.
bool are_namespaces_of(Role role, const std::vector<std::string>& namespaces) {
  if (role != Role::Client) return namespaces.empty();
  return !namespaces.empty() && namespaces.size() <= Identity::kNamespacesMax &&
         std::ranges::all_of(namespaces, [](const std::string& ns) { return is_name(ns); });
}

Result<void> check_identity(const Identity& identity, const std::vector<std::string>& hosts) {
  if (!is_name(identity.name)) {
    return invalid_input(
        "no name for a certificate: letters, digits, '.', '_' and '-', beginning with a letter or "
        "digit");
  }
  if (!are_namespaces_of(identity.role, identity.namespaces)) {
    return invalid_input(fmt::format("a client has 1 to {} namespaces, and nobody else has any",
                                     Identity::kNamespacesMax));
  }
  if (hosts.size() > kHostsMax) return invalid_input("too many hosts for one certificate");
  for (const std::string& host : hosts) {
    in6_addr address;
    if (!is_name(host) && inet_pton(AF_INET6, host.c_str(), &address) != 1) {
      return invalid_input(fmt::format("\"{}\" is neither a DNS name nor an IP address", host));
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(Role role) {
  for (const auto& [value, word] : kRoles) {
    if (value == role) return word;
  }
  CHECK(false, "a role without a name");
}

std::optional<Role> parse_role(std::string_view text) {
  for (const auto& [value, word] : kRoles) {
    if (word == text) return value;
  }
  return std::nullopt;
}

std::string to_string(const Identity& identity) {
  const std::string name = fmt::format("{}/{}", to_string(identity.role), identity.name);
  if (identity.namespaces.empty()) return name;
  return fmt::format("{}/{}", name, fmt::join(identity.namespaces, ","));
}

std::optional<Identity> parse_identity(std::string_view common_name) {
  const std::size_t slash = common_name.find('/');
  if (slash == common_name.npos) return std::nullopt;
  const auto role = parse_role(common_name.substr(0, slash));
  const std::string_view rest = common_name.substr(slash + 1);
  const std::string_view name = rest.substr(0, rest.find('/'));
  if (!role || !is_name(name)) return std::nullopt;
  Identity identity{*role, std::string(name)};
  if (name.size() < rest.size()) identity.namespaces = split(rest.substr(name.size() + 1), ',');
  if (!are_namespaces_of(*role, identity.namespaces)) return std::nullopt;
  return identity;
}

std::string make_key() {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  CHECK(key != nullptr, "a key can always be made");
  return to_pem(key.get());
}

Result<std::string> make_request(const std::string& key_pem) {
  const Owned<EVP_PKEY> key = TRY(read_key(key_pem));
  const Owned<X509_REQ> request(X509_REQ_new());
  if (request == nullptr || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) == 0) {
    return openssl_error("a certificate request cannot be made");
  }
  return to_pem(request.get());
}

Result<CertificateView> look_at(const std::string& certificate_pem) {
  const Owned<X509> certificate = TRY(read_certificate(certificate_pem));
  return CertificateView{.common_name = common_name_of(certificate.get()),
                         .not_before = to_wall_time(X509_get0_notBefore(certificate.get())),
                         .not_after = to_wall_time(X509_get0_notAfter(certificate.get())),
                         .fingerprint = fingerprint_of(certificate.get())};
}

Result<Identity> verify(const std::string& certificate_pem, const std::string& authority_pem,
                        WallTime now) {
  const Owned<X509> certificate = TRY(read_certificate(certificate_pem));
  const Owned<X509> authority = TRY(read_certificate(authority_pem));
  const Owned<X509_STORE> store(X509_STORE_new());
  const Owned<X509_STORE_CTX> context(X509_STORE_CTX_new());
  if (store == nullptr || context == nullptr ||
      X509_STORE_add_cert(store.get(), authority.get()) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr) != 1) {
    return openssl_error("a certificate cannot be verified");
  }
  X509_STORE_CTX_set_time(context.get(), 0, std::chrono::system_clock::to_time_t(now));
  if (X509_verify_cert(context.get()) != 1) {
    const int why = X509_STORE_CTX_get_error(context.get());
    return invalid_input(fmt::format("the certificate is not to be trusted: {}",
                                     X509_verify_cert_error_string(why)));
  }
  const auto identity = parse_identity(common_name_of(certificate.get()));
  if (!identity) return invalid_input("the certificate does not say whom it speaks for");
  return *identity;
}

Result<void> check_pair(const KeyAndCertificate& pair) {
  const Owned<EVP_PKEY> key = TRY(read_key(pair.key));
  const Owned<X509> certificate = TRY(read_certificate(pair.certificate));
  if (X509_check_private_key(certificate.get(), key.get()) == 1) return {};
  last_reason();
  return invalid_input("the key is not the one that the certificate is for");
}

bool wants_renewal(const CertificateView& certificate, WallTime now) {
  const auto life = certificate.not_after - certificate.not_before;
  return certificate.not_after - now < life / 3;
}

Authority::Authority(KeyAndCertificate pem, std::string fingerprint)
    : pem_(std::move(pem)), fingerprint_(std::move(fingerprint)) {}

Result<Authority> Authority::make(WallTime now) {
  const std::string key_pem = make_key();
  const Owned<EVP_PKEY> key = TRY(read_key(key_pem));
  const Owned<X509> certificate = blank_certificate(key.get(), now, kAuthorityValidity);
  if (certificate == nullptr) return openssl_error("an authority cannot be made");
  std::array<unsigned char, 4> random{};
  CHECK(RAND_bytes(random.data(), random.size()) == 1, "there is randomness");
  const std::string_view tag(reinterpret_cast<const char*>(random.data()), random.size());
  X509* self = certificate.get();
  const bool made =
      set_common_name(self, "berth authority " + to_hex(tag)) &&
      X509_set_issuer_name(self, X509_get_subject_name(self)) == 1 &&
      add_extension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(self, self, NID_subject_key_identifier, "hash") &&
      X509_sign(self, key.get(), EVP_sha256()) != 0;
  if (!made) return openssl_error("an authority cannot be made");
  return Authority({key_pem, to_pem(self)}, fingerprint_of(self));
}

Result<Authority> Authority::load(const KeyAndCertificate& pem) {
  TRY(check_pair(pem));
  const Owned<X509> certificate = TRY(read_certificate(pem.certificate));
  if (X509_check_ca(certificate.get()) == 0) {
    return invalid_input("the certificate is not one of an authority");
  }
  return Authority(pem, fingerprint_of(certificate.get()));
}

Result<std::string> Authority::sign(const std::string& request_pem, const Identity& identity,
                                    std::chrono::hours validity, WallTime now,
                                    const std::vector<std::string>& hosts) const {
  TRY(check_identity(identity, hosts));
  const Owned<EVP_PKEY> subject_key = TRY(checked_key_of(request_pem));
  const Owned<EVP_PKEY> own_key = TRY(read_key(pem_.key));
  const Owned<X509> issuer = TRY(read_certificate(pem_.certificate));
  const Owned<X509> certificate = blank_certificate(subject_key.get(), now, validity);
  if (certificate == nullptr) return openssl_error("a certificate cannot be made");

  const bool is_server = identity.role == Role::Server;
  std::vector<std::string> names = {"berthd"};
  names.insert(names.end(), hosts.begin(), hosts.end());
  X509* it = certificate.get();
  const bool made =
      set_common_name(it, to_string(identity)) &&
      X509_set_issuer_name(it, X509_get_subject_name(issuer.get())) == 1 &&
      add_extension(it, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(it, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(it, issuer.get(), NID_ext_key_usage, is_server ? "serverAuth" : "clientAuth") &&
      add_extension(it, issuer.get(), NID_subject_key_identifier, "hash") &&
      add_extension(it, issuer.get(), NID_authority_key_identifier, "keyid") &&
      (!is_server || add_hosts(it, names)) && X509_sign(it, own_key.get(), EVP_sha256()) != 0;
  if (!made) return openssl_error("a certificate cannot be signed");
  return to_pem(it);
}

}  // namespace berth::trust
