#include "agentd/streams.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <string>

#include "link/stream_window.h"

namespace berth::agentd {
namespace {

constexpr std::uint64_t kConnection = 1;
constexpr std::uint64_t kStream = 7;
constexpr std::size_t kPiecesInWindow = link::kOutputWindow / link::kPieceBytes;

// The other end of the link: keeps what was sent.
class Receiver {
 public:
  void take(const v1::FromAgent& message) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(message.stream());
    changed_.notify_all();
  }

  using Fits = std::function<bool(const v1::StreamData&)>;
  bool wait_for(const Fits& fits, std::size_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return count_locked(fits) >= times; });
  }
  std::size_t count(const Fits& fits) const {
    const std::lock_guard lock(mutex_);
    return count_locked(fits);
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const v1::StreamData& piece : pieces_) all += piece.data();
    return all;
  }
  std::size_t credit() const {
    const std::lock_guard lock(mutex_);
    std::size_t all = 0;
    for (const v1::StreamData& piece : pieces_) all += piece.credit();
    return all;
  }

 private:
  std::size_t count_locked(const Fits& fits) const {
    return static_cast<std::size_t>(std::count_if(pieces_.begin(), pieces_.end(), fits));
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::StreamData> pieces_;
};

bool has_data(const v1::StreamData& piece) { return !piece.data().empty(); }
bool is_end(const v1::StreamData& piece) { return piece.end(); }

// A program that reads slowly, or talks without end.
class FakeProgram final : public runtime::ExecSession {
 public:
  FakeProgram(runtime::ExecListener listener, std::size_t bytes_per_write, bool talks)
      : listener_(std::move(listener)), bytes_per_write_(bytes_per_write) {
    if (talks) thread_ = std::thread([this] { talk(); });
  }
  ~FakeProgram() override {
    killed_ = true;
    if (thread_.joinable()) thread_.join();
  }

  Result<std::size_t> write(std::string_view input, Duration) override {
    const std::size_t taken = std::min(bytes_per_write_, input.size());
    listener_.output(input.substr(0, taken), false);
    return taken;
  }
  void close_input() override { listener_.ended(0); }
  void resize(std::uint16_t, std::uint16_t) override {}

 private:
  void talk() {
    while (!killed_) listener_.output("la la la", false);
    listener_.ended(137);
  }

  const runtime::ExecListener listener_;
  const std::size_t bytes_per_write_;
  std::atomic<bool> killed_ = false;
  std::thread thread_;
};

class StreamsTest : public ::testing::Test {
 protected:
  // A log of so many lines of 1 KiB.
  StreamEnds ends_of(std::size_t lines) {
    return {
        .open_log = [lines](const model::InstanceKey&, std::size_t) -> Result<ReadLog> {
          return ReadLog([next = std::size_t{0}, lines](Duration) mutable {
            std::vector<runtime::LogLine> batch;
            for (; next < lines && batch.size() < 100; ++next) batch.push_back(line(next));
            return batch;
          });
        },
        .exec =
            [this](const model::InstanceKey&, const runtime::ExecRequest&,
                   runtime::ExecListener listener) {
              return Result<std::unique_ptr<runtime::ExecSession>>(
                  std::make_unique<FakeProgram>(std::move(listener), bytes_per_write_, talks_));
            },
        .send = [this](std::uint64_t, const v1::FromAgent& message) { receiver_.take(message); }};
  }
  static runtime::LogLine line(std::size_t number) {
    std::string text = std::to_string(number);
    text.resize(1023, '.');
    return {.time = "", .text = text};
  }

  static v1::OpenLogs a_log() {
    v1::OpenLogs open;
    open.set_stream(kStream);
    open.mutable_key()->set_item("web");
    open.mutable_key()->set_subject("vehicle");
    open.set_window(link::kOutputWindow);
    return open;
  }
  static v1::OpenExec a_program(bool terminal = false) {
    v1::OpenExec open;
    open.set_stream(kStream);
    *open.mutable_key() = a_log().key();
    open.add_command("x");
    open.set_terminal(terminal);
    open.set_window(link::kOutputWindow);
    return open;
  }
  static v1::StreamData a_piece() {
    v1::StreamData piece;
    piece.set_stream(kStream);
    return piece;
  }
  static v1::StreamData a_credit(std::size_t bytes) {
    v1::StreamData piece = a_piece();
    piece.set_credit(static_cast<std::uint32_t>(bytes));
    return piece;
  }
  static v1::StreamData an_input(std::size_t bytes) {
    v1::StreamData piece = a_piece();
    piece.set_data(std::string(bytes, 'i'));
    return piece;
  }

  std::size_t bytes_per_write_ = 1 << 20;
  bool talks_ = false;
  Receiver receiver_;
};

TEST_F(StreamsTest, ALogGoesNoFurtherThanItsReaderLetsIt) {
  {
    Streams streams(ends_of(10'000));
    streams.open_logs(kConnection, a_log());
    ASSERT_TRUE(receiver_.wait_for(has_data, kPiecesInWindow));
    streams.receive(kConnection, a_credit(link::kPieceBytes));
    ASSERT_TRUE(receiver_.wait_for(has_data, kPiecesInWindow + 1));
  }
  // Not every piece is a full one: what counts is what they cost.
  std::size_t cost = 0;
  receiver_.count([&](const v1::StreamData& piece) {
    if (has_data(piece)) cost += link::cost_of_piece(piece.data().size());
    return true;
  });
  EXPECT_LE(cost, (kPiecesInWindow + 1) * link::kPieceBytes);
}

TEST_F(StreamsTest, ALogThatWaitsForItsReaderCanBeEnded) {
  Streams streams(ends_of(10'000));
  streams.open_logs(kConnection, a_log());
  ASSERT_TRUE(receiver_.wait_for(has_data, kPiecesInWindow));
  v1::StreamData end = a_piece();
  end.set_end(true);
  streams.receive(kConnection, end);
  EXPECT_TRUE(receiver_.wait_for(is_end));
}

TEST_F(StreamsTest, NothingIsLostOnALogWhoseReaderPauses) {
  Streams streams(ends_of(2'000));
  streams.open_logs(kConnection, a_log());
  for (std::size_t come = kPiecesInWindow; receiver_.count(is_end) == 0; ++come) {
    ASSERT_TRUE(receiver_.wait_for(
        [](const auto& piece) { return has_data(piece) || is_end(piece); }, come));
    streams.receive(kConnection, a_credit(link::kPieceBytes));
  }
  std::string whole;
  for (std::size_t number = 0; number < 2'000; ++number) whole += line(number).text + "\n";
  EXPECT_EQ(receiver_.text(), whole);
}

TEST_F(StreamsTest, SmallPiecesCostMoreThanTheirSize) {
  talks_ = true;
  {
    Streams streams(ends_of(0));
    streams.open_exec(kConnection, a_program());
    ASSERT_TRUE(receiver_.wait_for(has_data, link::kOutputWindow / link::kPieceCostMin));
  }
  EXPECT_EQ(receiver_.count(has_data), link::kOutputWindow / link::kPieceCostMin);
}

TEST_F(StreamsTest, AProgramThatTalksToNobodyCanBeEnded) {
  talks_ = true;
  Streams streams(ends_of(0));
  streams.open_exec(kConnection, a_program(true));
  ASSERT_TRUE(receiver_.wait_for(has_data, link::kOutputWindow / link::kPieceCostMin));
  v1::StreamData end = a_piece();
  end.set_end(true);
  streams.receive(kConnection, end);
  EXPECT_TRUE(receiver_.wait_for([](const auto& piece) { return piece.exit_code() == 137; }));
}

TEST_F(StreamsTest, ASlowProgramGetsAllOfItsInput) {
  bytes_per_write_ = 100;
  Streams streams(ends_of(0));
  v1::OpenExec open = a_program();
  open.set_window(1 << 30);
  streams.open_exec(kConnection, open);
  streams.receive(kConnection, an_input(link::kInputWindow));
  v1::StreamData end = a_piece();
  end.set_end(true);
  streams.receive(kConnection, end);
  EXPECT_TRUE(receiver_.wait_for([](const auto& piece) { return piece.has_exit_code(); }));
  EXPECT_EQ(receiver_.text(), std::string(link::kInputWindow, 'i'));
  EXPECT_EQ(receiver_.credit(), link::kInputWindow);
}

TEST_F(StreamsTest, InputThatNobodyTakesEndsTheSession) {
  bytes_per_write_ = 0;
  Streams streams(ends_of(0));
  streams.open_exec(kConnection, a_program());
  for (std::size_t sent = 0; sent <= link::kInputBytesMax; sent += 1 << 20) {
    streams.receive(kConnection, an_input(1 << 20));
  }
  EXPECT_TRUE(
      receiver_.wait_for([](const auto& piece) { return piece.error().reason() == "Exhausted"; }));
}

}  // namespace
}  // namespace berth::agentd
