#include "codec/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "codec/describe_pool.h"
#include "codec/describe_records.h"
#include "codec/json_reader.h"
#include "codec/json_writer.h"
#include "codec/reader.h"
#include "model/tables.h"

namespace berth::codec {
namespace {

template <class T>
Result<T> read_line(std::string_view bytes) {
  const Tree tree = TRY(read_json(bytes));
  Notes notes;
  auto record = initial<T>();
  Reader(Form::Record, notes).read(tree, record, Path());
  if (notes.error_count() == 0) return record;
  const Note note = notes.sorted().front();
  return Error{Code::Damaged,
               fmt::format("{}{}{}", note.path, note.path.empty() ? "" : ": ", note.what)};
}

// Cuts off the next line, with its end; nothing if there is none.
std::string_view take_line(std::string_view& bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n') + 1);
  bytes.remove_prefix(line.size());
  return line;
}

}  // namespace

template <class T>
std::string encode_record(const T& record) {
  std::string out;
  write_json(out, record);
  return out;
}

template <class T>
Result<T> decode_record(std::string_view bytes) {
  return read_line<T>(bytes);
}

// A line that people can read, a line with the size, and the bytes of the state as they are.
template <>
std::string encode_record(const model::StateRecord& record) {
  std::string out;
  write_json(out, record);
  out += fmt::format("\n{}\n", record.state.content.size());
  out += record.state.content;
  return out;
}

template <>
Result<model::StateRecord> decode_record(std::string_view bytes) {
  model::StateRecord record = TRY(read_line<model::StateRecord>(take_line(bytes)));
  const std::string_view size = take_line(bytes);
  if (size != std::to_string(bytes.size()) + "\n") {
    return Error{Code::Damaged, "the state has not the size that it should have"};
  }
  record.state.content = bytes;
  return record;
}

// A line that people can read, and for each session a line with the size of its data, and these.
template <>
std::string encode_record(const model::PoolNote& note) {
  std::string out;
  write_json(out, note);
  out += '\n';
  for (const model::KeptSession& kept : note.sessions) {
    out += fmt::format("{}\n", kept.session.data.size());
    out += kept.session.data;
  }
  return out;
}

template <>
Result<model::PoolNote> decode_record(std::string_view bytes) {
  model::PoolNote note = TRY(read_line<model::PoolNote>(take_line(bytes)));
  for (model::KeptSession& kept : note.sessions) {
    const std::string_view line = take_line(bytes);
    const auto size = parse_integer<std::size_t>(line.substr(0, line.find('\n')));
    if (!size || *size > bytes.size()) return Error{Code::Damaged, "the data of a session lack"};
    kept.session.data = bytes.substr(0, *size);
    bytes.remove_prefix(*size);
  }
  if (!bytes.empty()) return Error{Code::Damaged, "there is more than its sessions have"};
  return note;
}

namespace {

template <class... Tables>
constexpr auto codecs_of(const std::tuple<Tables...>&) {
  return std::tuple{std::pair(&encode_record<typename Tables::Record>,
                              &decode_record<typename Tables::Record>)...};
}

}  // namespace

// All that the control plane keeps, and then what only agents do.
[[gnu::used]] const auto kCodecsOfTables = codecs_of(model::kTables);

#define BERTH_RECORD(Type)                                \
  template std::string encode_record(const model::Type&); \
  template Result<model::Type> decode_record(std::string_view);

BERTH_RECORD(NodeNetwork)
BERTH_RECORD(WantedRecord)
BERTH_RECORD(InstanceSpec)
BERTH_RECORD(CommandNumber)
BERTH_RECORD(Receipt)
BERTH_RECORD(InstanceKey)

#undef BERTH_RECORD

}  // namespace berth::codec
