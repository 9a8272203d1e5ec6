#include "cli/store/store_care.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <utility>

#include "codec/stored_record.h"
#include "store/sqlite/kept_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/store_files.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using store::Entry;
using store::SqliteStore;

constexpr std::string_view kOfControlPlane = "berthd.db";
constexpr std::string_view kOfAgent = "agent.db";

// Whatever keeps us from it is not about the control plane being out of reach.
Error here(Error error) {
  if (error.code == Code::Unavailable) error.code = Code::Internal;
  return error;
}

// Files that are there, or have been: a store that is gone can have last good states.
Result<std::vector<fs::path>> stores_in(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const std::string_view name : {kOfControlPlane, kOfAgent}) {
    const fs::path path = directory / name;
    const bool is_there = fs::exists(path, error) || !store::good_states_of(path).empty() ||
                          store::has_damaged_beside(path);
    if (is_there) found.push_back(path);
  }
  if (!found.empty()) return found;
  return not_found(fmt::format(
      "{} has no store. It has one of a control plane ({}) or of an agent ({}); name another "
      "directory with --directory",
      directory.string(), kOfControlPlane, kOfAgent));
}

Result<void> check_unused(const fs::path& path) {
  if (!store::is_in_use(path)) return {};
  const bool is_agent = path.filename() == kOfAgent;
  return Error{
      Code::Internal,
      fmt::format("{} is in use: stop {} first (systemctl stop {}). What a running control "
                  "plane has can be had with berth store backup FILE, and that file be "
                  "checked",
                  path.string(), is_agent ? "berth-agent" : "berthd",
                  is_agent ? "berth-agent" : "berthd")};
}

// What a store holds, and what is wrong with it.
struct Findings {
  std::optional<store::Stamp> stamp = {};
  std::vector<Entry> entries = {};
  std::vector<std::string> flaws = {};  // for people; empty: it is good
  std::vector<std::string> unreadable = {};

  bool good() const { return flaws.empty(); }
};

std::optional<std::uint64_t> revision_of(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (const auto revision = codec::revision_in(entry.key, entry.value)) return revision;
  }
  return std::nullopt;
}

std::string summary(const Findings& findings) {
  std::string text = fmt::format("{} records", findings.entries.size());
  if (findings.stamp) text += fmt::format(", {} commits", findings.stamp->sequence);
  const auto revision = revision_of(findings.entries);
  if (revision) text += fmt::format(", revision {}", *revision);
  return text;
}

void add_flaws_of_records(Findings& findings) {
  for (const Entry& entry : findings.entries) {
    if (const auto flaw = codec::flaw_of_stored(entry.key, entry.value)) {
      findings.flaws.push_back(fmt::format("{} cannot be read: {}", store::printable(entry.key),
                                           store::printable(*flaw)));
      findings.unreadable.push_back(store::printable(entry.key));
    }
  }
}

Findings findings_of(const Result<SqliteStore>& opened) {
  Findings findings;
  if (!opened) {
    findings.flaws.push_back(store::without_ways_out(opened.error().message));
    return findings;
  }
  findings.stamp = opened->stamp();
  auto entries = opened->list("");
  if (!entries) {
    findings.flaws.push_back(store::without_ways_out(entries.error().message));
    return findings;
  }
  findings.entries = std::move(*entries);
  add_flaws_of_records(findings);
  return findings;
}

// Reads a store with its log, without changing either.
Findings look_into(const fs::path& path) {
  std::error_code ignored;
  if (store::is_nothing(path)) {
    const bool is_there = fs::exists(path, ignored);
    return {.flaws = {path.string() + (is_there ? " is empty" : " is gone")}};
  }
  const bool had_log = fs::exists(store::log_of(path), ignored);
  Findings findings;
  {
    const auto opened = SqliteStore::inspect(path);
    findings = findings_of(opened);
    if (!opened) {
      store::Salvage salvaged = store::salvage(path);
      findings.stamp = salvaged.stamp;
      findings.entries = std::move(salvaged.readable);
      findings.unreadable = std::move(salvaged.unreadable);
    }
  }
  if (!had_log) fs::remove(store::log_of(path), ignored);
  return findings;
}

struct GoodState {
  fs::path path;
  Findings findings;
};

// The newest that its daemon could read too.
std::optional<GoodState> newest_readable_good_state(const fs::path& path) {
  for (const fs::path& file : store::good_states_of(path)) {
    Findings findings = findings_of(SqliteStore::look_at(file));
    if (findings.good()) return GoodState{file, std::move(findings)};
  }
  return std::nullopt;
}

// With what the last good states tell about it.
Findings examine(const fs::path& path, const std::optional<GoodState>& good) {
  Findings findings = look_into(path);
  if (!good || !findings.good()) return findings;
  if (const auto why = store::why_behind(*findings.stamp, *good->findings.stamp)) {
    findings.flaws.push_back(fmt::format("{}: {}", path.string(), *why));
  }
  return findings;
}

void print_flaws(const Findings& findings, std::ostream& out) {
  for (const std::string& flaw : findings.flaws) out << flaw << '\n';
  for (const std::string& key : findings.unreadable) out << "  unreadable: " << key << '\n';
}

void print_good_states(const fs::path& path, std::ostream& out) {
  const auto files = store::good_states_of(path);
  if (files.empty()) out << "  there is no last good state\n";
  for (const fs::path& file : files) {
    const Findings findings = findings_of(SqliteStore::look_at(file));
    out << fmt::format("  last good state {}: {}\n", file.filename().string(),
                       findings.good() ? summary(findings) : findings.flaws.front());
  }
}

// What a store has that the one in its place has not.
void print_lost(const Findings& before, const Findings& after, std::ostream& out) {
  std::map<std::string_view, std::string_view> now;
  for (const Entry& entry : after.entries) now.emplace(entry.key, entry.value);
  for (const Entry& entry : before.entries) {
    const auto found = now.find(entry.key);
    if (found == now.end()) {
      out << fmt::format("  lost: {}\n", store::printable(entry.key));
    } else if (found->second != entry.value) {
      out << fmt::format("  older now: {}\n", store::printable(entry.key));
    }
    if (found != now.end()) now.erase(found);
  }
  const bool saw_all = before.stamp && before.entries.size() == before.stamp->count;
  if (!saw_all) return;
  for (const auto& [key, value] : now) out << "  back again: " << store::printable(key) << '\n';
}

// A store of what could be read, as a file beside.
Result<fs::path> write_readable(const Findings& findings, const fs::path& path) {
  const fs::path rescued = path.string() + ".rescued";
  std::error_code ignored;
  fs::remove(rescued, ignored);
  fs::remove(store::log_of(rescued), ignored);
  SqliteStore made = TRY(SqliteStore::open(rescued));
  std::vector<store::Change> batch;
  for (const Entry& entry : findings.entries) {
    if (!codec::flaw_of_stored(entry.key, entry.value)) batch.push_back({entry.key, entry.value});
  }
  TRY(made.commit(batch));
  return rescued;
}

// An agent cannot know by itself that it has another store.
std::vector<store::Change> mark_of(const fs::path& path) {
  if (path.filename() != kOfAgent) return {};
  return {{std::string(codec::kDoubtKey), ""}};
}

constexpr std::string_view kKeepsWhatRuns =
    "The agent keeps what runs until the control plane has said what is to run.\n";

constexpr std::string_view kComparesItself =
    "When the control plane starts it compares itself with its agents. If they have seen more than "
    "it knows,\nit stops and places nothing, and says so in berth get nodes: then berth store "
    "accept "
    "takes this store as the\ntruth, and berth store adopt rebuilds it from what the agents run.\n";

std::string_view what_follows(const fs::path& path) {
  return path.filename() == kOfControlPlane ? kComparesItself : kKeepsWhatRuns;
}

Result<ExitCode> repair(const fs::path& path, RepairWith with, std::ostream& out) {
  TRY(check_unused(path));
  const auto good = newest_readable_good_state(path);
  const Findings before = examine(path, good);
  if (before.good()) {
    out << fmt::format("{} is good: {}; nothing to do\n", path.string(), summary(before));
    return ExitCode::Done;
  }
  print_flaws(before, out);
  const bool use_good = good && (with == RepairWith::GoodState || before.entries.empty());
  if (!use_good && before.entries.empty()) {
    return Error{Code::Damaged,
                 fmt::format("nothing of {} can be read, and there is no last good state. Put a "
                             "backup in its place: berth store restore FILE --directory {}",
                             path.string(), path.parent_path().string())};
  }
  const auto source = use_good ? Result<fs::path>(good->path) : write_readable(before, path);
  if (!source) return source.error();
  const std::uint64_t succeeds = good ? good->findings.stamp->history : 0;
  const fs::path aside =
      TRY(store::put_in_place(*source, path, succeeds, "damaged", mark_of(path)));
  std::error_code ignored;
  if (!use_good) fs::remove(*source, ignored);
  const Findings after = look_into(path);
  out << fmt::format(
      "{} is now {}: {}\n", path.string(),
      use_good ? "the last good state " + good->path.filename().string() : "what could be read",
      summary(after));
  print_lost(before, after, out);
  if (!aside.empty()) out << "  what was there is kept as " << aside.string() << '\n';
  out << what_follows(path);
  return ExitCode::Done;
}

// A daemon would find nothing in the directory of another, and the other a file that it never
// reads.
Result<fs::path> place_of(codec::StoreOwner owner, const fs::path& directory) {
  const bool is_agents = owner == codec::StoreOwner::Agent;
  const fs::path path = directory / (is_agents ? kOfAgent : kOfControlPlane);
  const auto found = stores_in(directory);
  if (!found || std::ranges::find(*found, path) != found->end()) return path;
  constexpr std::string_view kAgent = "an agent";
  constexpr std::string_view kControlPlane = "a control plane";
  return invalid_input(
      fmt::format("{} is the directory of {} (it has {}), and this is a backup of {}; nothing was "
                  "changed. Name another with --directory",
                  directory.string(), is_agents ? kControlPlane : kAgent,
                  found->front().filename().string(), is_agents ? kAgent : kControlPlane));
}

// By what is in it; if that does not tell, by what the directory has.
Result<fs::path> place_for(const Findings& backup, const fs::path& directory) {
  for (const Entry& entry : backup.entries) {
    if (const auto owner = codec::owner_of_stored(entry.key)) return place_of(*owner, directory);
  }
  const auto found = TRY(stores_in(directory));
  if (found.size() == 1) return found.front();
  return invalid_input("this backup does not tell whose it is: there is nothing in it");
}

// The first "NAME.replaced-N" that is free.
fs::path name_aside(const fs::path& directory) {
  std::error_code ignored;
  int number = 1;
  while (fs::exists(fmt::format("{}.replaced-{}", directory.string(), number), ignored)) ++number;
  return fmt::format("{}.replaced-{}", directory.string(), number);
}

}  // namespace

Result<ExitCode> check_stores(const fs::path& directory, std::ostream& out) {
  bool all_good = true;
  for (const fs::path& path : TRY(stores_in(directory))) {
    TRY(check_unused(path));
    const Findings findings = examine(path, newest_readable_good_state(path));
    if (findings.good()) {
      out << fmt::format("{} is good: {}\n", path.string(), summary(findings));
    } else {
      print_flaws(findings, out);
    }
    print_good_states(path, out);
    all_good = all_good && findings.good();
  }
  if (all_good) return ExitCode::Done;
  out << fmt::format(
      "To mend it: berth store repair --directory {0}, or berth store restore FILE "
      "--directory {0}\n",
      directory.string());
  return ExitCode::OtherError;
}

Result<ExitCode> check_file(const fs::path& file, std::ostream& out) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return not_found("there is no file " + file.string());
  const Findings findings = findings_of(SqliteStore::look_at(file));
  if (findings.good()) {
    out << fmt::format("{} is good: {}\n", file.string(), summary(findings));
    return ExitCode::Done;
  }
  print_flaws(findings, out);
  return ExitCode::OtherError;
}

Result<ExitCode> repair_stores(const fs::path& directory, RepairWith with, std::ostream& out) {
  for (const fs::path& path : TRY(stores_in(directory))) {
    const auto repaired = repair(path, with, out);
    if (!repaired) return here(repaired.error());
  }
  return ExitCode::Done;
}

Result<ExitCode> give_up_authority(const fs::path& directory, std::ostream& out) {
  const fs::path path = directory / kOfControlPlane;
  std::error_code error;
  if (!fs::exists(path, error)) {
    return not_found(directory.string() + " has no store of a control plane");
  }
  TRY(check_unused(path));
  {
    auto opened = SqliteStore::open_existing(path);
    if (!opened) return here(opened.error());
    const auto given_up = opened->commit({{std::string(codec::kAuthorityKey), ""}});
    if (!given_up) return here(given_up.error());
  }
  const fs::path authority = directory / "authority";
  if (fs::exists(authority, error)) {
    const fs::path aside = name_aside(authority);
    const auto renamed = store::rename_durably(authority, aside);
    if (!renamed) return here(renamed.error());
    out << fmt::format("What was left of the old authority is kept as {}\n", aside.string());
  }
  out << "A new authority is made when the control plane starts. No node and no user can talk to "
         "it "
         "before\nthey have joined again, with berth join-token; what runs on the nodes runs on.\n";
  return ExitCode::Done;
}

Result<ExitCode> restore_store(const fs::path& file, const fs::path& directory, std::ostream& out) {
  std::error_code error;
  if (!fs::exists(file, error)) return not_found("there is no file " + file.string());
  if (!fs::is_directory(directory, error)) {
    return not_found("there is no directory " + directory.string());
  }
  const Findings backup = findings_of(SqliteStore::look_at(file));
  if (!backup.good()) {
    print_flaws(backup, out);
    return Error{Code::Damaged, file.string() + " is no good backup; nothing was changed"};
  }
  const fs::path path = TRY(place_for(backup, directory));
  TRY(check_unused(path));
  const auto good = store::newest_good_state(path);
  const std::uint64_t succeeds = good ? good->stamp.history : 0;
  const auto aside = store::put_in_place(file, path, succeeds, "replaced", mark_of(path));
  if (!aside) return here(aside.error());
  out << fmt::format("{} is now what {} has: {}\n", path.string(), file.string(), summary(backup));
  if (!aside->empty()) out << fmt::format("  what was there is kept as {}\n", aside->string());
  out << what_follows(path);
  return ExitCode::Done;
}

Result<std::string> image_of_store(const fs::path& directory) {
  const auto found = TRY(stores_in(directory));
  if (found.size() > 1) {
    return invalid_input(directory.string() + " has two stores; copy them to two directories");
  }
  TRY(check_unused(found.front()));
  const auto opened = SqliteStore::inspect(found.front());
  if (!opened) return here(opened.error());
  return opened->image();
}

namespace {

// Only a backup is replaced by a backup: not what somebody has written there, a link, or a device.
Result<void> check_target(const fs::path& file) {
  if (file == "-") return invalid_input("a backup goes to a file: name one, not -");
  std::error_code error;
  const fs::file_status found = fs::symlink_status(file, error);
  if (found.type() == fs::file_type::not_found) return {};
  if (found.type() == fs::file_type::regular && SqliteStore::look_at(file)) return {};
  return Error{Code::Conflict, fmt::format("{} is there already, and it is no good backup: nothing "
                                           "was written. Name another file, or remove it first",
                                           file.string())};
}

}  // namespace

Result<ExitCode> write_backup(const std::string& image, const fs::path& file, std::ostream& out) {
  TRY(check_target(file));
  const fs::path unproven = file.string() + ".unproven";
  const auto written = store::write_whole(unproven, image);
  if (!written) return here(written.error());
  const Findings findings = findings_of(SqliteStore::look_at(unproven));
  std::error_code ignored;
  if (!findings.good()) {
    print_flaws(findings, out);
    fs::remove(unproven, ignored);
    return Error{Code::Damaged,
                 "the store is damaged, and there is no backup of it now. While its "
                 "control plane is stopped: berth store check"};
  }
  const auto placed = store::rename_durably(unproven, file);
  if (!placed) return here(placed.error());
  out << fmt::format("{}: {}\n", file.string(), summary(findings));
  return ExitCode::Done;
}

}  // namespace berth::cli
