#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/result.h"
#include "runtime/shim/launch.h"

// A directory and all below it, which belongs to an instance and may hold anything: links are never
// followed, what is no file, directory or link is left out, and no walk is endless.
namespace berth::runtime {

struct TreeLimits {
  std::size_t bytes = 2 << 20;    // of the packed text
  std::size_t entries = 100'000;  // that are looked at
};

// What a walk sees without reading any file.
struct TreeFigures {
  Bytes size;  // of the files
  std::size_t entries = 0;
  std::uint64_t fingerprint = 0;  // changes with names, sizes and times of change
  bool complete = true;           // there was no more than the limits allow

  friend bool operator==(const TreeFigures&, const TreeFigures&) = default;
};

// A directory that is not there is empty.
TreeFigures look_at_tree(const std::filesystem::path& directory, const TreeLimits& limits);

// All of it as one text. The same content gives the same bytes, whatever its times, owners and the
// order on disk. nullopt: it is larger than the limits allow.
Result<std::optional<std::string>> pack_tree(const std::filesystem::path& directory,
                                             const TreeLimits& limits);

// Makes what was packed, in a directory that is empty. Nothing is ever made outside of it, whatever
// the text says.
Result<void> unpack_tree(std::string_view packed, const std::filesystem::path& directory,
                         const std::optional<shim::User>& owner);

// Takes away all that can be, and the directory; also what is a file. It is no error if there is
// nothing. The error says what stays first, or that it was told to give up.
Result<void> remove_tree(const std::filesystem::path& path, const std::stop_token& leaving);

}  // namespace berth::runtime
