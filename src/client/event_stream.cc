#include "client/event_stream.h"

#include <utility>

namespace berth::client {
namespace {

// "data: x" and "data:x" say the same.
bool take_field(std::string_view& line, std::string_view name) {
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  return true;
}

}  // namespace

void EventStream::read_line(std::string_view line) {
  if (take_field(line, "data:")) {
    if (has_data_) event_.data += '\n';
    event_.data += line;
    has_data_ = true;
  } else if (take_field(line, "event:")) {
    event_.name = line;
  }
}

Result<bool> EventStream::feed(std::string_view bytes, const Take& take) {
  while (true) {
    const std::size_t end = bytes.find('\n');
    if (rest_.size() + event_.data.size() + bytes.substr(0, end).size() > kEventBytesMax) {
      return Error{Code::Exhausted, "the server sends an event without end"};
    }
    rest_ += bytes.substr(0, end);
    if (end == std::string_view::npos) return true;
    bytes.remove_prefix(end + 1);
    if (rest_.ends_with('\r')) rest_.pop_back();
    const std::string line = std::exchange(rest_, {});
    if (!line.empty()) {
      read_line(line);
      continue;
    }
    const ServerEvent event = std::exchange(event_, {});
    if (std::exchange(has_data_, false) && !TRY(take(event))) return false;
  }
}

}  // namespace berth::client
