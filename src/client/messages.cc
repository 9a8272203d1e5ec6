#include "client/messages.h"

#include <google/protobuf/util/json_util.h>

#include "base/check.h"

namespace berth::client {

namespace util = google::protobuf::util;

std::string json_of(const google::protobuf::Message& message) {
  std::string text;
  CHECK(util::MessageToJsonString(message, &text).ok(), "our own messages can be written");
  return text;
}

Result<void> read_json(std::string_view text, google::protobuf::Message& message) {
  util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  message.Clear();
  const auto status = util::JsonStringToMessage({text.data(), text.size()}, &message, options);
  if (status.ok()) return {};
  return Error{Code::Internal, "the server's answer cannot be understood: " + status.ToString()};
}

}  // namespace berth::client
