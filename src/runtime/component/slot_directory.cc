#include "runtime/component/slot_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/component/crash_points.h"
#include "runtime/problem.h"
#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

constexpr char kActive[] = "active";
constexpr char kNextActive[] = "active.new";

Error directory_failure(std::string_view what, const std::filesystem::path& path) {
  return {Code::Unavailable,
          fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno))};
}

}  // namespace

Started<void> install_failed(std::string_view what, const std::filesystem::path& path) {
  return problem("InstallFailed", directory_failure(what, path).message);
}

// --- Where it comes from -------------------------------------------------------------------------

Started<Source> SlotDirectory::parse(const model::InstanceSpec& spec) const {
  const std::string* reference = reference_of(spec);
  if (reference == nullptr) return problem("ImageInvalid", "the image has another form");
  auto source = parse_source(*reference, image_dir_);
  if (!source) return problem("ImageInvalid", source.error().message);
  return *std::move(source);
}

Started<Source> SlotDirectory::source_of(const model::InstanceSpec& spec) const {
  auto source = parse(spec);
  if (source && !is_there(*source)) {
    return problem("ImageNotFound",
                   fmt::format("cannot read {}: {}", source->path.string(), std::strerror(errno)));
  }
  return source;
}

// What is pinned need not be read, nor be there at all if it has been installed.
Started<std::string> SlotDirectory::identify(const model::InstanceSpec& spec,
                                             const Patience& patience) {
  const auto source = parse(spec);
  if (!source) return tl::unexpected(source.error());
  if (!source->digest.empty() || !is_there(*source)) return source->digest;
  return digest_of(source->path, patience);
}

// --- The link ------------------------------------------------------------------------------------

std::filesystem::path SlotDirectory::path(Slot slot) const {
  return directory_ / model::to_string(slot);
}

Started<void> SlotDirectory::activate(const Job& job) {
  const auto switched = point_to(job.slot);
  if (switched) return {};
  return problem("ActivationFailed", switched.error().message);
}

Medium::RolledBack SlotDirectory::roll_back(const SlotState& state) {
  const auto restored = restore(state.confirmed);
  if (restored) return {};
  return {Outcome::Failed, restored.error().message};
}

Result<void> SlotDirectory::restore(std::optional<Slot> active) {
  if (find_active() == active) return {};
  return active ? point_to(*active) : point_nowhere();
}

std::optional<Slot> SlotDirectory::find_active() const {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(directory_ / kActive, error);
  return error ? std::nullopt : model::from_string<Slot>(target.string());
}

Result<void> SlotDirectory::point_to(Slot slot) {
  const std::filesystem::path next = directory_ / kNextActive;
  const std::filesystem::path link = directory_ / kActive;
  ::unlink(next.c_str());
  const std::string target(model::to_string(slot));
  if (::symlink(target.c_str(), next.c_str()) != 0) return directory_failure("make", next);
  pass(CrashPoint::LinkMade);
  if (::rename(next.c_str(), link.c_str()) != 0) return directory_failure("replace", link);
  return sync();
}

Result<void> SlotDirectory::point_nowhere() {
  const std::filesystem::path link = directory_ / kActive;
  if (::unlink(link.c_str()) != 0 && errno != ENOENT) return directory_failure("remove", link);
  return sync();
}

Result<void> SlotDirectory::sync() const {
  const shim::Fd itself(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!itself.is_open() || ::fsync(itself.get()) != 0) return directory_failure("sync", directory_);
  return {};
}

void SlotDirectory::discard(Slot slot) { static_cast<void>(clear(slot)); }

Started<void> SlotDirectory::clear(Slot slot) {
  std::error_code error;
  std::filesystem::remove_all(path(slot), error);
  if (!error) return {};
  return problem("InstallFailed",
                 fmt::format("cannot clear {}: {}", path(slot).string(), error.message()));
}

}  // namespace berth::runtime
