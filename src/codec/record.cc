#include "codec/record.h"

#include <fmt/format.h>

#include "codec/describe_records.h"
#include "codec/json_reader.h"
#include "codec/json_writer.h"
#include "codec/reader.h"

namespace berth::codec {

template <class T>
std::string encode_record(const T& record) {
  std::string out;
  write_json(out, record);
  return out;
}

template <class T>
Result<T> decode_record(std::string_view bytes) {
  const Tree tree = TRY(read_json(bytes));
  Notes notes;
  auto record = initial<T>();
  Reader(Form::Record, notes).read(tree, record, Path());
  if (notes.error_count() == 0) return record;
  const Note note = notes.sorted().front();
  return Error{Code::Damaged,
               fmt::format("{}{}{}", note.path, note.path.empty() ? "" : ": ", note.what)};
}

#define BERTH_RECORD(Type)                                \
  template std::string encode_record(const model::Type&); \
  template Result<model::Type> decode_record(std::string_view);

BERTH_RECORD(Item)
BERTH_RECORD(Deployment)
BERTH_RECORD(NodeConfig)
BERTH_RECORD(EnvOverride)
BERTH_RECORD(Subject)
BERTH_RECORD(NodeRecord)
BERTH_RECORD(InstanceRecord)
BERTH_RECORD(GroupRecord)
BERTH_RECORD(FreedIdRecord)
BERTH_RECORD(NetworkRecord)
BERTH_RECORD(NodeAddressRecord)
BERTH_RECORD(FreedAddressRecord)
BERTH_RECORD(RolloutRecord)
BERTH_RECORD(NodeNetwork)
BERTH_RECORD(CounterRecord)
BERTH_RECORD(WantedRecord)
BERTH_RECORD(CommandNumber)
BERTH_RECORD(InstanceKey)

#undef BERTH_RECORD

}  // namespace berth::codec
