#pragma once

#include "store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "store/sqlite/kept_store.h"
#include "store/sqlite/store_files.h"
#include "store/store.h"

namespace berth::store {

namespace fs = std::filesystem;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string made = (fs::temp_directory_path() / "sqlite_store_test.XXXXXX").string();
    EXPECT_NE(mkdtemp(made.data()), nullptr);
    path_ = made;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  fs::path operator/(std::string_view name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

inline SqliteStore open_or_die(const fs::path& path) {
  auto store = SqliteStore::open(path);
  EXPECT_TRUE(store) << store.error().message;
  return std::move(*store);
}

inline fs::path wal_of(const fs::path& path) { return log_of(path); }

inline std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void write(const fs::path& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

inline void poke(const fs::path& path, std::size_t at, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at)).put(byte);
}

// While it lives no file can grow: as on a full disk, and nobody needs to be root.
class NoRoom {
 public:
  NoRoom() {
    previous_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit none{1, previous_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoRoom() {
    setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }

 private:
  rlimit previous_{};
  void (*previous_handler_)(int) = nullptr;
};

// The store, whose next commit can be made to fail.
class Unreliable final : public Store {
 public:
  explicit Unreliable(const fs::path& path) : store_(open_or_die(path)) {}

  void fail_next_commit() { fails_ = true; }

  Result<void> commit_if(const std::optional<Fence>& fence,
                         const std::vector<Change>& batch) override {
    if (!std::exchange(fails_, false)) return store_.commit_if(fence, batch);
    const NoRoom no_room;
    return store_.commit_if(fence, batch);
  }
  Result<std::optional<std::string>> get(std::string_view key) const override {
    return store_.get(key);
  }
  Result<std::vector<Entry>> list(std::string_view prefix) const override {
    return store_.list(prefix);
  }
  Result<Revision> revision() const override { return store_.revision(); }
  Result<std::optional<std::vector<Commit>>> changes_since(Revision revision) const override {
    return store_.changes_since(revision);
  }

 private:
  SqliteStore store_;
  bool fails_ = false;
};

// As somebody else would, who knows SQLite.
inline void run_sql(const fs::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

struct Opened {
  Code code = Code::Internal;
  std::string message;
};

inline Opened refusal_of(const fs::path& path) {
  const auto opened = SqliteStore::open(path);
  EXPECT_FALSE(opened);
  return opened ? Opened{} : Opened{opened.error().code, opened.error().message};
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

inline std::vector<Change> many_entries() {
  std::vector<Change> batch;
  for (int i = 0; i < 2000; ++i) {
    batch.push_back(
        {"key/" + std::to_string(i), std::string(100, static_cast<char>('a' + i % 26))});
  }
  return batch;
}

class SmallDisk {
 public:
  SmallDisk() : mounted_(mount("tmpfs", path().c_str(), "tmpfs", 0, "size=1m") == 0) {}
  ~SmallDisk() {
    if (mounted_) umount(path().c_str());
  }

  bool mounted() const { return mounted_; }
  const fs::path& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  bool mounted_;
};

inline std::vector<Change> some_entries() {
  std::vector<Change> batch;
  for (int i = 0; i < 60; ++i) {
    batch.push_back({"key/" + std::to_string(i), "value " + std::to_string(i * i)});
  }
  return batch;
}

}  // namespace berth::store
