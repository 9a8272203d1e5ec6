#include "codec/scalar.h"

#include <gtest/gtest.h>

#include <limits>

namespace berth::codec {
namespace {

template <class T>
std::string problem_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

Result<Duration> duration(std::string_view text) { return Scalar<Duration>::parse(text); }
Result<model::Port> port(std::string_view text) { return Scalar<model::Port>::parse(text); }
Result<model::AllowedConnection> connection(std::string_view text) {
  return Scalar<model::AllowedConnection>::parse(text);
}

TEST(Bytes, AreWrittenPlainlyOrInUnits) {
  EXPECT_EQ(parse_bytes("0"), Bytes(0));
  EXPECT_EQ(parse_bytes("12345"), Bytes(12345));
  EXPECT_EQ(parse_bytes("3Ki"), Bytes(3072));
  EXPECT_EQ(parse_bytes("128Mi"), Bytes(128LL << 20));
  EXPECT_EQ(parse_bytes("8Gi"), Bytes(8LL << 30));
  EXPECT_EQ(parse_bytes("1024Ti"), Bytes(1LL << 50));
}

TEST(Bytes, OfStoredFiguresMayBeAnyNumber) {
  EXPECT_EQ(parse_bytes("-5"), Bytes(-5));
  EXPECT_EQ(parse_bytes("9223372036854775807"), Bytes(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(parse_bytes("-9223372036854775808"), Bytes(std::numeric_limits<std::int64_t>::min()));
}

TEST(Bytes, InOtherUnitsAreRefused) {
  for (const auto* text : {"", "Mi", "1.5Gi", "128MB", "128M", "128 Mi", "128mi", "-1Ki", "0x10"}) {
    EXPECT_EQ(problem_of(parse_bytes(text)),
              in_quotes(text) + " is no size: write whole bytes, or Ki, Mi, Gi or Ti as in 128Mi");
  }
}

TEST(Bytes, BeyondAllNumbersAreRefused) {
  EXPECT_EQ(problem_of(parse_bytes("9223372036854775808")), "\"9223372036854775808\" is too large");
  EXPECT_EQ(problem_of(parse_bytes("9223372036854775Ti")), "\"9223372036854775Ti\" is too large");
}

TEST(Durations, AreWrittenInUnitsAndCombinations) {
  EXPECT_EQ(duration("0s"), Duration(0));
  EXPECT_EQ(duration("500ms"), 500ms);
  EXPECT_EQ(duration("30s"), 30s);
  EXPECT_EQ(duration("1m30s"), 90s);
  EXPECT_EQ(duration("2h"), 2h);
  EXPECT_EQ(duration("1h2m3s4ms5us"), 1h + 2min + 3s + 4ms + 5us);
}

TEST(Durations, WithoutUnitOrInDisorderAreRefused) {
  for (const auto* text : {"", "5", "s", "1.5s", "-1s", "1s1m", "1s2s", "1d", "1 s", "1s ", "5S"}) {
    EXPECT_EQ(problem_of(duration(text)),
              in_quotes(text) + " is no duration: write whole ms, s, m or h as in 500ms or 1m30s");
  }
}

TEST(Durations, BeyondAllNumbersAreRefused) {
  EXPECT_EQ(problem_of(duration("9223372036854775807h")), "\"9223372036854775807h\" is too large");
  EXPECT_EQ(problem_of(duration("9223372036854s999999ms")),
            "\"9223372036854s999999ms\" is too large");
}

TEST(Durations, AreShownInTheLargestUnitThatIsExact) {
  EXPECT_EQ(Scalar<Duration>::text(0s), "0s");
  EXPECT_EQ(Scalar<Duration>::text(60s), "1m");
  EXPECT_EQ(Scalar<Duration>::text(90s), "90s");
  EXPECT_EQ(Scalar<Duration>::text(1500ms), "1500ms");
  EXPECT_EQ(Scalar<Duration>::text(7us), "7us");
}

TEST(Ports, AreTcpUnlessSaidOtherwise) {
  EXPECT_EQ(port("8080"), (model::Port{8080, model::Protocol::Tcp}));
  EXPECT_EQ(port("8080/tcp"), (model::Port{8080, model::Protocol::Tcp}));
  EXPECT_EQ(port("53/udp"), (model::Port{53, model::Protocol::Udp}));
}

TEST(Ports, ThatAreNoneAreRefused) {
  for (const auto* text : {"", "/tcp", "http", "8080/", "8080/sctp", "70000", "-1", "1/2/tcp"}) {
    EXPECT_EQ(problem_of(port(text)),
              in_quotes(text) + " is no port: write 1 to 65535, with /tcp or /udp, as in 8080/tcp");
  }
}

TEST(AllowedConnections, NameItemPortAndProtocol) {
  const model::AllowedConnection broker{model::ItemId("broker"), {1883, model::Protocol::Tcp}};
  EXPECT_EQ(connection("broker/1883/tcp"), broker);
  EXPECT_EQ(connection("broker/1883"), broker);
  EXPECT_EQ(Scalar<model::AllowedConnection>::text(broker), "broker/1883/tcp");
}

TEST(AllowedConnections, ThatAreNoneAreRefused) {
  for (const auto* text :
       {"", "broker", "broker/", "broker/tcp", "1883/tcp", "broker/1883/x", "broker/70000/tcp"}) {
    EXPECT_EQ(
        problem_of(connection(text)),
        in_quotes(text) + " is no connection: write item/port/protocol as in broker/1883/tcp");
  }
}

TEST(Integers, AreWholeAndWithinTheirBounds) {
  EXPECT_EQ(parse_integer<std::uint64_t>("18446744073709551615"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(problem_of(parse_integer<int>("1.0")), "\"1.0\" is no whole number");
  EXPECT_EQ(problem_of(parse_integer<int>("")), "\"\" is no whole number");
  EXPECT_EQ(problem_of(parse_integer<int>("-")), "\"-\" is no whole number");
  EXPECT_EQ(problem_of(parse_integer<int>("101", 0, 100)), "must be 0 to 100, not \"101\"");
  EXPECT_EQ(problem_of(parse_integer<std::uint32_t>("-1", 0, 9)), "must be 0 to 9, not \"-1\"");
}

TEST(Words, OfAnEnumerationComeWithASuggestion) {
  EXPECT_EQ(Scalar<model::Readiness>::parse("NotReady"), model::Readiness::NotReady);
  EXPECT_EQ(problem_of(Scalar<model::Readiness>::parse("notready")),
            "\"notready\" is no readiness (Ready, NotReady, Unknown). Did you mean \"NotReady\"?");
  EXPECT_EQ(problem_of(Scalar<model::Protocol>::parse("tpc")),
            "\"tpc\" is no protocol (tcp, udp). Did you mean \"tcp\"?");
}

TEST(Words, FromElsewhereAreTranslated) {
  EXPECT_EQ(problem_of(Scalar<model::RuntimeType>::parse("dokcer")),
            "\"dokcer\" is no runtime type (crun, runc, process, wasm, vm, rootfs, boot, "
            "firmware). Did you mean \"crun\"?");
}

}  // namespace
}  // namespace berth::codec
