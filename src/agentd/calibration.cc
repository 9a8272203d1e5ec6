#include "agentd/calibration.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>

#include "codec/scalar.h"

namespace berth::agentd {
namespace {

constexpr std::string_view kKey = "dmips-per-core";

// By definition the machine of one MIPS, a VAX 11/780, does so many rounds of Dhrystone. A round of
// ours has about as many statements of each kind; it is no Dhrystone, and its figure no official
// one: it is to compare nodes, and who knows better says dmips.perCore.
constexpr double kRoundsPerSecondOfOneMips = 1757.0;

constexpr int kTurns = 8;
constexpr auto kTurn = std::chrono::milliseconds(25);
constexpr int kRoundsBetweenLooks = 2'000;

// The kinds of statements and data that system programs were found to be made of: assignments of
// small records, integer arithmetic, comparison and copying of short texts, arrays, branches,
// calls.
struct Record {
  Record* next = nullptr;
  int kind = 0;
  int choice = 0;
  int amount = 0;
  std::array<char, 32> text{};
};

class Workload {
 public:
  Workload() {
    first_.next = &second_;
    copy_text(second_.text, "A TEXT OF THIRTY CHARACTERS, 1");
  }

  [[gnu::noinline]] int round(int number) {
    std::array<char, 32> one{};
    std::array<char, 32> two{};
    copy_text(one, "A TEXT OF THIRTY CHARACTERS, 2");
    copy_text(two, "A TEXT OF THIRTY CHARACTERS, 3");
    const bool is_later = !comes_after(one, two);
    int a = 2;
    int b = 3;
    int c = 0;
    while (a < b) {
      c = 5 * a - b;
      add(a, b, c);
      ++a;
    }
    fill(a, c);
    follow(first_);
    for (char letter = 'A'; letter <= letter_; ++letter) {
      if (choice_ == choose(letter, 'C')) copy_text(two, "A TEXT OF THIRTY CHARACTERS, 4");
    }
    b = b * a;
    a = b / (c | 1);
    b = 7 * (b - c) - a;
    adjust(a);
    choice_ = is_later ? number & 3 : 0;
    return a + b + c + two[5];
  }

 private:
  using Text = std::array<char, 32>;

  [[gnu::noinline]] static void copy_text(Text& to, const char* from) {
    std::strncpy(to.data(), from, to.size() - 1);
  }
  [[gnu::noinline]] static bool comes_after(const Text& a, const Text& b) {
    int same = 0;
    for (std::size_t at = 2; at <= 3; ++at) same += choose(a[at], b[at + 1]);
    if (same == 2) return true;
    return std::strcmp(a.data(), b.data()) > 0;
  }
  [[gnu::noinline]] static int choose(char a, char b) { return a == b ? 1 : 0; }
  [[gnu::noinline]] static void add(int a, int b, int& sum) { sum = a + 2 + b; }
  [[gnu::noinline]] void fill(int a, int b) {
    const auto at = static_cast<std::size_t>(a + 5);
    row_[at] = b;
    row_[at + 1] = row_[at];
    row_[at + 30] = a;
    for (std::size_t i = at; i <= at + 1; ++i) table_[at][i] = static_cast<int>(at);
    ++table_[at][at - 1];
    table_[at + 20][at] = row_[at];
    sum_ = 5;
  }
  [[gnu::noinline]] void follow(Record& record) {
    *record.next = record;
    record.amount = 5;
    record.next->amount = record.amount;
    record.next->next = &second_;
    record.next->kind = choose(record.text[0], 'B');
    if (record.next->kind == 0) {
      record.next->amount = 6;
      add(record.next->amount, 10, record.next->amount);
    }
  }
  [[gnu::noinline]] void adjust(int& value) {
    const int before = value + 10;
    if (letter_ == 'C') value = before - 1 - sum_;
  }

  Record first_;
  Record second_;
  std::array<int, 50> row_{};
  std::array<std::array<int, 50>, 50> table_{};
  int sum_ = 0;
  int choice_ = 0;
  char letter_ = 'C';
};

// Of this thread alone: while others run on its core, it does not pass.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

double rounds_per_second(Workload& workload) {
  const auto begin = processor_time();
  std::int64_t rounds = 0;
  volatile int result = 0;  // so that nothing of it is left out
  while (processor_time() - begin < kTurn) {
    for (int i = 0; i < kRoundsBetweenLooks; ++i) result = result + workload.round(i);
    rounds += kRoundsBetweenLooks;
  }
  const std::chrono::duration<double> took = processor_time() - begin;
  return static_cast<double>(rounds) / took.count();
}

}  // namespace

std::int64_t measure_dmips_per_core() {
  Workload workload;
  double best = 0;
  for (int turn = 0; turn < kTurns; ++turn) best = std::max(best, rounds_per_second(workload));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(best / kRoundsPerSecondOfOneMips));
}

Result<Calibration> calibrate(store::Store& store, std::int64_t (*measure)()) {
  if (const auto stored = TRY(store.get(kKey))) {
    const auto known = codec::parse_integer<std::int64_t>(*stored, 1);
    if (known) return Calibration{.dmips_per_core = *known};
  }
  const std::int64_t measured = measure();
  // With the disk full it is measured again at the next start.
  static_cast<void>(store.commit({{std::string(kKey), std::to_string(measured)}}));
  return Calibration{.dmips_per_core = measured, .is_new = true};
}

}  // namespace berth::agentd
