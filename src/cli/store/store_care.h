#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/exit_code.h"

// What `berth store` does with the stores in a directory while nobody uses them: that of a control
// plane (berthd.db), of an agent (agent.db), or both. What was done and what is lost is told on
// `out`.
namespace berth::cli {

// OtherError if there is any damage. Nothing is changed.
Result<ExitCode> check_stores(const std::filesystem::path& directory, std::ostream& out);
// The same for one file that is not in use: a backup.
Result<ExitCode> check_file(const std::filesystem::path& file, std::ostream& out);

enum class RepairWith {
  GoodState,  // the newest last good state, if there is any; else what can be read
  Readable,   // what can be read, which may be newer, and may not fit together
};
// What was there is set aside. OtherError if a store cannot be repaired.
Result<ExitCode> repair_stores(const std::filesystem::path& directory, RepairWith with,
                               std::ostream& out);

// Gives up the authority of a unit whose key is lost: berthd makes a new one when it starts.
Result<ExitCode> give_up_authority(const std::filesystem::path& directory, std::ostream& out);

Result<ExitCode> restore_store(const std::filesystem::path& file,
                               const std::filesystem::path& directory, std::ostream& out);

// The bytes of the store in the directory.
Result<std::string> image_of_store(const std::filesystem::path& directory);
// Proves that they are a store before they are a file of that name.
Result<ExitCode> write_backup(const std::string& image, const std::filesystem::path& file,
                              std::ostream& out);

}  // namespace berth::cli
