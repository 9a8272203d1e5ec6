#include "runtime/component/slot_record.h"

#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

Component a_recorded_component(const std::string& version) {
  return {.found = {{model::ItemId{"os"}, model::SubjectId{"vehicle"}, 3},
                    {{1, 7}, 2},
                    model::ItemType::Component,
                    version},
          .identity = "sha256:12",
          .revert = {"/bin/revert", "two \"words\""},
          .ended = true};
}

TEST(SlotRecord, IsReadAsItWasWritten) {
  for (const auto& [phase, name] : model::Names<Phase>::kTable) {
    const SlotState state{.phase = phase,
                          .confirmed = Slot::B,
                          .a = a_recorded_component("2"),
                          .b = a_recorded_component("1")};
    const auto read = decode_slot_state(encode(state));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, state);
  }
  EXPECT_EQ(decode_slot_state(encode(SlotState{})).value(), SlotState{});
}

TEST(SlotRecord, WhoPreparesAMachineNeedsToSayLittle) {
  const auto read =
      decode_slot_state(R"({"confirmed": "a", "slots": {"a": {"item": "os", "version": "1.0"}}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->confirmed, Slot::A);
  EXPECT_EQ(read->a->found, (model::FoundRun{{model::ItemId{"os"}, model::SubjectId{"default"}, 0},
                                             {},
                                             model::ItemType::Component,
                                             "1.0"}));
}

TEST(SlotRecord, SaysWhatIsWrong) {
  const auto flaw = [](std::string_view text) {
    const auto read = decode_slot_state(text);
    if (read) return std::string("nothing");
    EXPECT_EQ(read.error().code, Code::Damaged);
    return read.error().message;
  };
  EXPECT_EQ(flaw("[]"), "it is no JSON object");
  EXPECT_NE(flaw("{\"phase\""), "nothing");
  EXPECT_EQ(flaw(R"({"phase": "resting"})"), "phase: \"resting\" is no phase of an update");
  EXPECT_EQ(flaw(R"({"confirmed": "c"})"), "confirmed: \"c\" is no slot");
  EXPECT_EQ(flaw(R"({"slots": {"a": {"item": "os"}}})"), "slot a: version is missing");
  EXPECT_EQ(flaw(R"({"phase": "trying", "confirmed": "a"})"),
            "an update is under way, but nothing says to what");
  EXPECT_NE(flaw(R"({"slots": {"a": {"item": "os", "version": "1", "index": -1}}})"), "nothing");
}

}  // namespace
}  // namespace berth::runtime
