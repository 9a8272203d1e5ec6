#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/verbs/verb.h"
#include "codec/schema.h"

namespace berth::cli {
namespace {

constexpr const char* kSchemaExamples =
    "Examples:\n"
    "  berth schema > berth.schema.json\n"
    "  # then, as the first line of a manifest, for editors with a YAML language server:\n"
    "  # yaml-language-server: $schema=berth.schema.json";

Command declare_schema(CLI::App& verb) {
  verb.footer(kSchemaExamples);
  return [](Console& console) -> Result<ExitCode> {
    const std::string schema = codec::json_schema();
    console.out << schema << (schema.ends_with('\n') ? "" : "\n");
    return ExitCode::Done;
  };
}

}  // namespace

const Verb schema_verb{"schema", "Print the JSON Schema of manifests", declare_schema};

}  // namespace berth::cli
