#include "trust/token.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "trust/openssl.h"

namespace berth::trust {
namespace {

constexpr std::string_view kPrefix = "berth1.";
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSecretLength = 43;  // in base64url, without padding
constexpr std::size_t kFingerprintLength = 64;

std::string to_base64url(const std::array<unsigned char, kSecretBytes>& bytes) {
  std::array<unsigned char, 64> text{};
  const int size = EVP_EncodeBlock(text.data(), bytes.data(), kSecretBytes);
  std::string encoded(reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(size));
  encoded.erase(encoded.find_last_not_of('=') + 1);
  std::ranges::replace(encoded, '+', '-');
  std::ranges::replace(encoded, '/', '_');
  return encoded;
}

bool consists_of(std::string_view text, std::string_view signs) {
  return text.find_first_not_of(signs) == text.npos;
}

bool is_secret(std::string_view text) {
  return text.size() == kSecretLength &&
         consists_of(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
}

bool is_fingerprint(std::string_view text) {
  return text.size() == kFingerprintLength && consists_of(text, "0123456789abcdef");
}

// Pasted texts come with blanks and line ends around them.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

Token make_token(const Authority& authority) {
  std::array<unsigned char, kSecretBytes> bytes{};
  CHECK(RAND_bytes(bytes.data(), bytes.size()) == 1, "there is randomness");
  return {to_base64url(bytes), authority.fingerprint()};
}

std::string to_string(const Token& token) {
  return std::string(kPrefix) + token.secret + "." + token.fingerprint;
}

// What is wrong is said without the text: a token is a secret, and errors end up in logs.
Result<Token> parse_token(std::string_view text) {
  std::string_view rest = trimmed(text);
  if (!rest.starts_with(kPrefix)) {
    return invalid_input("not a join token: it does not begin with \"berth1.\"");
  }
  rest.remove_prefix(kPrefix.size());
  const std::size_t dot = rest.find('.');
  if (dot == rest.npos) return invalid_input("not a join token: it ends too early");
  const std::string_view secret = rest.substr(0, dot);
  const std::string_view fingerprint = rest.substr(dot + 1);
  if (!is_secret(secret)) return invalid_input("not a join token: its secret is damaged");
  if (!is_fingerprint(fingerprint)) {
    return invalid_input("not a join token: its fingerprint is damaged");
  }
  return Token{std::string(secret), std::string(fingerprint)};
}

std::string hash_of(const Token& token) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  CHECK(EVP_Digest(token.secret.data(), token.secret.size(), digest.data(), &size, EVP_sha256(),
                   nullptr) == 1,
        "a digest is possible");
  return to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace berth::trust
