#include "agentd/probing.h"

#include <gtest/gtest.h>

namespace berth::agentd {
namespace {

using model::Readiness;
using runtime::compute_result;
using runtime::network_result;
using runtime::probe_failed;
using runtime::ProbeResult;

const ProbeResult kWorks;

Probing::Offer an_offer(const std::string& name, Duration period = 1s, Duration deadline = 500ms) {
  Probing::Offer offer{.runtime = {}, .period = period, .deadline = deadline};
  offer.runtime.id = model::RuntimeId(name);
  return offer;
}

// A hand to drive it with, in a time of its own.
class ProbingTest : public ::testing::Test {
 protected:
  void offer(const std::vector<Probing::Offer>& offers) {
    probing_.offer(now_, offers);
    look();
  }

  // What happens now by itself.
  void look() {
    probing_.expire(now_);
    for (const Probing::Try& one : probing_.begin(now_)) {
      asked_[one.runtime.value()] = one.number;
      ++questions_[one.runtime.value()];
    }
    if (auto news = probing_.take_news()) {
      told_ = *std::move(news);
      ++tellings_;
    }
  }

  void answer(const std::string& name, const ProbeResult& result) {
    probing_.answered(now_, model::RuntimeId(name), asked_.at(name), result);
    look();
  }

  // Every turn that comes until then is taken, none in between.
  void pass(Duration time) {
    const Time until = now_ + time;
    for (auto next = probing_.wake_at(); next && *next <= until; next = probing_.wake_at()) {
      ASSERT_GT(*next, now_) << "it would turn for ever";
      now_ = *next;
      look();
    }
    now_ = until;
  }

  const model::Runtime& known(const std::string& name) const {
    const model::Runtime* found =
        told_ ? model::find_runtime(*told_, model::RuntimeId(name)) : nullptr;
    static const model::Runtime kNone;
    EXPECT_NE(found, nullptr) << name << " was not told of";
    return found != nullptr ? *found : kNone;
  }

  Probing probing_{model::NodeInfo{}};
  Time now_{1h};
  std::map<std::string, std::uint64_t> asked_;
  std::map<std::string, int> questions_;
  std::optional<model::NodeInfo> told_;
  int tellings_ = 0;
};

TEST_F(ProbingTest, TheFirstTellingWaitsForAllRuntimes) {
  offer({an_offer("a"), an_offer("b")});
  answer("a", kWorks);
  EXPECT_FALSE(told_);
  answer("b", kWorks);
  ASSERT_TRUE(told_);
  EXPECT_EQ(known("a").ready, Readiness::Ready);
  EXPECT_EQ(known("b").ready, Readiness::Ready);
  EXPECT_EQ(known("a").reason, "");
}

TEST_F(ProbingTest, TheFirstTellingWaitsForNobodyBeyondTheLongestDeadline) {
  offer({an_offer("a"), an_offer("b", 1s, 200ms), an_offer("c", 1s, 700ms)});
  answer("a", kWorks);
  pass(699ms);
  EXPECT_FALSE(told_);
  pass(1ms);
  ASSERT_TRUE(told_);
  EXPECT_EQ(known("a").ready, Readiness::Ready);
  EXPECT_EQ(known("c").ready, Readiness::Unknown);
}

TEST_F(ProbingTest, ANodeWithoutRuntimesIsToldAtOnce) {
  offer({});
  EXPECT_TRUE(told_);
  EXPECT_FALSE(probing_.wake_at());
}

class ThreeRuntimes : public ProbingTest {
 protected:
  ThreeRuntimes() {
    offer({an_offer("a"), an_offer("b"), an_offer("c")});
    for (const char* name : {"a", "b", "c"}) answer(name, kWorks);
    EXPECT_EQ(tellings_, 1);
  }
};

TEST_F(ThreeRuntimes, AreAskedOncePerPeriodAndNothingIsToldWhileNothingChanges) {
  for (int i = 0; i < 100; ++i) {
    pass(1s);
    for (const char* name : {"a", "b", "c"}) answer(name, kWorks);
  }
  EXPECT_EQ(questions_["a"], 101);
  EXPECT_EQ(tellings_, 1);
}

TEST_F(ThreeRuntimes, OneThatHangsDelaysNobody) {
  pass(1s);  // all are asked; a hangs
  answer("b", compute_result("broken"));
  EXPECT_EQ(known("b").ready, Readiness::NotReady);
  answer("c", network_result("cut off"));
  EXPECT_EQ(known("c").ready, Readiness::NotReady);
  EXPECT_EQ(known("a").ready, Readiness::Ready) << "its deadline has not come";
  pass(499ms);
  EXPECT_EQ(known("a").ready, Readiness::Ready);
  pass(1ms);
  EXPECT_EQ(known("a").ready, Readiness::Unknown) << "at the deadline, not when the call returns";
  EXPECT_EQ(known("a").reason, "ProbeTimeout");
  EXPECT_EQ(known("a").message, "no answer within 500ms, its deadline");
  for (int i = 0; i < 10; ++i) {
    pass(i == 0 ? Duration(500ms) : Duration(1s));
    answer("b", kWorks);
    EXPECT_EQ(known("b").ready, Readiness::Ready) << "within one period";
    answer("c", kWorks);
  }
  EXPECT_EQ(questions_["b"], 12);
  EXPECT_EQ(questions_["a"], 2) << "no second question while one hangs";
}

TEST_F(ThreeRuntimes, ALateAnswerCounts) {
  pass(1h);
  ASSERT_EQ(known("a").ready, Readiness::Unknown);
  answer("a", kWorks);
  EXPECT_EQ(known("a").ready, Readiness::Ready);
  EXPECT_EQ(questions_["a"], 3) << "and the next question comes at once, not one for each period";
  answer("a", compute_result("broken"));
  EXPECT_EQ(known("a").ready, Readiness::NotReady);
  pass(1s);
  EXPECT_EQ(questions_["a"], 4);
}

TEST_F(ThreeRuntimes, EachStateHasItsReason) {
  const auto after = [&](const ProbeResult& result) {
    pass(1s);
    for (const char* name : {"b", "c"}) answer(name, kWorks);
    answer("a", result);
    return known("a");
  };
  EXPECT_EQ(after(compute_result("no room")).reason, "ComputeNotReady");
  EXPECT_EQ(known("a").message, "no room");
  EXPECT_EQ(known("a").ready, Readiness::NotReady);
  EXPECT_EQ(after(network_result("no bridge")).reason, "NetworkNotReady");
  EXPECT_EQ(known("a").ready, Readiness::NotReady);
  EXPECT_EQ(after(probe_failed("no memory")).reason, "ProbeFailed");
  EXPECT_EQ(known("a").ready, Readiness::Unknown) << "an error is no proof";
  const auto both = together(compute_result("no room"), network_result("no bridge"));
  EXPECT_EQ(after(both).reason, "ComputeNotReady");
  EXPECT_EQ(known("a").message, "no room; no bridge");
  EXPECT_EQ(after(together(probe_failed("no memory"), network_result("no bridge"))).reason,
            "NetworkNotReady");
  EXPECT_EQ(after(kWorks).reason, "");
  EXPECT_EQ(known("a").message, "");
}

TEST_F(ThreeRuntimes, ANewReasonIsToldToo) {
  pass(1s);
  answer("a", compute_result("one thing"));
  const int before = tellings_;
  pass(1s);
  answer("a", compute_result("another"));
  EXPECT_EQ(known("a").message, "another");
  EXPECT_GT(tellings_, before);
}

TEST_F(ThreeRuntimes, OneThatIsAddedIsToldOfAtOnceAndAskedAtOnce) {
  offer({an_offer("a"), an_offer("b"), an_offer("c"), an_offer("d")});
  EXPECT_EQ(known("d").ready, Readiness::Unknown);
  EXPECT_EQ(known("d").reason, "NotProbedYet");
  EXPECT_EQ(known("a").ready, Readiness::Ready);
  answer("d", kWorks);
  EXPECT_EQ(known("d").ready, Readiness::Ready);
  EXPECT_EQ(questions_["a"], 1);
}

TEST_F(ThreeRuntimes, OneThatIsRemovedIsGoneAndItsAnswerIsNotHeeded) {
  pass(1s);
  offer({an_offer("b"), an_offer("c")});
  EXPECT_EQ(told_->runtimes.size(), 2U);
  const int before = tellings_;
  answer("a", compute_result("broken"));
  EXPECT_EQ(tellings_, before);
  offer({an_offer("b"), an_offer("c"), an_offer("a")});
  const auto old = asked_;
  EXPECT_EQ(known("a").ready, Readiness::Unknown);
  probing_.answered(now_, model::RuntimeId("a"), old.at("a") - 1, compute_result("broken"));
  look();
  EXPECT_EQ(known("a").ready, Readiness::Unknown) << "that was another's answer";
  answer("a", kWorks);
  EXPECT_EQ(known("a").ready, Readiness::Ready);
}

TEST_F(ThreeRuntimes, OtherSettingsKeepWhatIsKnown) {
  pass(1s);
  for (const char* name : {"a", "b", "c"}) answer(name, compute_result("broken"));
  Probing::Offer changed = an_offer("a", 100ms);
  changed.runtime.primary = true;
  changed.runtime.grace = 9s;
  offer({changed, an_offer("b"), an_offer("c")});
  EXPECT_EQ(known("a").ready, Readiness::NotReady);
  EXPECT_EQ(known("a").message, "broken");
  EXPECT_TRUE(known("a").primary);
  EXPECT_EQ(known("a").grace, 9s);
  const int before = questions_["a"];
  pass(100ms);
  EXPECT_EQ(questions_["a"], before + 1) << "the new period counts from now";
}

TEST_F(ProbingTest, ADeadlineThatIsLongerThanThePeriodDoesNotHeapUpQuestions) {
  offer({an_offer("a", 1s, 10s)});
  pass(5s);
  EXPECT_EQ(questions_["a"], 1);
  answer("a", kWorks);
  EXPECT_EQ(questions_["a"], 2);
  pass(1s);
  EXPECT_EQ(questions_["a"], 2);
}

TEST_F(ProbingTest, EachHasAScheduleOfItsOwn) {
  offer({an_offer("fast", 100ms), an_offer("slow", 10s)});
  answer("slow", kWorks);
  for (int i = 0; i < 100; ++i) {
    answer("fast", kWorks);
    pass(100ms);
  }
  EXPECT_EQ(questions_["fast"], 101);
  EXPECT_EQ(questions_["slow"], 2);
}

TEST_F(ProbingTest, ANewAddressIsNews) {
  offer({an_offer("a")});
  answer("a", kWorks);
  probing_.set_address(model::Ipv4{1});
  look();
  EXPECT_EQ(told_->address, model::Ipv4{1});
  EXPECT_EQ(tellings_, 2);
}

}  // namespace
}  // namespace berth::agentd
