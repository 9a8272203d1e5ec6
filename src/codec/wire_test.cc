#include "codec/wire.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "codec/arbitrary_messages.h"

namespace berth::codec {
namespace {

template <class Message>
Message over_the_wire(const Message& message) {
  Message back;
  EXPECT_TRUE(back.ParseFromString(message.SerializeAsString()));
  return back;
}

TEST(Wire, CommandsComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check("from_wire(to_wire(x)) == x", [] {
    ArbitraryMessages messages(*rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>()));
    const model::Command command = messages.command();
    const auto back = from_wire(over_the_wire(to_wire(command)));
    if (!back) RC_FAIL(back.error().message);
    RC_ASSERT((*back == command));
  }));
}

TEST(Wire, PoolCommandsComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check("from_wire(to_wire(x)) == x", [] {
    ArbitraryMessages messages(*rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>()));
    const model::PoolCommand command = messages.pool_command();
    const auto back = from_wire(over_the_wire(to_wire(command)));
    if (!back) RC_FAIL(back.error().message);
    RC_ASSERT((*back == command));
  }));
}

TEST(Wire, ReportsComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check("from_wire(to_wire(x)) == x", [] {
    ArbitraryMessages messages(*rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>()));
    const model::Report report = messages.report();
    const auto back = from_wire(over_the_wire(to_wire(report)));
    if (!back) RC_FAIL(back.error().message);
    RC_ASSERT((*back == report));
  }));
}

// By hand, because what no generator fills no generator would miss.
TEST(Wire, KeepsEveryFieldOfAStatus) {
  model::Report report;
  report.boot_id = "b";
  report.instances.push_back({.key = {model::ItemId("i"), model::SubjectId("s"), 3},
                              .type = model::ItemType::Function,
                              .version = "1.2",
                              .runtime = model::RuntimeId("r"),
                              .state = model::InstanceState::Failed,
                              .problem = {"Reason", "why"},
                              .exit_code = -9,
                              .restarts = 4,
                              .finished = true,
                              .stopping = true,
                              .usage = {Dmips(5), Bytes(6)},
                              .footprint = {Bytes(7), Bytes(8), {9, 10}}});
  EXPECT_EQ(from_wire(to_wire(report)).value(), report);
}

TEST(Wire, SaysThatAStoreCannotBeWrittenWhereAnOlderControlPlaneDoesNotStumbleOverIt) {
  model::Report report;
  report.boot_id = "b";
  report.in_doubt = true;
  report.untold_runtimes = {model::RuntimeId("crun")};
  report.node.emplace();
  report.node->store_problem = "the disk is full";
  const v1::Report sent = to_wire(report);
  EXPECT_EQ(sent.node().find("storeProblem"), std::string::npos)
      << "it refuses what it does not know";
  EXPECT_EQ(from_wire(sent).value(), report);
}

TEST(Wire, TakesWhatIsOnlyBeingErasedWithoutVersionAndRuntime) {
  model::Report report;
  report.boot_id = "b";
  report.instances.push_back({.key = {model::ItemId("i"), model::SubjectId("s"), 3},
                              .state = model::InstanceState::Inactive,
                              .stopping = true});
  const auto back = from_wire(to_wire(report));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, report);
}

v1::Report a_report() {
  v1::Report report;
  report.set_boot_id("b");
  v1::ReportedStatus& status = *report.add_instances();
  status.mutable_key()->set_item("web");
  status.mutable_key()->set_subject("default");
  status.set_type("service");
  status.set_version("1");
  status.set_runtime("runc");
  status.set_state(v1::ACTIVE);
  return report;
}

template <class Change>
std::string refusal_of_report(Change change) {
  v1::Report report = a_report();
  EXPECT_TRUE(from_wire(report));
  change(report);
  const auto refused = from_wire(report);
  if (refused) return "";
  EXPECT_EQ(refused.error().code, Code::InvalidInput);
  return refused.error().message;
}

TEST(Wire, SaysWhatIsWrongWithAReport) {
  const auto with = [](auto change) {
    return refusal_of_report([&](v1::Report& report) { change(*report.mutable_instances(0)); });
  };
  EXPECT_EQ(with([](auto& status) { status.mutable_key()->set_item("../etc"); }),
            "instances[0].key.item: \"../etc\" is no name: letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit");
  EXPECT_EQ(with([](auto& status) { status.clear_key(); }),
            "instances[0].key.item: must not be empty");
  EXPECT_EQ(with([](auto& status) { status.mutable_key()->set_subject(std::string(254, 'a')); }),
            "instances[0].key.subject: is longer than 253 bytes");
  EXPECT_EQ(with([](auto& status) { status.set_type("daemon"); }),
            "instances[0].type: \"daemon\" is no type of an item");
  EXPECT_EQ(with([](auto& status) { status.clear_state(); }), "instances[0].state: 0 is no state");
  EXPECT_EQ(with([](auto& status) { status.set_state(static_cast<v1::InstanceState>(77)); }),
            "instances[0].state: 77 is no state");
  EXPECT_EQ(with([](auto& status) { status.mutable_usage()->set_ram(-1); }),
            "instances[0].usage.ram: must be 0 to 1125899906842624, not -1");
  EXPECT_EQ(
      with([](auto& status) { status.mutable_problem()->set_message(std::string(5000, 'x')); }),
      "instances[0].problem.message: is too long");
  EXPECT_EQ(with([](auto& status) { status.set_version(""); }),
            "instances[0].version: must not be empty");
  EXPECT_EQ(refusal_of_report([](v1::Report& report) { report.clear_boot_id(); }),
            "bootId: must not be empty");
}

TEST(Wire, SaysWhatIsWrongWithANode) {
  const auto with = [](const std::string& node) {
    return refusal_of_report([&](v1::Report& report) { report.set_node(node); });
  };
  EXPECT_EQ(with("{"), "node: not JSON, at byte 2");
  EXPECT_EQ(with("[]"), "node: expected a map, got a list");
  EXPECT_EQ(with(R"({"runtimes":[{"name":"a b","type":"runc"}]})"),
            "node.runtimes[0].name: \"a b\" is no name: letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit");
  EXPECT_EQ(with(R"({"runtimes":[{"name":"a","type":"runc"},{"name":"a","type":"runc"}]})"),
            "node.spec.runtimes[1].name: \"a\" is there twice");
  EXPECT_EQ(with(std::string(2 << 20, ' ')), "node: is too long");
  EXPECT_EQ(with(std::string(1 << 20, '[')), "node: nested too deeply");
}

TEST(Wire, TakesNoEndlessLists) {
  EXPECT_EQ(refusal_of_report([](v1::Report& report) {
              for (int i = 0; i <= WireLimits::kInstancesMax; ++i) report.add_gone();
            }),
            "gone: has 100001 entries, more than 100000");
}

v1::Command a_command() {
  v1::Command command;
  command.mutable_number()->set_epoch(1);
  v1::InstanceSpec& spec = *command.add_run();
  spec.mutable_key()->set_item("web");
  spec.mutable_key()->set_subject("default");
  spec.set_item(R"({"name":"web","version":"1","images":[{"command":["sleep","1"]}]})");
  spec.set_runtime("process");
  return command;
}

template <class Change>
std::string refusal_of_command(Change change) {
  v1::Command command = a_command();
  const auto fine = from_wire(command);
  EXPECT_TRUE(fine) << fine.error().message;
  change(command);
  const auto refused = from_wire(command);
  if (refused) return "";
  EXPECT_EQ(refused.error().code, Code::InvalidInput);
  return refused.error().message;
}

TEST(Wire, SaysWhatIsWrongWithACommand) {
  const auto with = [](auto change) {
    return refusal_of_command([&](v1::Command& command) { change(*command.mutable_run(0)); });
  };
  EXPECT_EQ(with([](auto& spec) { spec.set_image(1); }), "run[0].image: there is no image 1");
  EXPECT_EQ(with([](auto& spec) { spec.mutable_key()->set_item("db"); }),
            "run[0].item: is web, but the key says db");
  EXPECT_EQ(with([](auto& spec) { spec.set_item("{}"); }), "run[0].item.name: is missing");
  EXPECT_EQ(with([](auto& spec) { spec.set_priority(1LL << 40); }),
            "run[0].priority: must be -2147483648 to 2147483647, not 1099511627776");
  EXPECT_EQ(with([](auto& spec) { spec.set_runtime(""); }), "run[0].runtime: must not be empty");
  EXPECT_EQ(refusal_of_command([](v1::Command& command) { command.clear_number(); }),
            "number: is missing");
  EXPECT_EQ(refusal_of_command([](v1::Command& command) {
              command.mutable_base();
              *command.add_keep() = command.run(0).key();
            }),
            "keep: only a full command can have it");
}

template <class Message>
void check_answer(const std::string& bytes) {
  Message message;
  if (!message.ParseFromString(bytes)) return;
  const auto value = from_wire(message);
  if (!value) {
    EXPECT_EQ(value.error().code, Code::InvalidInput);
    return;
  }
  const auto again = from_wire(to_wire(*value));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *value);
}

// The small sister of wire_fuzz.
TEST(Wire, AnswersWhateverBytesCome) {
  const google::protobuf::LogSilencer silence;
  ArbitraryMessages messages(7);
  Random random(7);
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t kind = random.below(3);
    std::string bytes = kind == 0   ? to_wire(messages.command()).SerializeAsString()
                        : kind == 1 ? to_wire(messages.pool_command()).SerializeAsString()
                                    : to_wire(messages.report()).SerializeAsString();
    for (std::uint64_t changes = random.below(4); changes > 0 && !bytes.empty(); --changes) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    if (random.below(8) == 0) bytes.resize(random.below(bytes.size() + 1));
    check_answer<v1::Command>(bytes);
    check_answer<v1::Report>(bytes);
    check_answer<v1::PoolCommand>(bytes);
  }
}

// What a program has printed may be anything, and must not make a message that is refused.
TEST(Wire, TextsForPeopleBecomeUtf8OfBoundedLength) {
  model::Report report;
  report.boot_id = "b";
  auto& status = report.instances.emplace_back();
  status.key = {model::ItemId("i"), model::SubjectId("s"), 0};
  status.version = "1";
  status.runtime = model::RuntimeId("r");
  status.problem.message = std::string("a\xFF\xC3\0b", 5);
  EXPECT_EQ(from_wire(over_the_wire(to_wire(report)))->instances[0].problem.message, "a???b");
  for (const std::size_t offset : {0U, 1U, 2U, 3U}) {
    status.problem.message = std::string(offset, 'x');
    for (int i = 0; i < 3000; ++i) status.problem.message += "\xF0\x9F\x9A\xA2";
    const auto back = from_wire(over_the_wire(to_wire(report)));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(status.problem.message.starts_with(back->instances[0].problem.message));
    EXPECT_GT(back->instances[0].problem.message.size(), 4090U);
  }
}

}  // namespace
}  // namespace berth::codec
