#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "store/sqlite/kept_store.h"

namespace berth::shell {

// store::open_or_recover, with the log told of whatever is not as it should be.
Result<store::OpenedStore> open_store(const std::filesystem::path& path,
                                      const std::vector<store::Change>& mark = {});

// The error of a record that cannot be read, with the store and what to do about it.
Error about_store(const std::filesystem::path& path, const Error& error);

}  // namespace berth::shell
