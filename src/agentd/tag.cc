#include "agentd/tag.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "agentd/machine.h"
#include "network/names.h"
#include "runtime/files/run_directory.h"
#include "runtime/shim/files.h"
#include "shell/log.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 8;
constexpr std::size_t kBytesMax = 4096;
constexpr char kOwnerFile[] = "state-directory";  // of a tag's directory: whose it is

bool is_tag(const std::string& text) {
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Without the end of its line; "" if there is none.
std::string line_in(const fs::path& file) {
  const auto text = runtime::shim::read_file(AT_FDCWD, file.c_str(), kBytesMax);
  return text ? text->substr(0, text->find('\n')) : "";
}

bool write_line(const fs::path& file, const std::string& line, runtime::shim::Durable durable) {
  if (line_in(file) == line) return true;
  return runtime::shim::write_file(AT_FDCWD, file.c_str(), line + "\n", durable);
}

fs::path canonical_path(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(path, error);
  return error ? path : found;
}

std::string kept_tag(const fs::path& state_dir) {
  const std::string kept = line_in(tag_file(state_dir));
  return is_tag(kept) ? kept : "";
}

// By the directories that agents have made below /run.
std::string tag_by_owner(const TagPlaces& places) {
  const std::string own = canonical_path(places.state_dir).string();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(places.run_dir, error)) {
    const std::string tag = entry.path().filename().string();
    if (is_tag(tag) && line_in(entry.path() / kOwnerFile) == own) return tag;
  }
  return "";
}

std::string earlier_tag(const TagPlaces& places) {
  const std::string tag = network::earlier_tag_of(places.node, places.state_dir);
  std::error_code error;
  const bool is_used = fs::exists(places.run_dir / tag, error) &&
                       !fs::exists(places.run_dir / tag / kOwnerFile, error);
  return is_used ? tag : "";
}

// Another directory says the same of itself: one of the two was copied.
bool is_of_another(const std::string& tag, const TagPlaces& places) {
  const std::string owner = line_in(places.run_dir / tag / kOwnerFile);
  if (owner.empty() || kept_tag(owner) != tag) return false;
  std::error_code error;
  return !fs::equivalent(owner, places.state_dir, error) && !error;
}

std::string new_tag(const TagPlaces& places) {
  for (;;) {
    const std::string tag = make_boot_id().substr(0, kDigits);
    std::error_code error;
    if (!fs::exists(places.run_dir / tag, error)) return tag;
  }
}

// Who is not root makes nothing that would have to be found by it.
void leave_trace(const TagPlaces& places, const std::string& tag) {
  ::mkdir(places.run_dir.c_str(), 0755);
  const fs::path directory = places.run_dir / tag;
  ::mkdir(directory.c_str(), 0755);
  static_cast<void>(write_line(directory / kOwnerFile, canonical_path(places.state_dir).string(),
                               runtime::shim::Durable::No));
}

}  // namespace

fs::path tag_file(const fs::path& state_dir) { return state_dir / "tag"; }

std::string find_tag(const TagPlaces& places) {
  if (std::string tag = kept_tag(places.state_dir); !tag.empty()) return tag;
  if (std::string tag = runtime::tag_of_runs(places.state_dir); is_tag(tag)) return tag;
  if (std::string tag = tag_by_owner(places); !tag.empty()) return tag;
  return earlier_tag(places);
}

std::string take_tag(const TagPlaces& places) {
  std::string tag = find_tag(places);
  if (tag.empty() || is_of_another(tag, places)) tag = new_tag(places);
  if (!write_line(tag_file(places.state_dir), tag, runtime::shim::Durable::Yes)) {
    shell::log(shell::LogLevel::Warning, "the tag of this agent cannot be written down",
               {{"file", tag_file(places.state_dir).string()}, {"tag", tag}});
  }
  leave_trace(places, tag);
  return tag;
}

}  // namespace berth::agentd
