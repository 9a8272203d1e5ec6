#include "trust/digest.h"

#include <array>

#include "base/check.h"
#include "trust/openssl.h"

namespace berth::trust {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  CHECK(done == 1, "OpenSSL has no SHA-256");
  return to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace berth::trust
