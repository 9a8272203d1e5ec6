#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "codec/wire.h"

// Any message is answered: by Code::InvalidInput, or by a value that can be written and read again.
namespace {

using namespace berth;

template <class Message>
void check(const std::uint8_t* data, std::size_t size) {
  Message message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return;
  const auto value = codec::from_wire(message);
  if (!value) {
    CHECK(value.error().code == Code::InvalidInput, "bad messages are bad input");
    CHECK(!value.error().message.empty(), "what is wrong is said");
    return;
  }
  const auto again = codec::from_wire(codec::to_wire(*value));
  CHECK(again.has_value(), "what was written can be read");
  CHECK(*again == *value, "what was read is what was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check<v1::Command>(data, size);
  check<v1::Report>(data, size);
  check<v1::PoolCommand>(data, size);
  check<v1::InstanceKey>(data, size);
  return 0;
}
