#include "controld/api/call.h"

#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>

#include "berth/v1/api.pb.h"

namespace berth::controld::api {
namespace {

AnswerPtr numbered(std::uint64_t number) {
  v1::Revision revision;
  revision.set_revision(number);
  return answer_of(revision);
}

std::uint64_t number_of(const Call::Next& next) {
  return static_cast<const v1::Revision&>(std::get<AnswerPtr>(next)->message()).revision();
}

TEST(Answer, HasBothForms) {
  EXPECT_EQ(numbered(7)->json(), R"({"revision":"7","consequences":[]})");
  const Answer from_json(R"({"revision":"7"})", v1::Revision::default_instance());
  EXPECT_EQ(static_cast<const v1::Revision&>(from_json.message()).revision(), 7u);
}

TEST(Answer, JsonThatIsReadyKeepsItsOrder) {
  const Answer answer(R"({"b":1,"a":2})", google::protobuf::Struct::default_instance());
  EXPECT_EQ(answer.json(), R"({"b":1,"a":2})");
}

TEST(Call, GivesWhatWasSentAndThenItsEnd) {
  Call call({});
  EXPECT_TRUE(std::holds_alternative<std::monostate>(call.next()));
  EXPECT_TRUE(call.send(numbered(1)));
  call.answer(numbered(2));
  EXPECT_EQ(number_of(call.next()), 1u);
  EXPECT_EQ(number_of(call.next()), 2u);
  EXPECT_FALSE(std::get<Call::End>(call.next()).error);
  EXPECT_FALSE(call.send(numbered(3)));
}

TEST(Call, AFailureDropsWhatWaits) {
  Call call({});
  call.send(numbered(1));
  call.fail(not_found("gone"));
  EXPECT_EQ(std::get<Call::End>(call.next()).error, not_found("gone"));
}

TEST(Call, WhoDoesNotReadIsCutOff) {
  Call call({}, 2);
  int ends = 0;
  call.when_over([&] { ++ends; });
  EXPECT_TRUE(call.send(numbered(1)));
  EXPECT_TRUE(call.send(numbered(2)));
  EXPECT_FALSE(call.send(numbered(3)));
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(std::get<Call::End>(call.next()).error->code, Code::Exhausted);
}

TEST(Call, WhatWaitsIsBoundedInBytesToo) {
  Call call({});
  EXPECT_TRUE(call.send(numbered(1), Call::kQueuedBytesMax - 1));
  EXPECT_TRUE(call.send(numbered(2), 1));
  call.next();
  EXPECT_TRUE(call.send(numbered(3), 1)) << "there is room again";
  EXPECT_FALSE(call.send(numbered(4), Call::kQueuedBytesMax - 1));
}

TEST(Call, WakesItsFrontAndTellsWhenAllIsRead) {
  Call call({});
  int wakes = 0;
  int drained = 0;
  call.set_wake([&] { ++wakes; });
  call.send(numbered(1));
  EXPECT_EQ(wakes, 1);
  call.when_drained([&] { ++drained; });
  EXPECT_EQ(drained, 0);
  call.next();
  EXPECT_EQ(drained, 1);
}

TEST(Call, WhoWakesLateIsWokenAtOnce) {
  Call call({});
  call.send(numbered(1));
  int wakes = 0;
  call.set_wake([&] { ++wakes; });
  EXPECT_EQ(wakes, 1);
}

TEST(Call, InputThatComesBeforeAnybodyAsksForItIsKept) {
  Call call({});
  std::vector<std::string> got;
  for (const char* data : {"one", "two"}) {
    v1::ExecInput input;
    input.set_data(data);
    call.input(&input);
  }
  call.input(nullptr);
  call.when_input([&](const Message* message) {
    got.push_back(message == nullptr ? "end" : static_cast<const v1::ExecInput*>(message)->data());
  });
  EXPECT_EQ(got, (std::vector<std::string>{"one", "two", "end"}));
  v1::ExecInput late;
  late.set_data("late");
  call.input(&late);
  EXPECT_EQ(got.back(), "late");
}

TEST(Call, InputThatNobodyAsksForIsBounded) {
  Call call({});
  v1::ExecInput input;
  input.set_data(std::string(600 << 10, 'x'));
  call.input(&input);
  EXPECT_FALSE(call.is_over());
  call.input(&input);
  ASSERT_TRUE(call.failure());
  EXPECT_EQ(call.failure()->code, Code::Exhausted);
}

TEST(Call, AnAbandonedOneTakesNothing) {
  Call call({});
  call.abandon();
  EXPECT_FALSE(call.send(numbered(1)));
  bool told = false;
  call.when_over([&] { told = true; });
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace berth::controld::api
