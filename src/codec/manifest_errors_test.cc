#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/manifest.h"

// Every error by its exact text and place.
namespace berth::codec {
namespace {

using testing::ElementsAre;

std::vector<std::string> errors_of_files(const std::vector<SourceFile>& files) {
  const ParsedManifest parsed = parse_manifests(files);
  EXPECT_TRUE(parsed.ok() || parsed.documents.empty()) << "taken whole or not at all";
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : parsed.diagnostics) texts.push_back(to_string(diagnostic));
  return texts;
}

std::vector<std::string> errors_of(std::string text) {
  return errors_of_files({{"f", std::move(text)}});
}

std::string header(const std::string& kind) {
  return "apiVersion: berth/v1\nkind: " + kind + "\nmetadata: {name: a}\nspec:\n";
}

// The spec of an item begins in line 5, after version and image.
std::vector<std::string> errors_of_item(const std::string& spec) {
  return errors_of(header("Item") + "  version: 1\n  images: [{command: [x]}]\n" + spec);
}
std::vector<std::string> errors_of_image(const std::string& image) {
  return errors_of(header("Item") + "  version: 1\n  images:\n  - " + image);
}
std::vector<std::string> errors_of_config(const std::string& spec) {
  return errors_of(header("NodeConfig") + spec);
}
std::vector<std::string> errors_of_node(const std::string& spec) {
  return errors_of(header("Node") + spec);
}

TEST(DocumentErrors, NameWhatIsMissing) {
  EXPECT_THAT(errors_of("kind: Deployment"),
              ElementsAre("f:1:1: error: apiVersion: is missing",
                          "f:1:1: error: metadata: is missing", "f:1:1: error: spec: is missing"));
  EXPECT_THAT(errors_of("apiVersion: berth/v1\n---\n\nmetadata: {}\n"),
              ElementsAre("f:1:1: error: kind: is missing", "f:4:1: error: kind: is missing"));
  EXPECT_THAT(errors_of("apiVersion: berth/v1\nkind: Item\nmetadata: {}\nspec:\n  args: []\n"),
              ElementsAre("f:3:11: error: metadata.name: is missing",
                          "f:5:3: error: spec.version: is missing",
                          "f:5:3: error: spec.images: is missing"));
}

TEST(DocumentErrors, SayWhatADocumentIs) {
  EXPECT_THAT(errors_of("hello"),
              ElementsAre("f:1:1: error: expected a document (apiVersion, kind, metadata, spec), "
                          "got text"));
  EXPECT_THAT(errors_of("kind: Nod\n"),
              ElementsAre("f:1:7: error: kind: \"Nod\" is no kind of document (Item, Deployment, "
                          "NodeConfig, Node, EnvOverride, Subject, Namespace, Application). Did "
                          "you mean \"Node\"?"));
  EXPECT_THAT(errors_of("kind: [Node]\n"),
              ElementsAre("f:1:7: error: kind: \"\" is no kind of document (Item, Deployment, "
                          "NodeConfig, Node, EnvOverride, Subject, Namespace, Application)."));
  EXPECT_THAT(errors_of("apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec: {}\n"),
              ElementsAre("f:1:13: error: apiVersion: must be berth/v1, not \"v1\""));
}

TEST(DocumentErrors, SayWhichKindsAreToCome) {
  for (const std::string kind : {"Workflow"}) {
    EXPECT_THAT(errors_of("kind: " + kind), ElementsAre("f:1:7: error: kind: kind " + kind +
                                                        " is not supported yet by this version"));
  }
}

TEST(DocumentErrors, CoverMetadata) {
  EXPECT_THAT(
      errors_of(
          "apiVersion: berth/v1\nkind: Node\nmetadata: {name: -a, namespace: [b], labels: {c: "
          "{}}, lables: {}}\nspec: {}\n"),
      ElementsAre("f:3:18: error: metadata.name: \"-a\" is no name: letters, digits, '.', '_' and "
                  "'-', beginning with a letter or digit",
                  "f:3:33: error: metadata.namespace: expected text, got a list",
                  "f:3:50: error: metadata.labels.c: expected text, got a map",
                  "f:3:55: error: metadata: unknown key \"lables\". Did you mean \"labels\"?"));
}

TEST(DocumentErrors, OfSyntaxHaveTheirPlace) {
  EXPECT_THAT(errors_of("a: b: c\n"),
              ElementsAre("f:1:5: error: mapping values are not allowed in this context"));
  EXPECT_THAT(errors_of("a: \xFF"),
              ElementsAre("f:1:4: error: not UTF-8 (byte 0xff); a manifest is YAML"));
}

TEST(DocumentErrors, TellOfFilesWithoutDocumentsByAWarning) {
  EXPECT_THAT(errors_of("# nothing\n---\n"),
              ElementsAre("f:1:1: warning: there is no document in this file"));
  EXPECT_THAT(errors_of(""), ElementsAre("f:1:1: warning: there is no document in this file"));
  EXPECT_TRUE(parse_manifests({{"f", ""}}).ok());
}

TEST(FieldErrors, NameUnknownAndRepeatedKeys) {
  EXPECT_THAT(errors_of_item("  imges: []\n  args: [a]\n  args: [b]\n  xyzzy: 1\n"),
              ElementsAre("f:7:3: error: spec: unknown key \"imges\". Did you mean \"images\"?",
                          "f:9:3: error: spec: \"args\" is there twice",
                          "f:10:3: error: spec: unknown key \"xyzzy\"."));
}

TEST(FieldErrors, SayWhatWasExpected) {
  EXPECT_THAT(
      errors_of_item("  args: x\n  env: [x]\n  owner: {}\n  skipResourceLimits: yes\n"
                     "  quotas: {cpu: \"5\", ram: [1]}\n  args2: \n  health: 5\n"),
      ElementsAre("f:7:9: error: spec.args: expected a list, got text",
                  "f:8:8: error: spec.env: expected a map, got a list",
                  "f:9:10: error: spec.owner: expected text, got a map",
                  "f:10:23: error: spec.skipResourceLimits: \"yes\" is neither true nor false",
                  "f:11:17: error: spec.quotas.cpu: expected a whole number, got the text \"5\"",
                  "f:11:27: error: spec.quotas.ram: expected a size, got a list",
                  "f:12:3: error: spec: unknown key \"args2\". Did you mean \"args\"?",
                  "f:13:11: error: spec.health: expected a map, got text"));
  EXPECT_THAT(errors_of_item("  args: [a, ~]\n"),
              ElementsAre("f:7:13: error: spec.args: expected text, got nothing"));
}

TEST(FieldErrors, CoverAmounts) {
  EXPECT_THAT(
      errors_of_item("  quotas: {cpu: 1.5, ram: 1G, storage: -1, state: 1025Ti}\n"
                     "  request: {cpu: 1000000000001, ram: 99999999999999999999}\n"),
      ElementsAre("f:7:17: error: spec.quotas.cpu: \"1.5\" is no whole number",
                  "f:7:27: error: spec.quotas.ram: \"1G\" is no size: write whole bytes, or Ki, "
                  "Mi, Gi or Ti as in 128Mi",
                  "f:7:40: error: spec.quotas.storage: must be 0 to 1024Ti, not \"-1\"",
                  "f:7:51: error: spec.quotas.state: must be 0 to 1024Ti, not \"1025Ti\"",
                  "f:8:18: error: spec.request.cpu: must be 0 to 1000000000000, not "
                  "\"1000000000001\"",
                  "f:8:38: error: spec.request.ram: \"99999999999999999999\" is too large"));
}

TEST(FieldErrors, CoverLists) {
  EXPECT_THAT(
      errors_of_item("  runtimes: [process, process]\n  sharedResources: [b, b, \"\"]\n"
                     "  hosts: [h, h, a b]\n  ports: [80, 80/tcp, 0]\n  tolerates: [all]\n"),
      ElementsAre("f:7:23: error: spec.runtimes: \"process\" is there twice",
                  "f:8:24: error: spec.sharedResources: \"b\" is there twice",
                  "f:8:27: error: spec.sharedResources: must not be empty",
                  "f:9:14: error: spec.hosts: \"h\" is there twice",
                  "f:9:17: error: spec.hosts: \"a b\" is no name: letters, digits, '.', '_' and "
                  "'-', beginning with a letter or digit",
                  "f:10:15: error: spec.ports: \"80/tcp\" is there twice",
                  "f:10:23: error: spec.ports: ports begin at 1",
                  "f:11:15: error: spec.tolerates: \"all\" is no toleration (runtimeNotReady, "
                  "nodeNotReady)."));
}

TEST(FieldErrors, CoverTexts) {
  EXPECT_THAT(
      errors_of_item("  env: {A=B: x, C: \"\\0\", C: y}\n  owner: " + std::string(254, 'a') + "\n"),
      ElementsAre("f:7:9: error: spec.env: \"A=B\" is no name of a variable: it has a '='",
                  "f:7:20: error: spec.env.C: has a NUL character",
                  "f:7:26: error: spec.env: \"C\" is there twice",
                  "f:8:10: error: spec.owner: is longer than 253 bytes"));
  EXPECT_THAT(errors_of("apiVersion: berth/v1\nkind: Item\nmetadata: {name: a}\n"
                        "spec: {version: a b, images: []}\n"),
              ElementsAre("f:4:17: error: spec.version: \"a b\" is no version: letters, digits and "
                          "'.', '_', '+', '~', ':', '-'",
                          "f:4:30: error: spec.images: must not be empty"));
}

TEST(FieldErrors, CoverHealthRestartAndAlerts) {
  EXPECT_THAT(
      errors_of_item("  health: {period: 0s, failures: 0, http: {path: x}, tcp: {port: 70000}}\n"
                     "  restart: {policy: sometimes, backoff: 5, backoffMax: 87601h}\n"
                     "  alerts: {cpu: {min: 60, max: 50}, ram: {max: 101}}\n"),
      ElementsAre("f:7:11: error: spec.health: has tcp and http; only one of them can be",
                  "f:7:20: error: spec.health.period: must be more than 0s",
                  "f:7:34: error: spec.health.failures: must be 1 to 1000000, not \"0\"",
                  "f:7:43: error: spec.health.http.port: is missing",
                  "f:7:66: error: spec.health.tcp.port: must be 1 to 65535, not \"70000\"",
                  "f:8:21: error: spec.restart.policy: \"sometimes\" is no restart policy (always, "
                  "onFailure, never).",
                  "f:8:41: error: spec.restart.backoff: \"5\" is no duration: write whole ms, s, m "
                  "or h as in 500ms or 1m30s",
                  "f:8:56: error: spec.restart.backoffMax: is longer than 87600h",
                  "f:9:23: error: spec.alerts.cpu.min: min 60 is above max 50 (left out they are "
                  "75 and 85)",
                  "f:9:48: error: spec.alerts.ram.max: must be 0 to 100, not \"101\""));
  EXPECT_THAT(errors_of_item("  health: {}\n"),
              ElementsAre("f:7:11: error: spec.health: needs one of exec, tcp, http"));
}

TEST(ImageErrors, DemandExactlyOneForm) {
  EXPECT_THAT(errors_of_image("platform: {arch: amd64}\n"),
              ElementsAre("f:7:5: error: spec.images[0]: needs one of oci, command, wasm, vm, "
                          "rootfs, boot, firmware"));
  EXPECT_THAT(errors_of_image("{oci: x, command: [y]}\n"),
              ElementsAre("f:7:5: error: spec.images[0]: has oci and command; only one of them can "
                          "be"));
}

TEST(ImageErrors, CoverEachForm) {
  EXPECT_THAT(errors_of_image("{oci: x}\n"),
              ElementsAre("f:7:5: error: spec.images[0].platform.arch: is missing: an oci image "
                          "needs it"));
  EXPECT_THAT(errors_of_image("{oci: \"\", platform: {arch: a}}\n"),
              ElementsAre("f:7:11: error: spec.images[0].oci: must not be empty"));
  EXPECT_THAT(errors_of_image("{command: []}\n"),
              ElementsAre("f:7:15: error: spec.images[0].command: must not be empty"));
  EXPECT_THAT(errors_of_image("{wasm: {}}\n"),
              ElementsAre("f:7:12: error: spec.images[0].wasm.module: is missing"));
  EXPECT_THAT(errors_of_image("{rootfs: {}}\n"),
              ElementsAre("f:7:14: error: spec.images[0].rootfs.archive: is missing"));
  EXPECT_THAT(errors_of_image("{boot: {}}\n"),
              ElementsAre("f:7:12: error: spec.images[0].boot.image: is missing"));
  EXPECT_THAT(errors_of_image("{firmware: {activate: [x]}}\n"),
              ElementsAre("f:7:16: error: spec.images[0].firmware.install: is missing"));
}

TEST(ImageErrors, SuggestTheRuntimeTypeThatWasMeant) {
  EXPECT_THAT(errors_of_image("{runtimes: [dokcer], command: [x]}\n"),
              ElementsAre("f:7:17: error: spec.images[0].runtimes: \"dokcer\" is no runtime type "
                          "(crun, runc, process, wasm, vm, rootfs, boot, firmware). Did you mean "
                          "\"crun\"?"));
}

TEST(ImageWarnings, AreNoErrors) {
  const std::string head = header("Item") + "  version: 1\n  images:\n  - ";
  EXPECT_THAT(errors_of(head + "{command: [x], runtimes: [vm, crun]}\n"),
              ElementsAre("f:7:5: warning: spec.images[0]: none of its runtimes (vm, crun) can run "
                          "an image of this form (process can)"));
  EXPECT_THAT(errors_of(head + "vm: {}\n"),
              ElementsAre("f:7:9: warning: spec.images[0].vm: has neither kernel nor disk"));
  EXPECT_EQ(parse_manifests({{"f", head + "vm: {}\n"}}).documents.size(), 1u);
}

TEST(ItemWarnings, SayWhatVirtualMachinesLack) {
  const std::string head = header("Item") + "  version: 1\n  images: [{vm: {kernel: k}}]\n";
  EXPECT_THAT(
      errors_of(head + "  health: {exec: [x]}\n"),
      ElementsAre(::testing::HasSubstr("warning: spec.health.exec: no program can be run")));
  EXPECT_THAT(errors_of(head + "  quotas: {state: 1Mi}\n"),
              ElementsAre(::testing::HasSubstr("warning: spec.quotas.state: a virtual machine")));
}

TEST(ItemWarnings, SayThatAnAlertNeedsAQuota) {
  const std::string head = header("Item") + "  version: 1\n  images: [{command: [x]}]\n";
  EXPECT_THAT(
      errors_of(head + "  quotas: {cpu: 100}\n  alerts: {cpu: {max: 90}, ram: {max: 90}}\n"),
      ElementsAre(::testing::HasSubstr("warning: spec.alerts.ram: is never raised: the item "
                                       "has no quota of ram")));
}

TEST(DeploymentErrors, CoverRequests) {
  EXPECT_THAT(
      errors_of(
          header("Deployment") +
          "  run:\n  - {version: 1}\n  - {item: a, priority: 2147483648, instances: 1000001}\n"
          "  - {item: a b, instances: \"3\", labels: [\"a\\nb\"], nodes: [\"\"]}\n"
          "  - {item: c, subject: [], instances: some}\n"),
      ElementsAre("f:6:5: error: spec.run[0].item: is missing",
                  "f:7:12: error: spec.run[1].item: there is no item \"a\".",
                  "f:7:25: error: spec.run[1].priority: must be -2147483648 to 2147483647, not "
                  "\"2147483648\"",
                  "f:7:48: error: spec.run[1].instances: must be 0 to 1000000, not \"1000001\"",
                  "f:8:12: error: spec.run[2].item: \"a b\" is no name: letters, digits, '.', '_' "
                  "and '-', beginning with a letter or digit",
                  "f:8:28: error: spec.run[2].instances: expected a whole number or all, got the "
                  "text \"3\"",
                  "f:8:42: error: spec.run[2].labels: \"a\\nb\" has control characters",
                  "f:8:59: error: spec.run[2].nodes: must not be empty",
                  "f:9:12: error: spec.run[3].item: there is no item \"c\".",
                  "f:9:24: error: spec.run[3].subject: expected text, got a list",
                  "f:9:39: error: spec.run[3].instances: \"some\" is no whole number"));
}

TEST(ConfigErrors, CoverMatchAndPercents) {
  EXPECT_THAT(errors_of_config("  match: {node: n, type: vm}\n"),
              ElementsAre("f:5:10: error: spec.match: has both node and type; write one config for "
                          "the node and one for the type"));
  EXPECT_THAT(errors_of_config("  match: {nodes: n}\n  ratios: {cpu: 101}\n"
                               "  defaultRequest: {ram: -1, storage: 1}\n"),
              ElementsAre("f:5:11: error: spec.match: unknown key \"nodes\". Did you mean "
                          "\"node\"?",
                          "f:6:17: error: spec.ratios.cpu: must be 0 to 100, not \"101\"",
                          "f:7:25: error: spec.defaultRequest.ram: must be 0 to 100, not \"-1\"",
                          "f:7:29: error: spec.defaultRequest: unknown key \"storage\"."));
}

TEST(NodeErrors, CoverRuntimesAndResources) {
  EXPECT_THAT(errors_of_node("  runtimes:\n  - {name: r, type: vm, primary: true}\n"
                             "  - {name: r, type: vm, primary: true}\n"
                             "  sharedResources: [{name: c}, {name: c}]\n"),
              ElementsAre("f:7:12: error: spec.runtimes[1].name: \"r\" is there twice",
                          "f:7:34: error: spec.runtimes[1].primary: \"r\" is the primary runtime "
                          "already",
                          "f:8:39: error: spec.sharedResources[1].name: \"c\" is there twice"));
  EXPECT_THAT(errors_of_node("  runtimes: [{}]\n  running: [{index: -1}]\n"),
              ElementsAre("f:5:14: error: spec.runtimes[0].name: is missing",
                          "f:5:14: error: spec.runtimes[0].type: is missing",
                          "f:6:13: error: spec.running[0].item: is missing",
                          "f:6:13: error: spec.running[0].version: is missing",
                          "f:6:13: error: spec.running[0].runtime: is missing",
                          "f:6:21: error: spec.running[0].index: must be 0 to 4294967295, not "
                          "\"-1\""));
}

constexpr const char* kDeployment =
    "{apiVersion: berth/v1, kind: Deployment, metadata: {name: d}, spec: {run: [{item: telemetri, "
    "instances: all}]}}";

TEST(ErrorsOfAllTogether, AreFoundAcrossFilesAndKeepTheirPlaces) {
  const std::string item = header("Item") + "  version: 1\n  images: [{command: [x]}]\n";
  EXPECT_THAT(errors_of_files({{"one", kDeployment}, {"two", item}, {"three", item}}),
              ElementsAre("one:1:83: error: spec.run[0].item: there is no item \"telemetri\".",
                          "three:3:18: error: metadata.name: item a@1 is there twice"));
}

TEST(ErrorsOfAllTogether, AreToldBesideThoseOfOneDocument) {
  const std::string flawed = header("Item") + "  version: 1\n  images: [{command: x}]\n";
  EXPECT_THAT(errors_of_files({{"one", kDeployment}, {"two", flawed}}),
              ElementsAre("one:1:83: error: spec.run[0].item: there is no item \"telemetri\".",
                          "two:6:22: error: spec.images[0].command: expected a list, got text"));
}

TEST(ErrorsOfAllTogether, WaitUntilEveryDocumentCanBeIdentified) {
  EXPECT_THAT(errors_of_files({{"one", kDeployment}, {"two", "kind: Itme"}}),
              ElementsAre("two:1:7: error: kind: \"Itme\" is no kind of document (Item, "
                          "Deployment, NodeConfig, Node, EnvOverride, Subject, Namespace, "
                          "Application). Did you mean \"Item\"?"));
}

TEST(ErrorsOfAllTogether, AreNotInventedForWhatCouldNotBeRead) {
  const std::string flawed = header("Item") +
                             "  type: componnt\n  version: 1\n"
                             "  images: [{rootfs: {archive: x}}]\n";
  const std::string all =
      "{apiVersion: berth/v1, kind: Deployment, metadata: {name: d}, spec: {run: [{item: a, "
      "instances: all}]}}";
  EXPECT_THAT(errors_of_files({{"one", flawed}, {"two", all}}),
              ElementsAre("one:5:9: error: spec.type: \"componnt\" is no item type (service, "
                          "component, function). Did you mean \"component\"?"));
}

TEST(Diagnostics, AreKeptInABoundedNumber) {
  std::string spec;
  for (int i = 0; i < 150; ++i) spec += "  x" + std::to_string(i) + ": 1\n";
  const auto errors = errors_of_item(spec);
  ASSERT_EQ(errors.size(), 101u);
  EXPECT_EQ(errors[0], "f:7:3: error: spec: unknown key \"x0\".");
  EXPECT_EQ(errors[100], "f:106:3: error: and 50 more");
}

// The spec of the application begins in line 8.
std::vector<std::string> errors_of_application(const std::string& spec) {
  return errors_of(header("Item") + "  {version: 1, images: [{command: [x]}]}\n---\n" +
                   "apiVersion: berth/v1\nkind: Application\nmetadata: {name: b}\nspec:\n" +
                   "  item: a\n" + spec);
}

TEST(ApplicationErrors, NoneInWhatIsRight) {
  EXPECT_THAT(errors_of_application("  scaling: {minimum: 0, maximum: 1, burst: unlimited}\n"),
              ElementsAre());
  EXPECT_THAT(errors_of_application("  scaling: {idlePercent: {low: 0, high: 99}, cooldown: 0s}\n"),
              ElementsAre());
  EXPECT_THAT(errors_of_application("  sessions: {service: true, idleTimeout: 5m, claim: 0s}\n"),
              ElementsAre());
}

TEST(ApplicationErrors, CoverTheSizesOfPools) {
  EXPECT_THAT(errors_of_application("  scaling: {maximum: 0}\n"),
              ElementsAre("f:12:22: error: spec.scaling.maximum: must be 1 to 1000000, not \"0\""));
  EXPECT_THAT(errors_of_application("  scaling: {minimum: 5, maximum: 4}\n"),
              ElementsAre("f:12:22: error: spec.scaling.minimum: minimum 5 is above maximum 4 "
                          "(left out it is 1)"));
  EXPECT_THAT(errors_of_application("  scaling: {burst: 0}\n"),
              ElementsAre("f:12:20: error: spec.scaling.burst: must be 1 to 1000000, not "
                          "\"0\""));
  EXPECT_THAT(errors_of_application("  scaling: {burst: all}\n"),
              ElementsAre("f:12:20: error: spec.scaling.burst: \"all\" is no whole number"));
}

TEST(ApplicationErrors, CoverWhatIsKeptIdle) {
  EXPECT_THAT(errors_of_application("  scaling: {idle: {low: 1}, idlePercent: {high: 5}}\n"),
              ElementsAre("f:12:25: error: spec.scaling.idle.low: low 1 is above high 0 (left out "
                          "it is 0)"));
  EXPECT_THAT(
      errors_of_application("  scaling: {idle: {high: 1}, idlePercent: {high: 5}}\n"),
      ElementsAre("f:12:43: error: spec.scaling.idlePercent: idle is there too; only one of "
                  "them can be: leave one out"));
  EXPECT_THAT(errors_of_application("  scaling: {idlePercent: {high: 100}}\n"),
              ElementsAre("f:12:33: error: spec.scaling.idlePercent.high: must be 0 to 99 percent, "
                          "not 100"));
  EXPECT_THAT(errors_of_application("  scaling: {standby: {low: 2, high: 1}}\n"),
              ElementsAre("f:12:28: error: spec.scaling.standby.low: low 2 is above high 1 (left "
                          "out it is 0)"));
}

TEST(ApplicationErrors, CoverSessions) {
  EXPECT_THAT(errors_of_application("  sessions: {perInstance: 0}\n"),
              ElementsAre("f:12:27: error: spec.sessions.perInstance: must be 1 to 1000000, not "
                          "\"0\""));
  EXPECT_THAT(errors_of_application("  sessions: {idleTimeout: 5m}\n"),
              ElementsAre("f:12:27: error: spec.sessions.idleTimeout: only the session service "
                          "tells whether there are clients: leave it out, or set service: true"));
  EXPECT_THAT(errors_of_application("  sessions: {openTimeout: 0s}\n"),
              ElementsAre("f:12:27: error: spec.sessions.openTimeout: must be more than 0s"));
  EXPECT_EQ(errors_of_application("  sessions: {closeGrace: -1s}\n").size(), 1u);
}

TEST(ApplicationErrors, DoNotComeFromThoseOfTheItem) {
  EXPECT_THAT(errors_of(header("Item") + "  {version: 1, type: none, images: [{command: [x]}]}\n"
                                         "---\napiVersion: berth/v1\nkind: Application\n"
                                         "metadata: {name: b}\nspec: {item: a}\n"),
              testing::SizeIs(1));
}

TEST(NamespaceErrors, OnlyApplicationsHaveOne) {
  EXPECT_THAT(errors_of("apiVersion: berth/v1\nkind: Namespace\nmetadata: {name: a}\n"),
              ElementsAre());
  EXPECT_THAT(
      errors_of("apiVersion: berth/v1\nkind: Node\nmetadata: {name: a, namespace: b}\nspec: {}\n"),
      ElementsAre(
          "f:3:32: error: metadata.namespace: must be left out: Node documents belong to no "
          "namespace, only applications do"));
}

}  // namespace
}  // namespace berth::codec
