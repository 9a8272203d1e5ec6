#include "runtime/files/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>

#include "codec/record.h"
#include "model/names.h"
#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

constexpr char kRecordFile[] = "run";
constexpr char kSpecFile[] = "spec";
constexpr char kPoolFile[] = "pool";
constexpr std::size_t kPoolBytesMax = 256 << 20;  // the data of all sessions of an instance
constexpr std::size_t kRecordBytesMax = 64 << 10;
constexpr std::size_t kNameBytesMax = 200;

using shim::Fd;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

std::map<std::string_view, std::string_view> lines_of(std::string_view bytes) {
  std::map<std::string_view, std::string_view> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) lines[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return lines;
}

template <class Number>
bool parse_field(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

Error record_failure(std::string_view what, const std::filesystem::path& path) {
  const int error = errno;
  const Code code = error == ENOSPC || error == EDQUOT ? Code::Exhausted : Code::Unavailable;
  return {code, fmt::format("{} {}: {}", what, path.string(), std::strerror(error))};
}

std::vector<std::filesystem::path> visible_entries_of(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (!at->path().filename().string().starts_with(".")) entries.push_back(at->path());
  }
  return entries;
}

}  // namespace

std::string encode(const RunRecord& record) {
  const model::FoundRun& found = record.found;
  const auto line = [](std::string_view name, const auto& value) {
    return fmt::format("{}={}", name, value) + '\0';
  };
  return line("item", found.key.item.value()) + line("subject", found.key.subject.value()) +
         line("index", found.key.index) + line("epoch", found.run.generation.epoch) +
         line("number", found.run.generation.number) + line("attempt", found.run.attempt) +
         line("type", model::to_string(found.type)) + line("version", found.version) +
         line("runtime", record.runtime.id.value()) +
         line("runtimeType", model::to_string(record.runtime.type)) +
         line("program", record.runtime.program) + line("boot", record.boot) +
         line("tag", record.tag) + line("complete", 1);
}

std::optional<RunRecord> decode_run_record(std::string_view bytes) {
  auto lines = lines_of(bytes);
  if (!lines.contains("complete")) return std::nullopt;
  const auto type = model::from_string<model::ItemType>(lines["type"]);
  const auto runtime_type = model::from_string<model::RuntimeType>(lines["runtimeType"]);
  RunRecord record{
      .found = {.key = {model::ItemId{lines["item"]}, model::SubjectId{lines["subject"]}},
                .version = std::string(lines["version"])},
      .runtime = {.id = model::RuntimeId{lines["runtime"]},
                  .type = runtime_type.value_or(model::RuntimeType::Process),
                  .program = std::string(lines["program"])},
      .boot = std::string(lines["boot"]),
      .tag = std::string(lines["tag"])};
  model::FoundRun& found = record.found;
  if (!type || !parse_field(lines["index"], found.key.index) ||
      !parse_field(lines["epoch"], found.run.generation.epoch) ||
      !parse_field(lines["number"], found.run.generation.number) ||
      !parse_field(lines["attempt"], found.run.attempt)) {
    return std::nullopt;
  }
  found.type = *type;
  return record;
}

std::string file_name_of(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool keep = is_plain(c) && !(c == '.' && name.empty());
    name += keep ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  if (name.size() <= kNameBytesMax) return name;
  return fmt::format("{}%{:016x}", name.substr(0, kNameBytesMax), hash_of(text));
}

std::string file_name_of(const model::InstanceKey& key) {
  const std::string name = fmt::format("{},{},{}", file_name_of(key.item.value()),
                                       file_name_of(key.subject.value()), key.index);
  if (name.size() <= kNameBytesMax) return name;
  return fmt::format("{}%{:016x},{}", name.substr(0, kNameBytesMax), hash_of(name), key.index);
}

std::string file_name_of(const model::RunId& run) {
  return fmt::format("{}-{}-{}", run.generation.epoch, run.generation.number, run.attempt);
}

std::string boot_of_machine() {
  auto id = shim::read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64);
  if (!id) return "";
  while (!id->empty() && id->back() == '\n') id->pop_back();
  return *id;
}

RunDirectory::RunDirectory(const std::filesystem::path& state_dir, const model::InstanceKey& key,
                           const model::RunId& run)
    : path_(state_dir / "runs" / file_name_of(key) / file_name_of(run)) {}

std::vector<RunDirectory> RunDirectory::all(const std::filesystem::path& state_dir) {
  std::vector<RunDirectory> found;
  for (const auto& key : visible_entries_of(state_dir / "runs")) {
    for (const auto& run : visible_entries_of(key)) found.emplace_back(run);
  }
  return found;
}

std::vector<RuntimeSpec> runtimes_of_runs(const std::filesystem::path& state_dir) {
  std::map<model::RuntimeId, RuntimeSpec> found;
  for (const RunDirectory& directory : RunDirectory::all(state_dir)) {
    const auto record = directory.record();
    if (record) found.emplace(record->runtime.id, record->runtime);
  }
  std::vector<RuntimeSpec> all;
  for (const auto& [id, runtime] : found) all.push_back(runtime);
  return all;
}

std::string tag_of_runs(const std::filesystem::path& state_dir) {
  for (const RunDirectory& directory : RunDirectory::all(state_dir)) {
    const auto record = directory.record();
    if (record && !record->tag.empty()) return record->tag;
  }
  return "";
}

std::vector<model::InstanceKey> instances_of_runs(const std::filesystem::path& state_dir) {
  std::vector<model::InstanceKey> keys;
  for (const RunDirectory& directory : RunDirectory::all(state_dir)) {
    const auto record = directory.record();
    if (record) keys.push_back(record->found.key);
  }
  return keys;
}

void keep_pool_note(const std::filesystem::path& state_dir, const model::InstanceKey& key,
                    const model::RunId& run, const model::PoolNote& note) {
  const RunDirectory directory(state_dir, key, run);
  static_cast<void>(directory.write(kPoolFile, codec::encode_record(note)));
}

std::map<model::InstanceKey, model::PoolNote> pool_notes_of_runs(
    const std::filesystem::path& state_dir) {
  std::map<model::InstanceKey, model::PoolNote> notes;
  for (const RunDirectory& directory : RunDirectory::all(state_dir)) {
    const auto record = directory.is_supervised() ? directory.record() : std::nullopt;
    if (!record || !model::is_pool_instance(record->found.key)) continue;
    if (auto note = directory.pool_note()) notes.emplace(record->found.key, *std::move(note));
  }
  return notes;
}

std::vector<RunDirectory> RunDirectory::of(const std::filesystem::path& state_dir,
                                           const model::InstanceKey& key) {
  std::vector<RunDirectory> found;
  for (const auto& run : visible_entries_of(state_dir / "runs" / file_name_of(key))) {
    found.emplace_back(run);
  }
  return found;
}

// It appears with its record in it, or not at all. Its parent may be taken away meanwhile, as that
// of an earlier run that was the last one.
Result<void> RunDirectory::create(const RunRecord& record) const {
  const RunDirectory fresh(path_.parent_path() / (".new-" + path_.filename().string()));
  std::error_code error;
  for (int tries = 0; tries < 3; ++tries) {
    std::filesystem::create_directories(fresh.path_, error);
    if (error || !fresh.write_all(record)) continue;
    std::filesystem::rename(fresh.path_, path_, error);
    if (!error) return {};
  }
  errno = error ? error.value() : errno;
  return record_failure("cannot make", path_);
}

Result<void> RunDirectory::write_all(const RunRecord& record) const {
  const auto& spec = record.found.spec;
  if (spec) TRY(write(kSpecFile, codec::encode_record(*spec)));
  return write(kRecordFile, encode(record));
}

Result<void> RunDirectory::write(const char* name, std::string_view content) const {
  const Fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() ||
      !shim::write_file(directory.get(), name, content, shim::Durable::No)) {
    return record_failure("cannot write", path_ / name);
  }
  return {};
}

std::optional<std::string> RunDirectory::read(const char* name, std::size_t limit) const {
  return shim::read_file(AT_FDCWD, (path_ / name).c_str(), limit);
}

bool RunDirectory::has(const char* name) const {
  return ::access((path_ / name).c_str(), F_OK) == 0;
}

void RunDirectory::erase(const char* name) const { ::unlink((path_ / name).c_str()); }

std::optional<RunRecord> RunDirectory::record() const {
  const auto bytes = read(kRecordFile, kRecordBytesMax);
  return bytes ? decode_run_record(*bytes) : std::nullopt;
}

std::optional<model::InstanceSpec> RunDirectory::spec() const {
  const auto bytes = read(kSpecFile, shim::kLaunchBytesMax);
  if (!bytes) return std::nullopt;
  auto decoded = codec::decode_record<model::InstanceSpec>(*bytes);
  if (!decoded) return std::nullopt;
  decoded->paused = has(shim::kPausedFile);
  return *std::move(decoded);
}

std::optional<model::PoolNote> RunDirectory::pool_note() const {
  const auto bytes = read(kPoolFile, kPoolBytesMax);
  if (!bytes) return std::nullopt;
  auto decoded = codec::decode_record<model::PoolNote>(*bytes);
  if (!decoded) return std::nullopt;
  return *std::move(decoded);
}

std::optional<shim::Launch> RunDirectory::launch() const {
  const auto bytes = read(shim::kLaunchFile, shim::kLaunchBytesMax);
  return bytes ? shim::decode_launch(*bytes) : std::nullopt;
}

std::optional<shim::Ending> RunDirectory::ending() const {
  const auto bytes = read(shim::kExitFile, kRecordBytesMax * 2);
  return bytes ? shim::decode_ending(*bytes) : std::nullopt;
}

std::optional<pid_t> RunDirectory::pid(const char* name) const {
  const auto text = read(name, 64);
  const auto number = text ? shim::parse_number(*text) : std::nullopt;
  if (!number || *number == 0 || *number > (1 << 30)) return std::nullopt;
  return static_cast<pid_t>(*number);
}

std::filesystem::file_time_type RunDirectory::ended_at() const {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path_ / shim::kExitFile, error);
  return error ? std::filesystem::file_time_type::min() : time;
}

bool RunDirectory::is_supervised() const {
  return shim::is_locked(AT_FDCWD, (path_ / shim::kLockFile).c_str());
}

void RunDirectory::remove() const {
  const Fd lock(::open((path_ / shim::kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.is_open() && shim::lacks_descriptors()) return;  // it may live
  if (lock.is_open() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  erase(shim::kLaunchFile);  // first: without it a shim starts nothing
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (ignored) std::filesystem::remove_all(path_, ignored);  // somebody has written to it meanwhile
  std::filesystem::remove(path_.parent_path(), ignored);     // if it was the last of its instance
}

}  // namespace berth::runtime
