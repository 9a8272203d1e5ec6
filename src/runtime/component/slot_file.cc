#include "runtime/component/slot_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "runtime/component/slot_record.h"
#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

constexpr char kStateFile[] = "state.json";
constexpr std::size_t kStateBytesMax = 1 << 20;

Error file_failure(std::string_view what, const std::filesystem::path& directory) {
  const int error = errno;
  const Code code = error == ENOSPC || error == EDQUOT ? Code::Exhausted : Code::Unavailable;
  return {code, fmt::format("cannot {} {}/{}: {}", what, directory.string(), kStateFile,
                            std::strerror(error))};
}

shim::Fd open_slots(const std::filesystem::path& directory) {
  return shim::Fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

Result<std::optional<SlotState>> load_slots(const std::filesystem::path& directory) {
  const shim::Fd place = open_slots(directory);
  const auto bytes = place.is_open() ? shim::read_file(place.get(), kStateFile, kStateBytesMax)
                                     : std::optional<std::string>();
  if (!bytes && errno == ENOENT) return std::optional<SlotState>();
  if (!bytes) return file_failure("read", directory);
  auto state = decode_slot_state(*bytes);
  if (state) return std::optional(*std::move(state));
  return Error{Code::Damaged,
               fmt::format("{}/{} is damaged ({}); write down there which slot is good, or remove "
                           "it: the slot that `active` points to is kept then",
                           directory.string(), kStateFile, state.error().message)};
}

Result<void> save_slots(const std::filesystem::path& directory, const SlotState& state) {
  const shim::Fd place = open_slots(directory);
  const bool saved = place.is_open() &&
                     shim::write_file(place.get(), kStateFile, encode(state), shim::Durable::Yes);
  if (!saved) return file_failure("write", directory);
  return {};
}

}  // namespace berth::runtime
