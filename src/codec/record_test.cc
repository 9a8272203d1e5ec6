#include "codec/record.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "codec/arbitrary.h"

namespace berth::codec {
namespace {

template <class T>
class Records : public testing::Test {};

using Types =
    testing::Types<model::Item, model::Deployment, model::NodeConfig, model::NodeRecord,
                   model::NetworkRecord, model::NodeAddressRecord, model::FreedAddressRecord,
                   model::RolloutRecord, model::NodeNetwork, model::InstanceRecord,
                   model::StateRecord, model::DecisionRecord, model::GroupRecord,
                   model::FreedIdRecord, model::CounterRecord, model::Namespace, model::Application,
                   model::NumberBlockRecord, model::PortBlockRecord, model::PoolNote,
                   model::WantedRecord, model::CommandNumber>;
TYPED_TEST_SUITE(Records, Types);

TYPED_TEST(Records, ComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check("decode(encode(x)) == x", [] {
    const auto seed = *rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>());
    Arbitrary arbitrary(Form::Record, seed);
    for (int i = 0; i < 10; ++i) {
      const auto record = arbitrary.make<TypeParam>();
      const auto back = decode_record<TypeParam>(encode_record(record));
      RC_ASSERT(back.has_value());
      RC_ASSERT((*back == record));
    }
  }));
}

TYPED_TEST(Records, OfNewObjectsComeBackAsTheyWere) {
  EXPECT_EQ(decode_record<TypeParam>(encode_record(TypeParam{})).value(), TypeParam{});
}

TYPED_TEST(Records, ThatWereCutOffAreDamaged) {
  Arbitrary arbitrary(Form::Record, 1);
  const std::string bytes = encode_record(arbitrary.make<TypeParam>());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto back = decode_record<TypeParam>(std::string_view(bytes).substr(0, length));
    ASSERT_FALSE(back.has_value());
    EXPECT_EQ(back.error().code, Code::Damaged);
  }
}

template <class T>
std::string damage_of(std::string_view bytes) {
  const auto result = decode_record<T>(bytes);
  return result ? "" : result.error().message;
}

TEST(DecodeRecord, BringsBackTheBytesOfAState) {
  model::StateRecord record;
  record.state.content = std::string("a\nb\0c", 5);
  EXPECT_EQ(decode_record<model::StateRecord>(encode_record(record)).value(), record);
}

TEST(DecodeRecord, BringsBackTheDataOfSessions) {
  model::PoolNote note;
  for (const char* data : {"a\n\xFF", "", "7\n"}) {
    note.sessions.emplace_back().session.data = data;
  }
  EXPECT_EQ(decode_record<model::PoolNote>(encode_record(note)).value(), note);
}

TEST(DecodeRecord, SaysWhatIsDamaged) {
  using Group = model::GroupRecord;
  EXPECT_EQ(damage_of<Group>(R"({"item":"a","gid":1})"), "");
  EXPECT_EQ(damage_of<Group>(""), "not JSON, at byte 1");
  EXPECT_EQ(damage_of<Group>(R"({"item":"a"})"), "gid: is missing");
  EXPECT_EQ(damage_of<Group>(R"({"item":"a","gid":-1})"),
            "gid: must be 0 to 4294967295, not \"-1\"");
  EXPECT_EQ(damage_of<Group>(R"({"item":"a","gid":1,"gib":2})"),
            "unknown key \"gib\". Did you mean \"gid\"?");
  EXPECT_EQ(damage_of<Group>(R"({"item":"a","gid":1,"gid":2})"), "\"gid\" is there twice");
  EXPECT_EQ(damage_of<Group>("[]"), "expected a map, got a list");
  EXPECT_EQ(damage_of<Group>(std::string(1'000'000, '[')), "nested too deeply");
  EXPECT_EQ(damage_of<Group>("{\"item\":\"\xFF\",\"gid\":1}"), "not JSON, at byte 10");
}

// Before what nodes answered was kept as lines, it was a list.
TEST(DecodeRecord, ReadsTheAnswersOfFormerStores) {
  const auto decision = decode_record<model::DecisionRecord>(
      R"({"key":{"item":"a","subject":"s"},"revision":7,"kind":"Placed","text":"1 on n/crun",)"
      R"("place":{"node":"n","runtime":"crun"},"answers":{"nodes":[)"
      R"({"node":"m","reason":"InsufficientCpu","asked":600,"has":412},)"
      R"({"node":"n","has":900,"what":"crun"}],"leftOut":3}})");
  ASSERT_TRUE(decision) << decision.error().message;
  const model::NodeAnswer m{.node = model::NodeId("m"),
                            .reason = model::Reason::InsufficientCpu,
                            .behind = {},
                            .asked = 600,
                            .has = 412,
                            .what = {}};
  const model::NodeAnswer n{
      .node = model::NodeId("n"), .reason = {}, .behind = {}, .has = 900, .what = "crun"};
  EXPECT_EQ(decision->answers.nodes(), (std::vector{m, n}));
  EXPECT_EQ(decision->answers.left_out, 3u);
}

TEST(EncodeRecord, IsCompactAndLeavesOutDefaults) {
  EXPECT_EQ(encode_record(model::CommandNumber{1, 18446744073709551615u}),
            R"({"epoch":1,"number":18446744073709551615})");
  model::InstanceRecord record;
  record.key = {model::ItemId("a"), model::SubjectId("s"), 2};
  record.version = "1";
  record.phase = model::Phase::Placed;
  record.place = model::Place{model::NodeId("n"), model::RuntimeId("r")};
  EXPECT_EQ(encode_record(record),
            R"({"key":{"item":"a","subject":"s","index":2},"version":"1","phase":"placed",)"
            R"("place":{"node":"n","runtime":"r"},"uid":0,"gid":0})");
}

// By hand, because what no description names no generator would miss.
TEST(Records, KeepEveryField) {
  const model::Place place{model::NodeId("n"), model::RuntimeId("r")};
  const model::InstanceRecord instance{
      .key = {model::ItemId("i"), model::SubjectId("s"), 3},
      .type = model::ItemType::Component,
      .version = "1",
      .priority = -7,
      .phase = model::Phase::Cached,
      .place = place,
      .image = 1,
      .leaving = model::Leaving{place, "0", 2, true},
      .own_runtime = place,
      .preinstalled = true,
      .uid = 5000,
      .gid = 5001,
      .paused = true,
      .first_command = {1, 2},
  };
  EXPECT_EQ(decode_record<model::InstanceRecord>(encode_record(instance)).value(), instance);

  const model::DecisionRecord decision{
      .key = instance.key,
      .revision = 7,
      .kind = model::DecisionKind::Displaced,
      .text = "1",
      .because = "it made room for high/s/0",
      .place = place,
      .reason = model::Reason::InsufficientCpu,
      .hint = "free 188 DMIPS on n",
      .answers = model::answers_of({{.node = model::NodeId("m"),
                                     .reason = model::Reason::NoMatchingLabels,
                                     .behind = {},
                                     .what = "zone=edge"},
                                    {.node = model::NodeId("n"),
                                     .reason = {},
                                     .behind = model::Preference::Cpu,
                                     .asked = 600,
                                     .has = -412,
                                     .what = {}}},
                                   3)};
  EXPECT_EQ(decode_record<model::DecisionRecord>(encode_record(decision)).value(), decision);

  const model::CounterRecord counters{
      2, 3, 4, 5, 6, "c1", model::Hold{model::HoldReason::StoreBehind, {1, 2}, model::NodeId("n")}};
  EXPECT_EQ(decode_record<model::CounterRecord>(encode_record(counters)).value(), counters);

  model::NodeRecord node{.id = model::NodeId("n"), .info = {}, .cordoned = true};
  node.info = {.type = "vm",
               .state = model::NodeState::Paused,
               .capacity = {Dmips(1), Bytes(2)},
               .partitions = {Bytes(3), Bytes(4), true, true},
               .shared_resources = {{"camera", 2}},
               .runtimes = {{.id = model::RuntimeId("r"),
                             .type = model::RuntimeType::Vm,
                             .platform = {"linux", "arm64", "v8", "12", {"seccomp"}},
                             .limits = {Dmips(5), Bytes(6), 7},
                             .primary = true,
                             .ready = model::Readiness::Unknown}}};
  EXPECT_EQ(decode_record<model::NodeRecord>(encode_record(node)).value(), node);

  model::WantedRecord wanted;
  wanted.spec.key = instance.key;
  wanted.spec.item.id = model::ItemId("i");
  wanted.spec.image = 1;
  wanted.spec.runtime = place.runtime;
  wanted.spec.priority = 9;
  wanted.spec.uid = 10;
  wanted.spec.gid = 11;
  wanted.spec.paused = true;
  wanted.generation = {1, 2};
  wanted.finished = true;
  wanted.exit_code = -9;
  wanted.successor = {wanted.spec, {3, 4}};
  EXPECT_EQ(decode_record<model::WantedRecord>(encode_record(wanted)).value(), wanted);
}

}  // namespace
}  // namespace berth::codec
