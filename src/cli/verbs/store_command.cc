#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/flags.h"
#include "cli/store/store_care.h"
#include "cli/store/store_release.h"
#include "cli/verbs/verb.h"

// `berth store`: looks after what a control plane or an agent keeps on disk.
namespace berth::cli {
namespace {

constexpr const char* kStoreExamples =
    "Examples:\n"
    "  berth store backup unit7.store                   of the control plane, while it runs\n"
    "  berth store check unit7.store                    whether a backup is good\n"
    "  berth store check                                the store here, while nobody uses it\n"
    "  berth store repair                               with the newest last good state\n"
    "  berth store restore unit7.store                  put a backup in its place\n"
    "  berth store check --directory /var/lib/berth-agent   an agent's\n"
    "  berth store adopt --dry-run                      what the agents of a held unit run\n"
    "\n"
    "check      reads every record, and the last good states; changes nothing\n"
    "repair     puts the newest last good state in the place of a damaged store, or with\n"
    "           --readable what can still be read of it; says what is lost\n"
    "backup     of the control plane that runs, from anywhere; with --directory of a store that\n"
    "           nobody uses. The key of the authority is not in it: keep a copy of the directory\n"
    "           authority as you keep other secrets\n"
    "restore    checks the backup first\n"
    "accept     a control plane that is held, because its agents have carried out what its store\n"
    "           does not know of, takes its store for the truth: what it does not ask for is "
    "stopped\n"
    "adopt      the same, but what the agents run and were told is asked for again first; nothing\n"
    "           is restarted. --dry-run only shows that\n"
    "\n"
    "What was there is never deleted, but kept beside the store. repair and restore need the "
    "daemon\n"
    "to be stopped.\n"
    "Exit codes: 0 good, or done; 1 there is damage, or it could not be done; 3 invalid input; 4 "
    "no\n"
    "such file or store; 6 cannot reach the control plane.";

constexpr const char* kStandardDirectory = "/var/lib/berth";

struct StoreFlags {
  ConnectionFlags connection;
  std::string action;
  std::string file;
  std::string directory;
  bool readable = false;
  bool new_authority = false;
  bool dry_run = false;

  std::filesystem::path place() const { return directory.empty() ? kStandardDirectory : directory; }
};

Result<std::string> image_from_control_plane(const StoreFlags& flags) {
  const client::Client client = TRY(connect(flags.connection));
  const v1::BackUpStoreRequest request;
  std::string image;
  TRY(client::stream<v1::StorePart>(
      client, {.method = client::Method::Post, .path = "/v1/store/backup", .body = &request},
      [&image](const v1::StorePart& part) {
        image += part.data();
        return true;
      }));
  return image;
}

Result<ExitCode> back_up(const StoreFlags& flags, Console& console) {
  const bool is_online = flags.directory.empty();
  const auto image = is_online ? image_from_control_plane(flags) : image_of_store(flags.directory);
  if (!image) return image.error();
  const ExitCode done = TRY(write_backup(*image, flags.file, console.out));
  if (is_online) {
    console.out << "The key of the authority is not in it: keep a copy of the directory authority "
                   "of the control\nplane too, where you keep secrets.\n";
  }
  return done;
}

// Whoever gives a flag means something by it: it is not passed over where it does nothing.
Result<void> check_flags_of_action(const StoreFlags& flags) {
  struct Only {
    bool given;
    std::string_view flag;
    std::string_view action;
  };
  for (const Only& only : {Only{flags.readable, "--readable", "repair"},
                           Only{flags.new_authority, "--new-authority", "repair"},
                           Only{flags.dry_run, "--dry-run", "adopt"}}) {
    if (!only.given || flags.action == only.action) continue;
    return invalid_input(
        fmt::format("{} is for berth store {}, and does nothing with {}; nothing "
                    "was done",
                    only.flag, only.action, flags.action));
  }
  const bool takes_file =
      flags.action == "check" || flags.action == "backup" || flags.action == "restore";
  if (takes_file || flags.file.empty() || flags.action == "repair") return {};
  return invalid_input(flags.action + " takes no file; nothing was done");
}

Result<ExitCode> run(const StoreFlags& flags, Console& console) {
  TRY(check_flags_of_action(flags));
  const bool needs_file = flags.action == "backup" || flags.action == "restore";
  if (needs_file && flags.file.empty()) {
    return invalid_input("which file? berth store " + flags.action + " FILE");
  }
  if (flags.action == "repair" && !flags.file.empty()) {
    return invalid_input("repair takes no file. To put a backup in place: berth store restore " +
                         flags.file);
  }
  if (flags.action == "accept") return accept_store(flags.connection, console);
  if (flags.action == "adopt") {
    return adopt_store(flags.connection, flags.dry_run ? Adopting::Preview : Adopting::Now,
                       console);
  }
  if (flags.action == "backup") return back_up(flags, console);
  if (flags.action == "restore") return restore_store(flags.file, flags.place(), console.out);
  if (flags.action == "check") {
    return flags.file.empty() ? check_stores(flags.place(), console.out)
                              : check_file(flags.file, console.out);
  }
  if (flags.new_authority) return give_up_authority(flags.place(), console.out);
  return repair_stores(flags.place(), flags.readable ? RepairWith::Readable : RepairWith::GoodState,
                       console.out);
}

Command declare_store(CLI::App& verb) {
  const auto flags = std::make_shared<StoreFlags>();
  add_choice(verb, "ACTION", flags->action,
             {"check", "repair", "backup", "restore", "accept", "adopt"},
             "check, repair, backup, restore, accept or adopt")
      ->required();
  verb.add_option("FILE", flags->file, "A backup")->type_name("");
  verb.add_option("--directory", flags->directory,
                  "Where the store is; left out: /var/lib/berth, and for backup the control plane "
                  "that runs")
      ->type_name("DIR")
      ->envname("BERTH_STORE_DIRECTORY")
      ->take_last();
  verb.add_flag("--readable", flags->readable,
                "repair: keep what can be read, also where a last good state is whole")
      ->envname("BERTH_READABLE");
  verb.add_flag("--new-authority", flags->new_authority,
                "repair: give up an authority whose key is lost; all nodes have to join again")
      ->envname("BERTH_NEW_AUTHORITY");
  verb.add_flag("--dry-run", flags->dry_run, "adopt: only show what would be asked for again")
      ->envname("BERTH_DRY_RUN");
  declare_connection_flags(verb, flags->connection);
  verb.footer(kStoreExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb store_verb{"store", "Check, repair, back up and restore what is kept on disk",
                      declare_store};

}  // namespace berth::cli
