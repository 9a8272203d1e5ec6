#include "codec/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "berth/v1/agent.pb.h"
#include "berth/v1/api.pb.h"

namespace berth::codec {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMessagesOfEach = 20;

// Fills messages of any form, some fields with what is hard to write.
class Filler {
 public:
  explicit Filler(std::uint64_t seed) : random_(seed) {}

  void fill(Message& message, int depth) {
    if (message.GetDescriptor()->full_name() == "google.protobuf.Struct") {
      return fill_struct(static_cast<google::protobuf::Struct&>(message), depth);
    }
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      if (random_.below(3) == 0) continue;
      const int count = field.is_repeated() ? static_cast<int>(random_.below(4)) : 1;
      for (int k = 0; k < count; ++k) put(message, field, depth);
    }
  }

 private:
  std::string text() {
    constexpr const char* kTexts[] = {
        "",          "plain", "\"quoted\\\"", "two\nlines\t", "\x01", "\xC3\xA9 \xE2\x82\xAC",
        "</script>", "7"};
    return kTexts[random_.below(std::size(kTexts))];
  }
  std::int64_t number() { return static_cast<std::int64_t>(random_.next()) >> random_.below(64); }

  void put(Message& message, const FieldDescriptor& field, int depth) {
    const auto* reflection = message.GetReflection();
    const bool many = field.is_repeated();
    switch (field.cpp_type()) {
#define PUT(TYPE, NAME, VALUE)                             \
  case FieldDescriptor::CPPTYPE_##TYPE:                    \
    many ? reflection->Add##NAME(&message, &field, VALUE)  \
         : reflection->Set##NAME(&message, &field, VALUE); \
    return
      PUT(INT32, Int32, static_cast<std::int32_t>(number()));
      PUT(UINT32, UInt32, static_cast<std::uint32_t>(number()));
      PUT(INT64, Int64, number());
      PUT(UINT64, UInt64, static_cast<std::uint64_t>(number()));
      PUT(DOUBLE, Double, static_cast<double>(number()) / 8);
      PUT(FLOAT, Float, 0.5f);
      PUT(BOOL, Bool, random_.below(2) == 0);
      PUT(STRING, String, text());
#undef PUT
      case FieldDescriptor::CPPTYPE_ENUM: {
        const int count = field.enum_type()->value_count();
        const auto* value = field.enum_type()->value(
            static_cast<int>(random_.below(static_cast<std::uint64_t>(count))));
        many ? reflection->AddEnum(&message, &field, value)
             : reflection->SetEnum(&message, &field, value);
        return;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth == 0 && !field.is_map()) return;
        fill(*(many ? reflection->AddMessage(&message, &field)
                    : reflection->MutableMessage(&message, &field)),
             depth - 1);
    }
  }

  void fill_struct(google::protobuf::Struct& object, int depth) {
    auto& fields = *object.mutable_fields();
    fields["text"].set_string_value(text());
    fields["number"].set_number_value(static_cast<double>(number() >> 12) / 4);
    fields["truth"].set_bool_value(random_.below(2) == 0);
    fields["nothing"].set_null_value(google::protobuf::NULL_VALUE);
    auto& list = *fields["list"].mutable_list_value();
    for (auto i = random_.below(3); i > 0; --i) list.add_values()->set_string_value(text());
    if (depth > 0) fill_struct(*fields["inside"].mutable_struct_value(), depth - 1);
  }

  Random random_;
};

std::string as_protobuf_writes(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &json, options).ok());
  return json;
}

void compare(const Message& message) {
  const std::string json = message_json(message);
  ASSERT_EQ(nlohmann::json::parse(json), nlohmann::json::parse(as_protobuf_writes(message)))
      << message.GetTypeName() << "\n"
      << message.DebugString();
  const std::unique_ptr<Message> read(message.New());
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, read.get()).ok()) << json;
}

TEST(MessageJson, SaysWhatProtobufsOwnWriterSays) {
  Filler filler(1);
  int compared = 0;
  for (const auto* file : {v1::ApplyEvent::descriptor()->file(), v1::Report::descriptor()->file(),
                           v1::Instance::descriptor()->file()}) {
    for (int i = 0; i < file->message_type_count(); ++i) {
      const Message* form = google::protobuf::MessageFactory::generated_factory()->GetPrototype(
          file->message_type(i));
      for (int k = 0; k < kMessagesOfEach; ++k) {
        const std::unique_ptr<Message> message(form->New());
        if (k > 0) filler.fill(*message, 3);
        compare(*message);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(MessageJson, KeysOfMapsAreInTheirOrder) {
  google::protobuf::Struct object;
  for (const char* name : {"c", "a", "b"}) (*object.mutable_fields())[name].set_bool_value(true);
  EXPECT_EQ(message_json(object), R"({"a":true,"b":true,"c":true})");
}

}  // namespace
}  // namespace berth::codec
