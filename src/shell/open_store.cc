#include "shell/open_store.h"

#include <fmt/format.h>

#include "shell/log.h"
#include "store/sqlite/store_files.h"

namespace berth::shell {
namespace {

void say_whether_states_are_kept(const Error* why) {
  if (why == nullptr) return log(LogLevel::Info, "last good states of the store are kept again");
  log(LogLevel::Warning, "no last good state of the store can be kept", {{"error", why->message}});
}

}  // namespace

Result<store::OpenedStore> open_store(const std::filesystem::path& path,
                                      const std::vector<store::Change>& mark) {
  auto opened = TRY(store::open_or_recover(path, say_whether_states_are_kept, {}, mark));
  if (opened.origin.lost_something()) {
    log(LogLevel::Error, store::describe(opened.origin), {{"store", path.string()}});
  }
  return opened;
}

Error about_store(const std::filesystem::path& path, const Error& error) {
  if (error.code != Code::Damaged) return error;
  return {error.code, fmt::format("{}: {}. {}", path.string(),
                                  store::without_ways_out(error.message), store::ways_out(path))};
}

}  // namespace berth::shell
