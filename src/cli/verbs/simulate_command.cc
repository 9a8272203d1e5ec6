#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/ask/node_copies.h"
#include "cli/ask/planning.h"
#include "cli/flags.h"
#include "cli/show/progress_bar.h"
#include "cli/show/simulation_text.h"
#include "cli/verbs/verb.h"
#include "placement/cluster/batch.h"

// `berth simulate`: how a desired state would fit on a cluster, or on a large one like it.
namespace berth::cli {
namespace {

constexpr const char* kSimulateExamples =
    "Examples:\n"
    "  berth simulate -f examples/vehicle\n"
    "  berth simulate -f cluster.yaml -f desired.yaml --nodes 10000 --like n1,n2\n"
    "  berth simulate -f cluster.yaml -f desired.yaml -o json | jq .refusedByReason\n"
    "\n"
    "From documents alone, without a control plane. What runs by the Node documents stays where "
    "it\n"
    "is, if it may, and holds its room; all else is placed in scheduling order. With --nodes "
    "there\n"
    "are that many nodes, and nothing runs on them: copies of those named by --like (n1-00001,\n"
    "n2-00001, n1-00002, ...), or of all that the documents describe. A node named twice is "
    "copied\n"
    "twice as often. Node configs of a node, and run requests that name it, mean all its copies.\n"
    "Nobody is displaced by a higher priority: berth plan shows that, and each single place.\n"
    "\n"
    "Exit codes: 0 everything has a place, 2 something is refused, 3 invalid input.";

struct SimulateFlags {
  std::vector<std::string> files;
  NodeCopies copies;
  std::string output = "table";
};

std::vector<std::string> names_of_patterns(const NodeCopies& copies,
                                           const model::Manifest& documents) {
  if (!copies.nodes || !copies.like.empty()) return copies.like;
  std::vector<std::string> names;
  for (const model::Document& document : documents) {
    const auto* node = std::get_if<model::Node>(&document);
    if (node != nullptr) names.push_back(node->id.value());
  }
  return names;
}

placement::BatchOutcome place(placement::Cluster& cluster,
                              const std::vector<placement::AskedRun>& runs, Console& console) {
  ProgressBar progress(console.err, console.err_style, placement::instances_of(runs), "instances");
  return placement::place_batch(cluster, runs, [&](const placement::BatchPart& part) {
    progress.advance(part.indices.size());
  });
}

void simulate(placement::Snapshot& snapshot, SimulationView& view, Console& console) {
  const auto begin = std::chrono::steady_clock::now();
  const auto runs = placement::expand_runs(snapshot);
  placement::Cluster cluster(std::move(snapshot.nodes));
  view.nodes = cluster.nodes().size();
  view.outcome = place(cluster, runs, console);
  view.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  view.load = load_of_nodes(cluster);
}

void print(const SimulationView& view, const std::string& output, Console& console) {
  if (output == "json") {
    console.out << json_text(json_of(view));
  } else if (output == "yaml") {
    console.out << yaml_text(json_of(view));
  } else {
    console.out << simulation_text(view, console.out_style) << std::flush;
    console.err << time_taken_line(view);
  }
}

Result<ExitCode> run(const SimulateFlags& flags, Console& console) {
  if (flags.files.empty()) {
    return invalid_input("name the nodes and what shall run on them: -f FILE, a directory or -");
  }
  PlanningFlags planning;
  planning.offline = true;
  planning.files = flags.files;
  World world = TRY(load_world(planning, console));
  SimulationView view;
  view.like = names_of_patterns(flags.copies, world.documents);
  view.files = flags.files;
  placement::Snapshot snapshot = TRY(snapshot_with_copies(flags.copies, world.documents));
  simulate(snapshot, view, console);
  print(view, flags.output, console);
  return view.outcome.refused.empty() ? ExitCode::Done : ExitCode::NotEverythingPlaced;
}

Command declare_simulate(CLI::App& verb) {
  const auto flags = std::make_shared<SimulateFlags>();
  verb.add_option("-f,--file", flags->files,
                  "Manifests: a file, a directory or - (standard input); repeatable")
      ->type_name("FILE")
      ->envname("BERTH_FILE");
  verb.add_option("--nodes", flags->copies.nodes,
                  "Simulate so many nodes, copies of those described")
      ->type_name("N")
      ->envname("BERTH_NODES")
      ->check(CLI::Range(std::uint32_t{1}, kNodeCopiesMax).description(""));
  verb.add_option("--like", flags->copies.like,
                  "With --nodes: which nodes to copy, in turn; repeatable")
      ->type_name("NODE,...")
      ->envname("BERTH_LIKE")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_choice(verb, "-o,--output", flags->output, {"table", "json", "yaml"}, "Form of the answer")
      ->envname("BERTH_OUTPUT");
  verb.footer(kSimulateExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb simulate_verb{"simulate", "Show how a desired state fits on a cluster, also a large one",
                         declare_simulate};

}  // namespace berth::cli
