#include "runtime/vm/qmp.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "codec/json_parts.h"
#include "codec/json_reader.h"
#include "runtime/shim/launch.h"

namespace berth::runtime {
namespace {

constexpr std::size_t kLineBytesMax = 1 << 20;

Error gone() { return not_found("the emulator has ended"); }

// Paths of sockets are short; that of the directory may not be.
Result<shim::Fd> connect_in(const std::filesystem::path& directory, const char* name) {
  const shim::Fd holder(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  shim::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!holder.is_open() || !socket.is_open()) return gone();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", holder.get(), name);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return gone();
  }
  return socket;
}

}  // namespace

Result<Qmp> Qmp::open(const std::filesystem::path& run_directory, Duration patience) {
  Qmp qmp(TRY(connect_in(run_directory, shim::kOrdersFile)), Clock::now() + patience);
  TRY(qmp.next());  // its greeting
  TRY(qmp.order("qmp_capabilities"));
  return qmp;
}

// Between an order and its answer it may tell what happens.
Result<codec::Tree> Qmp::order(std::string_view command) {
  const std::string line = fmt::format("{{\"execute\": {}}}\n", codec::json::text(command));
  if (::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) return gone();
  for (;;) {
    const codec::Tree answer = TRY(next());
    if (const codec::Tree* returned = codec::json::member(answer, "return")) return *returned;
    if (codec::json::member(answer, "error") == nullptr) continue;
    return Error{Code::Unavailable, codec::json::text_at(answer, {"error", "desc"})};
  }
}

Result<codec::Tree> Qmp::next() {
  for (;;) {
    const std::size_t end = heard_.find('\n');
    if (end != std::string::npos) {
      const std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return codec::read_json(line);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now()).count();
    pollfd source{socket_.get(), POLLIN, 0};
    const int ready =
        ::poll(&source, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Error{Code::Unavailable, "the emulator does not answer"};
    char part[4096];
    const ssize_t got = ::read(socket_.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || heard_.size() > kLineBytesMax) return gone();
    heard_.append(part, static_cast<std::size_t>(got));
  }
}

}  // namespace berth::runtime
