#include "cli/show/plan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using model::ItemId;
using model::NodeId;
using model::Place;
using model::RuntimeId;
using model::SubjectId;
using placement::Action;
using placement::Plan;
using placement::Reason;
using ::testing::HasSubstr;
using ::testing::Not;

Place place(const char* node) { return {NodeId(node), RuntimeId("runc")}; }

placement::Placement a_placement(std::uint32_t index, Action action, const char* node) {
  return {.key = {ItemId("app"), SubjectId("vehicle"), index},
          .version = "1.0.0",
          .place = place(node),
          .image = 0,
          .action = action,
          .from = std::nullopt};
}

placement::Placement a_move(std::uint32_t index, const char* from, const char* to) {
  placement::Placement placement = a_placement(index, Action::Move, to);
  placement.from = place(from);
  return placement;
}

placement::NodeVerdict a_verdict(const char* node, Reason reason, std::int64_t asked,
                                 std::int64_t has) {
  return {.node = NodeId(node),
          .reason = reason,
          .asked = asked,
          .has = has,
          .runtime = {},
          .readiness = {},
          .detail = "in words"};
}

// Two nodes and the item, as a snapshot needs them.
class PlanTable : public ::testing::Test {
 protected:
  PlanTable() {
    item_.id = ItemId("app");
    item_.version = "1.0.0";
    item_.images.resize(1);
    for (const char* name : {"n1", "n2"}) {
      snapshot_.nodes.push_back({});
      snapshot_.nodes.back().id = NodeId(name);
      snapshot_.nodes.back().info = &info_;
    }
    snapshot_.items.emplace(model::key_of(item_), &item_);
  }

  std::string render(Detail detail = Detail::Short) const {
    const placement::Directory directory(snapshot_);
    return plan_table({plan_, directory, detail, {}, placement::downtimes_of(snapshot_, plan_)});
  }

  model::Item item_;
  model::NodeInfo info_;
  placement::Snapshot snapshot_;
  Plan plan_;
};

TEST_F(PlanTable, ShowsWhatHappensAndSumsItUp) {
  plan_.placements = {a_placement(0, Action::Start, "n1"), a_move(1, "n1", "n2"),
                      a_placement(2, Action::Keep, "n2")};
  const std::string table = render();
  EXPECT_THAT(table, HasSubstr("  ACTION  INSTANCE       VERSION  NODE/RUNTIME  FROM     DOWNTIME\n"
                               "  start   app/vehicle/0  1.0.0    n1/runc\n"
                               "  move    app/vehicle/1  1.0.0    n2/runc       n1/runc  none\n"
                               "  keep    app/vehicle/2  1.0.0    n2/runc\n"));
  EXPECT_THAT(table, HasSubstr("\n1 start, 1 move, 1 keep\n"));
}

TEST_F(PlanTable, ForetellsRestarts) {
  item_.move = model::MovePolicy::StopFirst;
  plan_.placements = {a_move(0, "n1", "n2"), a_placement(1, Action::Update, "n1")};
  EXPECT_THAT(render(), HasSubstr("stops first"));
  EXPECT_THAT(render(), HasSubstr("restarts"));
  EXPECT_THAT(render(), HasSubstr("1 move (1 restart expected), 1 update (1 restart expected)\n"));
}

TEST_F(PlanTable, ForetellsThatAnExclusiveResourceStopsFirst) {
  item_.shared_resources = {"camera"};
  info_.shared_resources = {{"camera", 1}};
  plan_.placements = {a_move(0, "n1", "n2")};
  EXPECT_THAT(render(), HasSubstr("stops first"));
  info_.shared_resources = {{"camera", 2}};
  EXPECT_THAT(render(), Not(HasSubstr("stops first")));
}

TEST_F(PlanTable, ForetellsThatWhatHandsItsStateOverStopsFirst) {
  item_.quotas.state = Bytes{1 << 20};
  plan_.placements = {a_move(0, "n1", "n2")};
  EXPECT_THAT(render(), HasSubstr("stops first"));
  EXPECT_THAT(render(), HasSubstr("1 move (1 restart expected)"));
  item_.state_move = model::StateMove::LastCopy;
  EXPECT_THAT(render(), Not(HasSubstr("stops first")));
}

TEST_F(PlanTable, KnowsThatALostNodeRunsNothing) {
  snapshot_.nodes[0].reachability = placement::Reachability::Lost;
  plan_.placements = {a_move(0, "n1", "n2")};
  EXPECT_THAT(render(), HasSubstr("is down now"));
}

TEST_F(PlanTable, ShowsAMoveThatLeavesStorageBehind) {
  plan_.placements = {a_move(0, "n1", "n2")};
  EXPECT_THAT(render(), Not(HasSubstr("storage stays behind")));
  plan_.placements[0].leaves_storage = true;
  EXPECT_THAT(render(), HasSubstr("storage stays behind"));
}

TEST_F(PlanTable, MakesOneRowOfManyAlikeUnlessItIsWide) {
  for (std::uint32_t i = 0; i < 500; ++i) {
    plan_.placements.push_back(a_placement(i, Action::Start, "n1"));
  }
  EXPECT_THAT(render(), HasSubstr("app/vehicle/0..499   x500  1.0.0    n1/runc\n"));
  EXPECT_THAT(render(Detail::Wide), HasSubstr("app/vehicle/499 "));
}

TEST_F(PlanTable, OnlyCountsManyThatStay) {
  for (std::uint32_t i = 0; i < 30; ++i) {
    plan_.placements.push_back(a_placement(i, Action::Keep, "n1"));
  }
  EXPECT_THAT(render(), HasSubstr("keep    30 instances where they are"));
  EXPECT_THAT(render(), HasSubstr("No change: 30 keep\n"));
}

TEST_F(PlanTable, TellsWhatEachNodeSaidToTheRefused) {
  plan_.refused = {{.key = {ItemId("app"), SubjectId("vehicle"), 0},
                    .version = "1.0.0",
                    .reason = Reason::InsufficientRam,
                    .nodes = {a_verdict("n1", Reason::InsufficientRam, 128 << 20, 64 << 20),
                              a_verdict("n2", Reason::InsufficientRam, 1 << 30, (1 << 30) - 1)},
                    .hint = "free 64 MiB of ram on n1",
                    .left_running = false}};
  EXPECT_THAT(render(),
              HasSubstr("  app/vehicle/0 1.0.0: InsufficientRam\n"
                        "    n1  InsufficientRam  asked 128 MiB, has 64 MiB\n"
                        "    n2  InsufficientRam  asked 1073741824 bytes, has 1073741823\n"
                        "    hint: free 64 MiB of ram on n1\n"));
  EXPECT_THAT(render(), HasSubstr("\n1 refused\n"));
}

TEST_F(PlanTable, ListsStops) {
  plan_.stops = {{{ItemId("old"), SubjectId("vehicle"), 3}, "0.9", place("n2")}};
  EXPECT_THAT(render(), HasSubstr("Stops\n  INSTANCE       VERSION  NODE/RUNTIME\n"
                                  "  old/vehicle/3  0.9      n2/runc\n"));
}

TEST_F(PlanTable, DrawsTheLoadBeforeAndAfter) {
  plan_.nodes = {{.node = NodeId("n1"),
                  .capacity = {Dmips(1000), Bytes(1 << 30)},
                  .before = {Dmips(100), Bytes(0)},
                  .reserved = {Dmips(600), Bytes(1 << 29)},
                  .available = {Dmips(400), Bytes(1 << 29)}}};
  EXPECT_THAT(render(), HasSubstr("n1    ######....  10% ->  60%  400 DMIPS  "
                                  "#####.....   0% ->  50%  512 MiB\n"));
}

TEST(IndexRanges, AreShort) {
  EXPECT_EQ(index_ranges({0}), "0");
  EXPECT_EQ(index_ranges({0, 1}), "0,1");
  EXPECT_EQ(index_ranges({0, 1, 2, 7}), "0..2,7");
  EXPECT_EQ(index_ranges({0, 3, 6, 9, 12, 15}), "0,3,6,...,15");
}

}  // namespace
}  // namespace berth::cli
