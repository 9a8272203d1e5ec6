#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>

#include "cli/show/man_page.h"
#include "cli/verbs/verb.h"

// `berth man`: manual pages, made from what --help is made of.
namespace berth::cli {
namespace {

struct ManFlags {
  std::string verb;
  std::string directory;
};

Result<void> write_page(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return {};
  return Error{Code::Internal, "cannot write " + path.string()};
}

Result<void> write_pages(const CLI::App& program, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Error{Code::Internal, directory + ": " + error.message()};
  const std::filesystem::path folder(directory);
  TRY(write_page(folder / "berth.1", man_page(program)));
  for (const CLI::App* verb : program.get_subcommands(nullptr)) {
    if (verb->get_group().empty()) continue;
    TRY(write_page(folder / fmt::format("berth-{}.1", verb->get_name()), man_page(*verb)));
  }
  return {};
}

const CLI::App* verb_named(const CLI::App& program, const std::string& name) {
  for (const CLI::App* verb : program.get_subcommands(nullptr)) {
    if (verb->get_name() == name) return verb;
  }
  return nullptr;
}

Command declare_man(CLI::App& verb) {
  const auto flags = std::make_shared<ManFlags>();
  verb.add_option("VERB", flags->verb, "Of which verb; left out: of the program")->type_name("");
  verb.add_option("--directory", flags->directory, "Write all pages there")->type_name("DIR");
  verb.footer("Examples:\n  berth man plan | man -l -\n  berth man --directory build/man");
  return [flags, program = verb.get_parent()](Console& console) -> Result<ExitCode> {
    if (!flags->directory.empty()) {
      TRY(write_pages(*program, flags->directory));
      return ExitCode::Done;
    }
    const CLI::App* about = flags->verb.empty() ? program : verb_named(*program, flags->verb);
    if (about == nullptr) return not_found("there is no verb " + flags->verb);
    console.out << man_page(*about);
    return ExitCode::Done;
  };
}

}  // namespace

const Verb man_verb{"man", "Print manual pages", declare_man, true};

}  // namespace berth::cli
