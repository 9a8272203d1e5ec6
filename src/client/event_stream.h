#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::client {

struct ServerEvent {
  std::string name;  // of "event: name"; empty: a message
  std::string data;
};

// Takes server-sent events apart as they come, in whatever pieces. Comments (heartbeats) are
// skipped; what is not ended by an empty line is not an event yet.
class EventStream {
 public:
  // Passes on each event that these bytes complete, until one is answered with false. Exhausted: an
  // event without end.
  using Take = std::function<Result<bool>(const ServerEvent&)>;
  Result<bool> feed(std::string_view bytes, const Take& take);

  static constexpr std::size_t kEventBytesMax = std::size_t{64} << 20;

 private:
  void read_line(std::string_view line);

  std::string rest_;  // of a line
  ServerEvent event_;
  bool has_data_ = false;
};

}  // namespace berth::client
