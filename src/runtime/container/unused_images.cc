#include "runtime/container/unused_images.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>

#include "codec/json_parts.h"
#include "codec/json_reader.h"
#include "runtime/container/image_cache.h"
#include "runtime/files/run_directory.h"
#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kConfigBytesMax = 4 << 20;
constexpr std::string_view kPlacePrefix = "sha256-";
constexpr std::string_view kGonePrefix = ".gone-";

// nullopt: it is no image, but a layout of somebody, say.
std::optional<std::string> digest_at(const fs::path& place) {
  const std::string name = place.filename();
  const bool is_place =
      name.starts_with(kPlacePrefix) && name.size() == kPlacePrefix.size() + 64 &&
      name.find_first_not_of("0123456789abcdef", kPlacePrefix.size()) == std::string::npos;
  if (!is_place) return std::nullopt;
  return "sha256:" + name.substr(kPlacePrefix.size());
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  return entries;
}

std::set<std::string> used_by_runs(const fs::path& state_dir) {
  std::set<std::string> digests;
  for (const RunDirectory& run : RunDirectory::all(state_dir)) {
    const auto text = run.read("config.json", kConfigBytesMax);
    const auto config = text ? codec::read_json(*text) : Result<codec::Tree>(not_found("none"));
    if (!config) continue;
    const fs::path rootfs = codec::json::text_at(*config, {"root", "path"});
    if (auto digest = digest_at(rootfs.parent_path())) digests.insert(*std::move(digest));
  }
  return digests;
}

std::set<std::string> needed(const MachineConfig& machine, const std::set<std::string>& wanted) {
  std::set<std::string> digests = used_by_runs(machine.state_dir);
  const ImageCache images({.directory = image_directory(machine.state_dir),
                           .layout_dir = machine.image_dir,
                           .owner = {}});
  for (const std::string& reference : wanted) {
    if (auto digest = images.digest_of(reference)) digests.insert(*std::move(digest));
  }
  return digests;
}

struct Unused {
  fs::file_time_type used_at;
  std::string digest;
  Bytes size;
};

// The longest unused first. What is needed counts as used now, and so does what was used while the
// clock was ahead.
std::vector<Unused> unused_in(const fs::path& images, const std::set<std::string>& needed) {
  std::vector<Unused> unused;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::path& entry : entries_of(images)) {
    const auto digest = digest_at(entry);
    if (!digest) continue;
    std::error_code error;
    const auto used_at = fs::last_write_time(entry, error);
    if (needed.contains(*digest) || used_at > now) {
      fs::last_write_time(entry, now, error);
      continue;
    }
    if (!error) unused.push_back({used_at, *digest, size_of_image(images, *digest)});
  }
  std::sort(unused.begin(), unused.end(), [](const Unused& one, const Unused& other) {
    return std::tie(one.used_at, one.digest) < std::tie(other.used_at, other.digest);
  });
  return unused;
}

bool is_short_of_room(const fs::path& images, std::int64_t free_percent_min) {
  std::error_code error;
  const fs::space_info space = fs::space(images, error);
  if (error || space.capacity == 0) return false;
  const double free = 100.0 * static_cast<double>(space.available);
  return free < static_cast<double>(free_percent_min) * static_cast<double>(space.capacity);
}

void forget_references_to(const fs::path& images, const std::string& digest) {
  for (const fs::path& note : entries_of(images / "pulled")) {
    const auto meant = shim::read_file(AT_FDCWD, note.c_str(), 256);
    std::error_code ignored;
    if (meant == digest) fs::remove(note, ignored);
  }
}

// Renamed first: from then on nobody finds it, whole or in part.
bool remove(const fs::path& images, const std::string& digest) {
  const fs::path place = place_of_image(images, digest);
  const fs::path gone = images / (std::string(kGonePrefix) + place.filename().string());
  std::error_code error;
  fs::rename(place, gone, error);
  if (error) return false;
  forget_references_to(images, digest);
  fs::remove(size_file_of_image(images, digest), error);
  fs::remove_all(gone, error);
  return true;
}

void sweep(const fs::path& images) {
  for (const fs::path& entry : entries_of(images)) {
    std::error_code ignored;
    if (entry.filename().string().starts_with(kGonePrefix)) fs::remove_all(entry, ignored);
  }
}

}  // namespace

std::vector<RemovedImage> remove_unused_images(const MachineConfig& machine,
                                               const std::set<std::string>& wanted) {
  const fs::path images = image_directory(machine.state_dir);
  sweep(images);
  const std::vector<Unused> unused = unused_in(images, needed(machine, wanted));
  Bytes total;
  for (const Unused& one : unused) total += one.size;
  const auto spared_since = fs::file_time_type::clock::now() - machine.images.spared;
  std::vector<RemovedImage> removed;
  for (const Unused& one : unused) {
    const bool is_too_much = total > machine.images.unused_max ||
                             is_short_of_room(images, machine.images.free_percent_min);
    if (!is_too_much || one.used_at > spared_since) break;
    if (!remove(images, one.digest)) continue;
    total -= one.size;
    removed.push_back({one.digest, one.size});
  }
  return removed;
}

}  // namespace berth::runtime
