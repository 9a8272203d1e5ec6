#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "model/run.h"
#include "runtime/runtime_spec.h"
#include "runtime/shim/launch.h"

// What is kept of runs on the disk: runs/KEY/EPOCH-NUMBER-ATTEMPT/ below the agent's state
// directory.
namespace berth::runtime {

// What a run's directory says of it.
struct RunRecord {
  model::FoundRun found;  // what it was started with is in a file of its own
  RuntimeSpec runtime;    // that started it
  std::string boot;       // of the machine, when it was started
  std::string tag = {};   // of the agent; "": an earlier release has started it

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

std::string encode(const RunRecord& record);
std::optional<RunRecord> decode_run_record(std::string_view bytes);

// A name for a file: no separators, no dots at its beginning, not too long; different texts have
// different names.
std::string file_name_of(std::string_view text);
std::string file_name_of(const model::InstanceKey& key);
std::string file_name_of(const model::RunId& run);

// The runtimes that have started what there is, each once.
std::vector<RuntimeSpec> runtimes_of_runs(const std::filesystem::path& state_dir);

// The tag under which an earlier life of this agent has started what there is; "" if none says.
std::string tag_of_runs(const std::filesystem::path& state_dir);

// Kept until the run is forgotten; the disk is not waited for. A run that is gone needs none.
void keep_pool_note(const std::filesystem::path& state_dir, const model::InstanceKey& key,
                    const model::RunId& run, const model::PoolNote& note);

// Whose runs there are.
std::vector<model::InstanceKey> instances_of_runs(const std::filesystem::path& state_dir);

// What was kept last of the pool instances that run.
std::map<model::InstanceKey, model::PoolNote> pool_notes_of_runs(
    const std::filesystem::path& state_dir);

// Tells the machine's boots apart.
std::string boot_of_machine();

// One run's directory; it may be gone any time.
class RunDirectory {
 public:
  RunDirectory(const std::filesystem::path& state_dir, const model::InstanceKey& key,
               const model::RunId& run);
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  // All that there are.
  static std::vector<RunDirectory> all(const std::filesystem::path& state_dir);
  static std::vector<RunDirectory> of(const std::filesystem::path& state_dir,
                                      const model::InstanceKey& key);

  const std::filesystem::path& path() const { return path_; }

  Result<void> create(const RunRecord& record) const;
  Result<void> write(const char* name, std::string_view content) const;
  std::optional<std::string> read(const char* name, std::size_t limit) const;
  bool has(const char* name) const;
  void erase(const char* name) const;

  std::optional<RunRecord> record() const;
  // What it was started with, and whether it stands still now. nullopt: an earlier release has
  // started it.
  std::optional<model::InstanceSpec> spec() const;
  // Of a pool instance: what was kept last.
  std::optional<model::PoolNote> pool_note() const;
  std::optional<shim::Launch> launch() const;
  std::optional<shim::Ending> ending() const;
  std::optional<pid_t> pid(const char* name) const;
  std::filesystem::file_time_type ended_at() const;

  // Whether its shim lives.
  bool is_supervised() const;

  // Takes it away, unless its shim lives. A shim that is only just starting will not start
  // anything.
  void remove() const;

 private:
  Result<void> write_all(const RunRecord& record) const;

  std::filesystem::path path_;
};

}  // namespace berth::runtime
