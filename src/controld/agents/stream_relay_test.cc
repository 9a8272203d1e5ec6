#include "controld/agents/stream_relay.h"

#include <gtest/gtest.h>

#include "link/stream_window.h"

namespace berth::controld {
namespace {

class StreamsTest : public testing::Test {
 protected:
  StreamsTest() { streams_.open_logs({{}, "n1", 1}, {}, call_); }

  void piece_comes(std::size_t bytes) {
    v1::StreamData piece;
    piece.set_stream(sent_.front().open_logs().stream());
    piece.set_data(std::string(bytes, 'x'));
    streams_.received(1, piece);
  }
  void caller_takes_one() { ASSERT_TRUE(std::holds_alternative<api::AnswerPtr>(call_->next())); }
  std::size_t granted() const {
    std::size_t all = 0;
    for (const v1::ToAgent& message : sent_) all += message.stream().credit();
    return all;
  }

  std::vector<v1::ToAgent> sent_;
  StreamRelay streams_{
      [this](std::uint64_t, v1::ToAgent message) { sent_.push_back(std::move(message)); }};
  const api::CallPtr call_ = std::make_shared<api::Call>(api::Caller());
};

TEST_F(StreamsTest, AnAgentIsToldHowMuchItMaySend) {
  EXPECT_EQ(sent_.front().open_logs().window(), link::kOutputWindow);
}

TEST_F(StreamsTest, NothingIsGrantedForACallerWhoDoesNotRead) {
  for (std::size_t i = 0; i < 8; ++i) piece_comes(link::kPieceBytes);
  EXPECT_EQ(granted(), 0u);
  EXPECT_FALSE(call_->is_over());
}

TEST_F(StreamsTest, WhatTheCallerTakesIsGranted) {
  for (std::size_t i = 0; i < 8; ++i) piece_comes(link::kPieceBytes);
  for (std::size_t i = 0; i < 8; ++i) caller_takes_one();
  EXPECT_EQ(granted(), link::kOutputWindow);
}

TEST_F(StreamsTest, GrantsAreCollected) {
  piece_comes(1);
  caller_takes_one();
  EXPECT_EQ(granted(), 0u);
  for (std::size_t i = 0; i < 3; ++i) piece_comes(1);
  for (std::size_t i = 0; i < 3; ++i) caller_takes_one();
  EXPECT_EQ(granted(), 4 * link::kPieceCostMin);
}

TEST_F(StreamsTest, CreditForInputIsPassedOn) {
  v1::StreamData piece;
  piece.set_stream(sent_.front().open_logs().stream());
  piece.set_credit(5);
  streams_.received(1, piece);
  const api::Call::Next next = call_->next();
  ASSERT_TRUE(std::holds_alternative<api::AnswerPtr>(next));
  const auto& output = static_cast<const v1::Output&>(std::get<api::AnswerPtr>(next)->message());
  EXPECT_EQ(output.input_credit(), 5u);
}

}  // namespace
}  // namespace berth::controld
