#include "runtime/component/source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "runtime/files/path_beneath.h"
#include "runtime/problem.h"
#include "runtime/supervision/command.h"

namespace berth::runtime {
namespace {

constexpr std::string_view kAlgorithm = "sha256:";
constexpr std::size_t kDigits = 64;

Started<CommandOutcome> run(std::vector<std::string> argv, const std::string& reason,
                            const Patience& patience) {
  auto outcome = run_command(
      argv,
      {.deadline = patience.deadline, .interrupt = patience.interrupt.fd(), .dies_with_us = true});
  if (!outcome) return problem(reason, outcome.error().message);
  if (outcome->code == 0) return *std::move(outcome);
  const std::string words = last_words(outcome->output);
  return problem(reason, fmt::format("{} ended with {}{}{}", argv.front(), outcome->code,
                                     words.empty() ? "" : ": ", words));
}

}  // namespace

Result<Source> parse_source(const std::string& reference, const std::filesystem::path& directory) {
  const std::size_t at = reference.rfind('@');
  const bool is_pinned =
      at != std::string::npos && std::string_view(reference).substr(at + 1).starts_with(kAlgorithm);
  const std::string name = reference.substr(0, is_pinned ? at : std::string::npos);
  Source source;
  source.path = TRY(path_beneath(directory, name));
  if (is_pinned) source.digest = reference.substr(at + 1);
  if (is_pinned && !is_digest(source.digest)) {
    return invalid_input(
        fmt::format("\"{}\" is no digest: sha256: and 64 digits 0-9a-f", source.digest));
  }
  return source;
}

bool is_there(const Source& source) { return ::access(source.path.c_str(), R_OK) == 0; }

Started<std::string> digest_of(const std::filesystem::path& file, const Patience& patience) {
  const auto outcome =
      run({"sha256sum", "--binary", "--", file.string()}, "VerificationFailed", patience);
  if (!outcome) return tl::unexpected(outcome.error());
  // A name that it had to escape is announced by a backslash.
  const std::string_view output = outcome->output;
  const std::string digest = std::string(kAlgorithm) +
                             std::string(output.substr(output.starts_with('\\') ? 1 : 0, kDigits));
  if (!is_digest(digest)) return problem("VerificationFailed", "sha256sum says no digest");
  return digest;
}

Started<void> check_digest(const std::filesystem::path& file, const std::string& digest,
                           const Patience& patience) {
  const auto found = digest_of(file, patience);
  if (!found) return tl::unexpected(found.error());
  if (*found == digest) return {};
  return problem("VerificationFailed",
                 fmt::format("{} has {}, not {}", file.string(), *found, digest));
}

Started<void> run_tool(std::vector<std::string> argv, const std::string& reason,
                       const Patience& patience) {
  const auto outcome = run(std::move(argv), reason, patience);
  if (!outcome) return tl::unexpected(outcome.error());
  return {};
}

}  // namespace berth::runtime
