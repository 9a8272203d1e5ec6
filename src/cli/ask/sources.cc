#include "cli/ask/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "codec/yaml_reader.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

// No reader takes more, here or there.
constexpr std::size_t kTextMax = codec::YamlLimits{}.bytes;

Error unreadable(const std::string& name, std::string_view why) {
  return invalid_input(fmt::format("{}: error: {}", name, why));
}

Result<std::string> read_all(const std::string& name, std::istream& in) {
  std::string text;
  std::string piece(64 << 10, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kTextMax) {
      return unreadable(name, fmt::format("is too large: a manifest has {} MiB at most, and can be "
                                          "split into several files",
                                          kTextMax >> 20));
    }
  }
  if (in.bad()) return unreadable(name, "cannot be read to its end");
  if (const auto problem = codec::why_no_text(text)) {
    return unreadable(fmt::format("{}:{}:{}", name, problem->at.line, problem->at.column),
                      problem->what);
  }
  return text;
}

Result<std::string> read_file(const std::string& name) {
  errno = 0;
  std::ifstream in(name, std::ios::binary);
  if (!in) return unreadable(name, std::strerror(errno == 0 ? EIO : errno));
  return read_all(name, in);
}

Result<std::vector<std::string>> yaml_files_in(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string extension = it->path().extension().string();
    std::error_code ignored;
    if (extension != ".yaml" && extension != ".yml") continue;
    if (!it->is_directory(ignored)) names.push_back(it->path().string());
  }
  if (error) return unreadable(directory, error.message());
  if (names.empty()) return unreadable(directory, "no *.yaml or *.yml in this directory");
  std::ranges::sort(names);
  return names;
}

class Reading {
 public:
  explicit Reading(std::istream& in) : in_(in) {}

  Result<void> add(const std::string& name) {
    if (name == "-") return add_stdin();
    std::error_code ignored;
    if (!fs::is_directory(name, ignored)) return add_file(name);
    for (const std::string& file : TRY(yaml_files_in(name))) TRY(add_file(file));
    return {};
  }

  std::vector<codec::SourceFile> take() && { return std::move(files_); }

 private:
  Result<void> add_file(const std::string& name) {
    std::string text = TRY(read_file(name));
    files_.push_back({name, std::move(text)});
    return {};
  }

  Result<void> add_stdin() {
    if (stdin_read_) return unreadable("<stdin>", "can be read only once: give -f - once");
    stdin_read_ = true;
    std::string text = TRY(read_all("<stdin>", in_));
    files_.push_back({"<stdin>", std::move(text)});
    return {};
  }

  std::istream& in_;
  bool stdin_read_ = false;
  std::vector<codec::SourceFile> files_;
};

}  // namespace

Result<std::vector<codec::SourceFile>> read_sources(const std::vector<std::string>& names,
                                                    std::istream& in) {
  Reading reading(in);
  std::string failures;
  for (const std::string& name : names) {
    const Result<void> added = reading.add(name);
    if (!added) failures += (failures.empty() ? "" : "\n") + added.error().message;
  }
  if (!failures.empty()) return invalid_input(std::move(failures));
  return std::move(reading).take();
}

}  // namespace berth::cli
