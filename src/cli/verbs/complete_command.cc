#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/objects.h"
#include "cli/ask/sessions.h"
#include "cli/verbs/verb.h"

// `berth __complete -- VERB WORD...`: the names that may stand where the last word is. For
// completion scripts: it is quick, and silent if it does not know.
namespace berth::cli {
namespace {

constexpr client::Client::Options kQuick{.connect_timeout = 500ms, .answer_timeout = 1s};

using Names = std::vector<std::string>;

Result<Names> instance_names(const client::Client& client) {
  Names names;
  const v1::Instances all = TRY(list_instances(client));
  for (const v1::Instance& instance : all.instances()) names.push_back(name_of(instance));
  return names;
}

Result<Names> node_names(const client::Client& client) {
  Names names;
  const v1::Nodes all = TRY(list_nodes(client));
  for (const v1::Node& node : all.nodes()) names.push_back(node.name());
  return names;
}

Result<Names> documents_called(const client::Client& client, Kind kind) {
  Names names;
  const v1::Documents all = TRY(list_documents(client, kind));
  for (const auto& document : all.documents()) names.push_back(document_id(document));
  return names;
}

Result<Names> session_names(const client::Client& client) {
  Names names;
  const v1::Sessions all = TRY(list_sessions(client, {}));
  for (const v1::Session& session : all.sessions()) names.push_back(name_of(session));
  return names;
}

Result<Names> names_of(const client::Client& client, Kind kind) {
  if (kind == Kind::Instance) return instance_names(client);
  if (kind == Kind::Node) return node_names(client);
  if (kind == Kind::Event) return Names{};
  if (kind == Kind::Session) return session_names(client);
  return documents_called(client, kind);
}

Names with_prefix(Names names, std::string_view prefix) {
  for (std::string& name : names) name.insert(0, prefix);
  return names;
}

// "instance/web/default/0" and "node/n1", for events.
Result<Names> objects(const client::Client& client) {
  Names names = with_prefix(TRY(node_names(client)), "node/");
  for (std::string& name : with_prefix(TRY(instance_names(client)), "instance/")) {
    names.push_back(std::move(name));
  }
  return names;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// `words`: the verb, what stands before, and last what has been typed so far.
Result<Names> candidates(const Names& words, const ConnectionFlags& connection) {
  const std::string& verb = words.front();
  if (words.size() < 2) return Names{};
  const std::string& before = words[words.size() - 2];
  const bool has_kinds = is_one_of(verb, {"get", "describe", "delete", "top"});
  if (has_kinds && words.size() == 2) return kind_words();
  if (verb == "session" && words.size() == 2) return session_actions();
  const client::Client client = TRY(connect(connection, kQuick));
  if (before == "--node") return node_names(client);
  if (before == "--item") return documents_called(client, Kind::Item);
  if (before == "--application") return documents_called(client, Kind::Application);
  if (before == "--namespace") return documents_called(client, Kind::Namespace);
  if (before.starts_with("-")) return Names{};
  if (verb == "session" && words[1] == "open") return documents_called(client, Kind::Application);
  if (verb == "session" && is_one_of(words[1], {"close", "describe"})) return session_names(client);
  if (is_one_of(verb, {"drain", "cordon", "uncordon", "forget"})) return node_names(client);
  if (is_one_of(verb, {"logs", "exec", "why", "pause", "resume"})) return instance_names(client);
  if (verb == "events") return objects(client);
  if (has_kinds && verb != "top") return names_of(client, TRY(parse_kind(words[1])));
  return Names{};
}

Command declare_complete(CLI::App& verb) {
  const auto words = std::make_shared<Names>();
  const auto connection = std::make_shared<ConnectionFlags>();
  declare_connection_flags(verb, *connection);
  verb.add_option("WORD", *words, "The verb, and the words after it")
      ->type_name("")
      ->required()
      ->expected(1, -1);
  verb.footer("Examples:\n  berth __complete -- drain \"\"");
  return [words, connection](Console& console) -> Result<ExitCode> {
    Names scratch = *words;
    if (scratch.size() == 1) scratch.emplace_back();
    const Result<Names> names = candidates(scratch, *connection);
    if (!names) return ExitCode::Done;
    for (const std::string& name : *names) {
      if (name.starts_with(scratch.back())) console.out << name << '\n';
    }
    return ExitCode::Done;
  };
}

}  // namespace

const Verb complete_verb{"__complete", "Print names for completion scripts", declare_complete,
                         true};

}  // namespace berth::cli
