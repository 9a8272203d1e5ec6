#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/manifest_names.h"
#include "cli/ask/objects.h"
#include "cli/ask/planning.h"
#include "cli/ask/sources.h"
#include "cli/ask/watching.h"
#include "cli/flags.h"
#include "cli/show/consequences.h"
#include "cli/show/table.h"
#include "cli/verbs/verb.h"
#include "client/path.h"
#include "placement/downtime.h"

// `berth delete`: takes documents back.
namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kDeleteExamples =
    "Examples:\n"
    "  berth delete deployment base         what only it asked for stops\n"
    "  berth delete deployment base --dry-run         only shows what would stop, move or restart\n"
    "  berth delete item web@1.0.0\n"
    "  berth delete application games/echo            its sessions have their grace\n"
    "  berth delete application games/echo --now      they end at once\n"
    "  berth delete namespace games --cascade         and the applications in it\n"
    "  berth delete -f app.yaml             the documents of a file\n"
    "  berth delete instance web/default/3 --purge    a cached one, and its data\n"
    "\n"
    "Asks nothing; prints what was deleted, and what stops, moves or restarts by that.\n"
    "Exit codes: 0 done, 3 invalid input, 4 no such thing, 6 cannot reach the control plane.";

struct DeleteFlags {
  ConnectionFlags connection;
  std::vector<std::string> files;
  std::vector<std::string> words;  // kind, names
  bool purge = false;
  bool cascade = false;
  bool now = false;
  bool dry_run = false;
  std::optional<Duration> timeout;
};

struct Target {
  Kind kind;
  std::string name;  // with its version or namespace, if it has one
};

// Who uses others goes first.
int order_of(const Target& target) { return -rank_of(target.kind); }

Result<Target> target_of(const client::Client& client, Kind kind, const std::string& name) {
  if (kind == Kind::Instance) {
    const v1::Instances all = TRY(list_instances(client, {.all = true}));
    return Target{kind, name_of(*TRY(pick_instance(all, name)))};
  }
  const bool is_whole = !has_versions(kind) || name.find('@') != std::string::npos;
  if (is_whole) return Target{kind, id_meant_by(kind, name)};
  const v1::Documents all = TRY(list_documents(client, kind));
  std::vector<std::string> versions;
  for (const auto* document : TRY(pick_documents(all, kind, name))) {
    versions.push_back(document_id(*document));
  }
  if (versions.size() == 1) return Target{kind, versions.front()};
  return invalid_input(fmt::format("{} {} has several versions: name one of {}", singular(kind),
                                   printable(name), fmt::join(versions, ", ")));
}

Result<std::vector<Target>> targets_in(const std::vector<std::string>& files, Console& console) {
  const auto sources = read_sources(files, console.in);
  if (!sources) return invalid_input(sources.error().message);
  std::vector<Target> targets;
  for (const codec::SourceFile& source : *sources) {
    for (const DocumentName& document : document_names(source)) {
      const Kind kind = TRY(parse_kind(document.kind));
      if (is_document(kind)) targets.push_back({kind, document.name});
    }
  }
  if (targets.empty()) return invalid_input("there is nothing in these files that can be deleted");
  std::ranges::stable_sort(targets, {}, order_of);
  return targets;
}

Result<std::vector<Target>> targets_of(const client::Client& client, const DeleteFlags& flags,
                                       Console& console) {
  if (flags.files.empty() == flags.words.empty()) {
    return invalid_input("name what to delete: either KIND NAME or -f FILE");
  }
  if (!flags.files.empty()) return targets_in(flags.files, console);
  const Kind kind = TRY(parse_kind(flags.words.front()));
  if (kind == Kind::Node) return invalid_input("nodes are forgotten: berth forget NODE");
  if (kind == Kind::Session) return invalid_input("sessions are closed: berth session close NAME");
  if (kind == Kind::Instance && !flags.purge) {
    return invalid_input(
        "what a deployment asks for stops when that is deleted or changed; to erase a cached "
        "instance and its data now: berth delete instance NAME --purge");
  }
  if (!is_document(kind) && kind != Kind::Instance) {
    return invalid_input(fmt::format(
        "{} cannot be deleted; delete or change the deployment that asks for them", plural(kind)));
  }
  if (flags.words.size() == 1) {
    return invalid_input(fmt::format("which {}? Its name is missing", singular(kind)));
  }
  std::vector<Target> targets;
  for (std::size_t i = 1; i < flags.words.size(); ++i) {
    targets.push_back(TRY(target_of(client, kind, flags.words[i])));
  }
  return targets;
}

bool asks_for_instances(Kind kind) {
  return kind == Kind::Deployment || kind == Kind::Application || kind == Kind::Namespace;
}

// What a deployment asked for a moment ago needs some time to stop, and its item is needed until
// then.
Result<v1::Revision> delete_one(const client::Client& client, const Target& target,
                                const DeleteFlags& flags, Clock::time_point end) {
  const bool cascades = flags.cascade && target.kind == Kind::Namespace;
  const bool has_sessions = target.kind == Kind::Application || target.kind == Kind::Namespace;
  const bool is_now = flags.now && has_sessions;
  const std::string path =
      fmt::format("/v1/{}/{}", plural(target.kind), client::encoded(target.name));
  const client::Request request{
      .method = client::Method::Delete,
      .path = client::with_query(
          path, {{"cascade", cascades ? "true" : ""}, {"now", is_now ? "true" : ""}})};
  while (true) {
    auto revision = client::call<v1::Revision>(client, request);
    const bool runs =
        target.kind == Kind::Item && !revision && revision.error().code == Code::Conflict;
    if (!runs || Clock::now() >= end) return revision;
    sleep_for(200ms, {});
  }
}

// What stays as it is says nothing.
placement::Plan changes_in(placement::Plan plan) {
  std::erase_if(plan.placements, [](const placement::Placement& placement) {
    return placement.action == placement::Action::Keep;
  });
  return plan;
}

// With what the control plane deletes along with them.
Result<std::vector<Target>> cascaded(std::vector<Target> targets, const DeleteFlags& flags) {
  if (!flags.cascade) return targets;
  const client::Client client = TRY(connect(flags.connection));
  const v1::Documents all = TRY(list_documents(client, Kind::Application));
  std::vector<Target> more;
  for (const Target& target : targets) {
    for (const auto& document : all.documents()) {
      const bool is_in_it =
          target.kind == Kind::Namespace && document_namespace(document) == target.name;
      if (is_in_it) more.push_back({Kind::Application, document_id(document)});
    }
  }
  more.insert(more.end(), targets.begin(), targets.end());
  return more;
}

// What deleting all of them would do; nothing is done.
Result<ExitCode> show(const std::vector<Target>& asked, const DeleteFlags& flags,
                      Console& console) {
  const std::vector<Target> targets = TRY(cascaded(asked, flags));
  std::set<DocumentName> documents;
  for (const Target& target : targets) {
    console.out << fmt::format("{}/{} would be deleted{}\n", singular(target.kind),
                               printable(target.name),
                               target.kind == Kind::Instance ? ", with its data" : "");
    if (target.kind == Kind::Instance) continue;
    documents.emplace(std::string(document_kind(target.kind)), target.name);
  }
  const World world = TRY(load_world_without(documents, flags.connection, console));
  const placement::Snapshot snapshot = snapshot_of(world);
  const placement::Plan whole = placement::make_plan(snapshot, {});
  const placement::Plan plan = changes_in(whole);
  const placement::Directory directory(snapshot);
  const PlanView view{.plan = plan,
                      .directory = directory,
                      .detail = Detail::Short,
                      .style = console.out_style,
                      .downtimes = placement::downtimes_of(snapshot, whole)};
  const std::string text = placements_section(view) + stops_section(view) + refused_section(view);
  console.out << (text.empty() ? "Nothing would stop, move or restart.\n" : text);
  return ExitCode::Done;
}

// What is on a node that is away runs on until it hears of this.
Result<std::string> who_stops_later(const client::Client& client, const v1::Revision& deleted) {
  std::set<std::string> stopping_on;
  for (const v1::Consequence& one : deleted.consequences()) {
    if (one.action() == "stop") stopping_on.insert(one.place().node());
  }
  if (stopping_on.empty()) return std::string();
  std::string text;
  const v1::Nodes nodes = TRY(list_nodes(client));
  for (const v1::Node& node : nodes.nodes()) {
    if (!is_away(node) || !stopping_on.contains(node.name())) continue;
    text += fmt::format("{} is away: what runs there goes on, and stops when it is back\n",
                        printable(node.name()));
  }
  return text;
}

Result<ExitCode> run(const DeleteFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  const std::vector<Target> targets = TRY(targets_of(client, flags, console));
  if (flags.dry_run) return show(targets, flags, console);
  Clock::time_point end;  // long ago
  ExitCode code = ExitCode::Done;
  for (const Target& target : targets) {
    const auto revision = delete_one(client, target, flags, end);
    if (!revision && revision.error().code == Code::NotFound && targets.size() > 1) {
      // What is not there any more must not keep the rest from going.
      console.err << printable(revision.error().message) << '\n';
      code = ExitCode::NotFound;
      continue;
    }
    if (!revision) return revision.error();
    if (asks_for_instances(target.kind)) end = Clock::now() + flags.timeout.value_or(60s);
    console.out << fmt::format("{}/{} deleted (revision {})\n", singular(target.kind),
                               printable(target.name), revision->revision())
                << consequences_text(revision->consequences(), Detail::Short, console.out_style)
                << who_stops_later(client, *revision).value_or("");
  }
  return code;
}

Command declare_delete(CLI::App& verb) {
  const auto flags = std::make_shared<DeleteFlags>();
  verb.add_option("KIND", flags->words, "item, deployment, nodeconfig, ..., then names")
      ->type_name("")
      ->expected(0, -1);
  verb.add_option("-f,--file", flags->files, "Delete the documents of these manifests")
      ->type_name("FILE")
      ->envname("BERTH_FILE");
  verb.add_flag("--purge", flags->purge, "Erase a cached instance and its data for good")
      ->envname("BERTH_PURGE");
  verb.add_flag("--cascade", flags->cascade, "Delete a namespace with what is in it")
      ->envname("BERTH_CASCADE");
  verb.add_flag("--now", flags->now, "End the sessions of an application without their grace")
      ->envname("BERTH_NOW");
  verb.add_flag("--dry-run", flags->dry_run,
                "Delete nothing; show what would stop, move or restart")
      ->envname("BERTH_DRY_RUN");
  add_duration(verb, "--timeout", flags->timeout,
               "How long an item may wait for its instances to stop; left out: one minute")
      ->envname("BERTH_TIMEOUT");
  declare_connection_flags(verb, flags->connection);
  verb.footer(kDeleteExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb delete_verb{"delete", "Delete documents from the desired state", declare_delete};

}  // namespace berth::cli
