#pragma once

#include <string>

namespace google::protobuf {
class Message;
}

namespace berth::codec {

// A message as JSON, by the mapping of protobuf: 64-bit numbers are texts, fields that have no
// presence are there also where they are as a new message has them. Protobuf's own writer makes a
// tree of everything first, and takes several times as long. Keys of maps and structs are in their
// order.
std::string message_json(const google::protobuf::Message& message);

}  // namespace berth::codec
