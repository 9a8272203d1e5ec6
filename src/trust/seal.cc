#include "trust/seal.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>

#include "base/check.h"
#include "trust/openssl.h"

namespace berth::trust {

std::string seal(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const unsigned char* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   bytes.size(), digest.data(), &size);
  CHECK(done != nullptr, "OpenSSL has no HMAC");
  return to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

bool is_sealed(std::string_view key, std::string_view bytes, std::string_view given) {
  const std::string right = seal(key, bytes);
  return given.size() == right.size() &&
         CRYPTO_memcmp(given.data(), right.data(), right.size()) == 0;
}

std::string draw_name() {
  constexpr std::string_view kSigns = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<unsigned char, 12> bytes{};
  CHECK(RAND_bytes(bytes.data(), bytes.size()) == 1, "there is randomness");
  std::string name;
  for (const unsigned char byte : bytes) name += kSigns[byte % kSigns.size()];
  return name;
}

}  // namespace berth::trust
