#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "codec/manifest.h"

// Any text is answered: by diagnostics that all have a place, or by documents that can be written
// and read again.
namespace {

using namespace berth;

void check_refusal(const codec::ParsedManifest& parsed) {
  CHECK(parsed.documents.empty(), "taken whole or not at all");
  CHECK(parsed.diagnostics.size() <= 101, "diagnostics are bounded");
}

void check_round_trip(const codec::ParsedManifest& parsed) {
  std::vector<codec::SourceFile> files;
  for (const auto& document : parsed.documents)
    files.push_back({"again", codec::to_json(document)});
  const codec::ParsedManifest again = codec::parse_manifests(files);
  CHECK(again.ok(), "what was written can be read");
  CHECK(again.documents == parsed.documents, "what was read is what was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const codec::ParsedManifest parsed = codec::parse_manifests({{"fuzz", text}});
  for (const codec::Diagnostic& diagnostic : parsed.diagnostics) {
    CHECK(diagnostic.line >= 1 && diagnostic.column >= 1, "a diagnostic without a place");
    CHECK(!codec::to_string(diagnostic).empty(), "a diagnostic can be shown");
  }
  if (parsed.ok()) {
    check_round_trip(parsed);
  } else {
    check_refusal(parsed);
  }
  return 0;
}
