#include "agentd/agent_store.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agentd/config.h"
#include "runtime/run_directory.h"
#include "shell/log.h"
#include "store/sqlite/sqlite_store.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;
using shell::LogLevel;
using store::SqliteStore;

// Empty until there is room on the disk. Who uses it has begun with nothing, so that the first
// batch it takes is all that counts: what an earlier store on the same path says is void by then.
class LateStore final : public store::Store {
 public:
  explicit LateStore(fs::path path) : path_(std::move(path)) {}

  Result<void> commit(const std::vector<store::Change>& batch) override {
    if (store_) return store_->commit(batch);
    if (batch.empty()) return {};
    SqliteStore opened = TRY(SqliteStore::open(path_));
    const std::vector<store::Entry> old = TRY(opened.list(""));
    TRY(opened.commit(in_place_of_all(old, batch)));
    store_ = std::move(opened);
    return {};
  }
  Result<std::optional<std::string>> get(std::string_view key) const override {
    if (store_) return store_->get(key);
    return std::optional<std::string>();
  }
  Result<std::vector<store::Entry>> list(std::string_view prefix) const override {
    if (store_) return store_->list(prefix);
    return std::vector<store::Entry>();
  }

 private:
  static std::vector<store::Change> in_place_of_all(const std::vector<store::Entry>& old,
                                                    const std::vector<store::Change>& batch) {
    std::vector<store::Change> changes;
    for (const store::Entry& entry : old) changes.push_back({entry.key, std::nullopt});
    changes.insert(changes.end(), batch.begin(), batch.end());
    return changes;
  }

  const fs::path path_;
  std::optional<SqliteStore> store_;
};

// It can be opened, and all of it can be read.
Result<std::unique_ptr<store::Store>> open_whole(const fs::path& path) {
  SqliteStore opened = TRY(SqliteStore::open(path));
  TRY(opened.list(""));
  return std::make_unique<SqliteStore>(std::move(opened));
}

// One is enough: a disk is not to be filled with them.
void set_aside(const fs::path& path) {
  for (const char* part : {"", "-wal", "-shm", "-journal"}) {
    std::error_code ignored;
    fs::rename(path.string() + part, path.string() + ".damaged" + part, ignored);
  }
}

bool is_missing(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error || size == 0;
}

}  // namespace

Result<AgentStore> open_agent_store(const fs::path& state_dir) {
  const fs::path path = store_file(state_dir);
  AgentStore opened;
  opened.was_lost = is_missing(path) && !runtime::RunDirectory::all(state_dir).empty();
  auto store = open_whole(path);
  if (!store && store.error().code == Code::Damaged) {
    shell::log(LogLevel::Error, "the store is damaged: it is set aside, and what runs is kept",
               {{"why", store.error().message}, {"to", path.string() + ".damaged"}});
    set_aside(path);
    opened.was_lost = true;
    store = open_whole(path);
  } else if (opened.was_lost) {
    shell::log(LogLevel::Error,
               "the store is gone: what runs is kept until the control plane says "
               "what is to run",
               {{"store", path.string()}});
  }
  if (!store && store.error().code == Code::Exhausted) {
    shell::log(LogLevel::Error, "there is no room for the store: nothing new is begun",
               {{"why", store.error().message}});
    opened.was_lost = true;
    opened.store = std::make_unique<LateStore>(path);
    return opened;
  }
  opened.store = TRY(std::move(store));
  return opened;
}

}  // namespace berth::agentd
