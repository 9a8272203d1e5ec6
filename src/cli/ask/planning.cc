#include "cli/ask/planning.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <ostream>
#include <set>

#include "cli/ask/manifest_names.h"
#include "cli/ask/objects.h"
#include "cli/ask/sources.h"
#include "cli/show/figures.h"
#include "codec/manifest.h"
#include "codec/moment_wire.h"

namespace berth::cli {
namespace {

Result<void> check_combination(const PlanningFlags& flags) {
  if (flags.replan && flags.rebalance) {
    return invalid_input("--replan and --rebalance exclude each other");
  }
  if (flags.full && !flags.rebalance) return invalid_input("--full belongs to --rebalance");
  if (flags.offline && flags.files.empty()) {
    return invalid_input("--offline plans from files: name them with -f FILE");
  }
  return {};
}

void print_diagnostic(const codec::Diagnostic& diagnostic, Console& console) {
  std::string line = codec::to_string(diagnostic);
  for (const auto& [word, tone] : {std::pair{"error:", Tone::Bad}, {"warning:", Tone::Warning}}) {
    const std::size_t at = line.find(word);
    if (at == std::string::npos) continue;
    line.replace(at, std::string_view(word).size(), console.err_style.paint(word, tone));
    break;
  }
  console.err << line << '\n';
}

std::uint64_t count_of(const std::vector<codec::Diagnostic>& diagnostics,
                       codec::Diagnostic::Level level) {
  return static_cast<std::uint64_t>(
      std::ranges::count(diagnostics, level, &codec::Diagnostic::level));
}

// The codec tells a hundred; the last line then says how many more there are.
std::string how_many(const std::vector<codec::Diagnostic>& diagnostics) {
  if (diagnostics.size() > 100) return "the files have more than 100 errors and warnings";
  const auto errors = count_of(diagnostics, codec::Diagnostic::Level::Error);
  const auto warnings = count_of(diagnostics, codec::Diagnostic::Level::Warning);
  const std::string rest = warnings == 0 ? "" : " and " + counted(warnings, "warning");
  return fmt::format("the files have {}{}", counted(errors, "error"), rest);
}

Result<v1::Cluster> fetch_cluster(const ConnectionFlags& flags) {
  const client::Client client = TRY(connect(flags));
  auto cluster = client::call<v1::Cluster>(client, {.path = "/v1/cluster"});
  if (!cluster) return or_offline(cluster.error());
  return cluster;
}

// Of the documents, those that the files apply; only what can ask again.
model::Manifest applied_by(const std::set<DocumentName>& in_files,
                           const model::Manifest& documents) {
  model::Manifest applied;
  for (const model::Document& document : documents) {
    const bool can_ask = std::holds_alternative<model::Item>(document) ||
                         std::holds_alternative<model::Deployment>(document);
    const bool is_in_files =
        can_ask &&
        in_files.contains({std::string(model::kind_of(document).name), model::id_of(document)});
    if (is_in_files) applied.push_back(document);
  }
  return applied;
}

// What the files say of a node is all that counts.
void forget_nodes_in(const std::set<DocumentName>& in_files, placement::Moment& moment) {
  for (const DocumentName& document : in_files) {
    if (document.kind == "Node") placement::forget(moment, model::NodeId(document.name));
  }
}

}  // namespace

Error or_offline(Error error) {
  if (error.code == Code::Unavailable) error.message += "\n--offline plans from files alone.";
  return error;
}

void declare_planning_flags(CLI::App& verb, PlanningFlags& flags, MoreFiles more) {
  verb.add_flag("--offline", flags.offline, "Plan from files alone, without a control plane")
      ->envname("BERTH_OFFLINE");
  verb.add_option("-f,--file", flags.files,
                  "Manifests: a file, a directory or - (standard input); repeatable")
      ->type_name("FILE")
      ->envname("BERTH_FILE")
      ->allow_extra_args(more == MoreFiles::Follow);
  verb.add_flag("--replan", flags.replan, "Forget present placements and place everything anew")
      ->envname("BERTH_REPLAN");
  verb.add_flag("--rebalance", flags.rebalance,
                "Relieve overloaded nodes, with as few moves as possible")
      ->envname("BERTH_REBALANCE");
  verb.add_flag("--full", flags.full, "With --rebalance: re-evaluate everything that may move")
      ->envname("BERTH_FULL");
  declare_connection_flags(verb, flags.connection);
}

Result<placement::Mode> mode_of(const PlanningFlags& flags) {
  TRY(check_combination(flags));
  if (flags.replan) return placement::Mode::Replan;
  if (!flags.rebalance) return placement::Mode::Run;
  return flags.full ? placement::Mode::RebalanceFull : placement::Mode::RebalanceMinimal;
}

Result<model::Manifest> accept_parsed(codec::ParsedManifest parsed, std::string_view consequence,
                                      Console& console) {
  for (const codec::Diagnostic& diagnostic : parsed.diagnostics) {
    print_diagnostic(diagnostic, console);
  }
  if (parsed.ok()) return std::move(parsed.documents);
  return invalid_input(fmt::format("{}; {}", how_many(parsed.diagnostics), consequence));
}

Result<World> load_world(const PlanningFlags& flags, Console& console) {
  auto sources = read_sources(flags.files, console.in);
  if (!sources) {
    console.err << sources.error().message << '\n';
    return invalid_input("not all files can be read; nothing was planned");
  }
  World world;
  v1::Cluster cluster;
  std::set<DocumentName> in_files;
  if (!flags.offline) {
    cluster = TRY(fetch_cluster(flags.connection));
    world.revision = cluster.revision();
    for (const codec::SourceFile& file : *sources) {
      for (DocumentName& name : document_names(file)) in_files.insert(std::move(name));
    }
    world.before = codec::parse_manifests(overlaid(cluster, {})).documents;
    sources = overlaid(cluster, std::move(*sources));
  }
  world.documents =
      TRY(accept_parsed(codec::parse_manifests(*sources), "nothing was planned", console));
  if (flags.offline) return world;
  world.moment = codec::from_wire(cluster.moment());
  forget_nodes_in(in_files, world.moment);
  placement::try_again(world.moment.failures, *world.before, applied_by(in_files, world.documents));
  return world;
}

Result<World> load_world_without(const std::set<DocumentName>& documents,
                                 const ConnectionFlags& connection, Console& console) {
  v1::Cluster cluster = TRY(fetch_cluster(connection));
  World world;
  world.revision = cluster.revision();
  world.before = codec::parse_manifests(overlaid(cluster, {})).documents;
  v1::Cluster rest = cluster;
  rest.clear_documents();
  std::set<DocumentName> missing = documents;
  for (const google::protobuf::Struct& document : cluster.documents()) {
    const DocumentName name{document.fields().at("kind").string_value(), document_id(document)};
    if (documents.contains(name)) {
      missing.erase(name);
    } else {
      *rest.add_documents() = document;
    }
  }
  if (!missing.empty()) {
    return not_found(
        fmt::format("there is no {} {}", missing.begin()->kind, missing.begin()->name));
  }
  world.documents = TRY(accept_parsed(codec::parse_manifests(overlaid(rest, {})),
                                      "it cannot be deleted now", console));
  world.moment = codec::from_wire(cluster.moment());
  return world;
}

}  // namespace berth::cli
