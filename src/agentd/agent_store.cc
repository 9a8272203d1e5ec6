#include "agentd/agent_store.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agentd/config.h"
#include "agentd/persistence.h"
#include "runtime/files/run_directory.h"
#include "shell/log.h"
#include "shell/open_store.h"
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

  Result<void> commit_if(const std::optional<store::Fence>& fence,
                         const std::vector<store::Change>& batch) override {
    if (store_) return store_->commit_if(fence, batch);
    if (fence && fence->value) return Error{Code::Conflict, fence->key + " is not there"};
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
  Result<store::Revision> revision() const override {
    if (store_) return store_->revision();
    return store::Revision{0};
  }
  Result<std::optional<std::vector<store::Commit>>> changes_since(
      store::Revision revision) const override {
    if (store_) return store_->changes_since(revision);
    return std::optional(std::vector<store::Commit>());
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

}  // namespace

Result<AgentStore> open_agent_store(const fs::path& state_dir) {
  const fs::path path = store_file(state_dir);
  auto store = shell::open_store(path, to_changes({agent::WriteDoubt{true}}));
  if (!store && store.error().code == Code::Exhausted) {
    shell::log(LogLevel::Error, "there is no room for the store: nothing new is begun",
               {{"why", store.error().message}});
    return AgentStore{.store = std::make_unique<LateStore>(path), .was_lost = true};
  }
  if (!store) return store.error();
  const bool is_gone = store->origin.kind == store::StoreOrigin::Kind::Fresh &&
                       !runtime::RunDirectory::all(state_dir).empty();
  const bool was_lost = is_gone || store->origin.lost_something();
  if (was_lost) {
    shell::log(
        LogLevel::Error,
        "not all that was told is known: what runs is kept until the control plane says what "
        "is to run",
        {{"store", path.string()}});
  }
  return AgentStore{.store = std::move(store->store), .was_lost = was_lost};
}

}  // namespace berth::agentd
