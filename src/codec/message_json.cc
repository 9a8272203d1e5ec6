#include "codec/message_json.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/struct.pb.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>

#include "base/check.h"
#include "codec/text.h"

namespace berth::codec {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Struct;
using google::protobuf::Value;

void append_base64(std::string& out, std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out += '"';
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto byte = i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u;
      three = three << 8 | byte;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kDigits[three >> (18 - 6 * k) & 63] : '=';
    }
  }
  out += '"';
}

template <class Number>
void append_integer(std::string& out, Number number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

// Beyond 53 bits a number would not survive every reader.
template <class Number>
void append_long(std::string& out, Number number) {
  out += '"';
  append_integer(out, number);
  out += '"';
}

void append_real(std::string& out, double number) {
  if (std::isfinite(number)) {
    fmt::format_to(std::back_inserter(out), "{}", number);
  } else {
    out += std::isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  }
}

// --- Values without a form of their own.

void append_value(std::string& out, const Value& value);

void append_struct(std::string& out, const Struct& object) {
  std::map<std::string_view, const Value*> ordered;
  for (const auto& [name, value] : object.fields()) ordered.emplace(name, &value);
  out += '{';
  for (const auto& [name, value] : ordered) {
    if (out.back() != '{') out += ',';
    append_json_string(out, name);
    out += ':';
    append_value(out, *value);
  }
  out += '}';
}

void append_values(std::string& out, const google::protobuf::ListValue& list) {
  out += '[';
  for (const Value& value : list.values()) {
    if (out.back() != '[') out += ',';
    append_value(out, value);
  }
  out += ']';
}

void append_value(std::string& out, const Value& value) {
  switch (value.kind_case()) {
    case Value::kNumberValue: return append_real(out, value.number_value());
    case Value::kStringValue: return append_json_string(out, value.string_value());
    case Value::kBoolValue: out += value.bool_value() ? "true" : "false"; return;
    case Value::kStructValue: return append_struct(out, value.struct_value());
    case Value::kListValue: return append_values(out, value.list_value());
    case Value::kNullValue:
    case Value::KIND_NOT_SET: out += "null"; return;
  }
}

// --- Messages.

void append_message(std::string& out, const Message& message);

void append_enumerator(std::string& out, const EnumDescriptor& type, int number) {
  const auto* known = type.FindValueByNumber(number);
  if (known == nullptr) return append_integer(out, number);
  out += '"';
  out += known->name();
  out += '"';
}

// What one value of a field is, wherever it comes from: a field of its own, or one of many.
class FieldWriter {
 public:
  FieldWriter(std::string& out, const Message& message, const FieldDescriptor& field)
      : out_(out), message_(message), reflection_(*message.GetReflection()), field_(field) {}

  void append() {
    if (field_.is_map()) return append_map();
    if (field_.is_repeated()) return append_list();
    append_single();
  }

 private:
  void append_single() {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return append_integer(out_, reflection_.GetInt32(message_, &field_));
      case FieldDescriptor::CPPTYPE_UINT32:
        return append_integer(out_, reflection_.GetUInt32(message_, &field_));
      case FieldDescriptor::CPPTYPE_INT64:
        return append_long(out_, reflection_.GetInt64(message_, &field_));
      case FieldDescriptor::CPPTYPE_UINT64:
        return append_long(out_, reflection_.GetUInt64(message_, &field_));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return append_real(out_, reflection_.GetDouble(message_, &field_));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return append_real(out_, reflection_.GetFloat(message_, &field_));
      case FieldDescriptor::CPPTYPE_BOOL:
        return append_truth(reflection_.GetBool(message_, &field_));
      case FieldDescriptor::CPPTYPE_ENUM:
        return append_enumerator(out_, *field_.enum_type(),
                                 reflection_.GetEnumValue(message_, &field_));
      case FieldDescriptor::CPPTYPE_STRING:
        return append_text(reflection_.GetStringReference(message_, &field_, &scratch_));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return append_message(out_, reflection_.GetMessage(message_, &field_));
    }
  }

  void append_element(int i) {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return append_integer(out_, reflection_.GetRepeatedInt32(message_, &field_, i));
      case FieldDescriptor::CPPTYPE_UINT32:
        return append_integer(out_, reflection_.GetRepeatedUInt32(message_, &field_, i));
      case FieldDescriptor::CPPTYPE_INT64:
        return append_long(out_, reflection_.GetRepeatedInt64(message_, &field_, i));
      case FieldDescriptor::CPPTYPE_UINT64:
        return append_long(out_, reflection_.GetRepeatedUInt64(message_, &field_, i));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return append_real(out_, reflection_.GetRepeatedDouble(message_, &field_, i));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return append_real(out_, reflection_.GetRepeatedFloat(message_, &field_, i));
      case FieldDescriptor::CPPTYPE_BOOL:
        return append_truth(reflection_.GetRepeatedBool(message_, &field_, i));
      case FieldDescriptor::CPPTYPE_ENUM:
        return append_enumerator(out_, *field_.enum_type(),
                                 reflection_.GetRepeatedEnumValue(message_, &field_, i));
      case FieldDescriptor::CPPTYPE_STRING:
        return append_text(reflection_.GetRepeatedStringReference(message_, &field_, i, &scratch_));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return append_message(out_, reflection_.GetRepeatedMessage(message_, &field_, i));
    }
  }

  void append_list() {
    out_ += '[';
    const int size = reflection_.FieldSize(message_, &field_);
    for (int i = 0; i < size; ++i) {
      if (i > 0) out_ += ',';
      append_element(i);
    }
    out_ += ']';
  }

  // Entries of maps are messages with two fields.
  void append_map() {
    const FieldDescriptor& key = *field_.message_type()->map_key();
    const FieldDescriptor& value = *field_.message_type()->map_value();
    std::map<std::string, std::string> entries;
    const int size = reflection_.FieldSize(message_, &field_);
    for (int i = 0; i < size; ++i) {
      const Message& entry = reflection_.GetRepeatedMessage(message_, &field_, i);
      std::string name;
      std::string text;
      FieldWriter(name, entry, key).append();
      FieldWriter(text, entry, value).append();
      entries.insert_or_assign(std::move(name), std::move(text));
    }
    out_ += '{';
    for (const auto& [name, text] : entries) {
      if (out_.back() != '{') out_ += ',';
      const bool is_quoted = name.starts_with('"');
      out_ += is_quoted ? name : '"' + name + '"';
      out_ += ':';
      out_ += text;
    }
    out_ += '}';
  }

  void append_truth(bool truth) { out_ += truth ? "true" : "false"; }

  void append_text(const std::string& text) {
    const bool is_bytes = field_.type() == FieldDescriptor::TYPE_BYTES;
    is_bytes ? append_base64(out_, text) : append_json_string(out_, text);
  }

  std::string& out_;
  const Message& message_;
  const Reflection& reflection_;
  const FieldDescriptor& field_;
  std::string scratch_;
};

bool is_written(const Message& message, const FieldDescriptor& field) {
  if (field.is_repeated() || !field.has_presence()) return true;
  return message.GetReflection()->HasField(message, &field);
}

void append_fields(std::string& out, const Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  out += '{';
  bool is_first = true;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!is_written(message, field)) continue;
    if (!is_first) out += ',';
    is_first = false;
    out += '"';
    out += field.json_name();
    out += "\":";
    FieldWriter(out, message, field).append();
  }
  out += '}';
}

void append_message(std::string& out, const Message& message) {
  const Descriptor* type = message.GetDescriptor();
  if (type == Struct::descriptor()) {
    append_struct(out, static_cast<const Struct&>(message));
  } else if (type == Value::descriptor()) {
    append_value(out, static_cast<const Value&>(message));
  } else if (type == google::protobuf::ListValue::descriptor()) {
    append_values(out, static_cast<const google::protobuf::ListValue&>(message));
  } else {
    append_fields(out, message);
  }
}

}  // namespace

std::string message_json(const Message& message) {
  std::string out;
  append_message(out, message);
  return out;
}

}  // namespace berth::codec
