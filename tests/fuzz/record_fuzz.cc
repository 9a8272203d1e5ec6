#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "codec/record.h"

// Any bytes are answered: by Code::Damaged, or by a record that can be written and read again.
namespace {

using namespace berth;

template <class T>
void check(std::string_view bytes) {
  const auto record = codec::decode_record<T>(bytes);
  if (!record) {
    CHECK(record.error().code == Code::Damaged, "bad bytes are damage");
    return;
  }
  const auto again = codec::decode_record<T>(codec::encode_record(*record));
  CHECK(again.has_value(), "what was written can be read");
  CHECK(*again == *record, "what was read is what was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check<model::Item>(bytes);
  check<model::Deployment>(bytes);
  check<model::NodeConfig>(bytes);
  check<model::NodeRecord>(bytes);
  check<model::InstanceRecord>(bytes);
  check<model::GroupRecord>(bytes);
  check<model::FreedIdRecord>(bytes);
  check<model::CounterRecord>(bytes);
  check<model::WantedRecord>(bytes);
  check<model::CommandNumber>(bytes);
  return 0;
}
