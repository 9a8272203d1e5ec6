#include "control/session/port_bits.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace berth::control {
namespace {

TEST(PortBits, AreWrittenAsHexDigits) {
  PortBits bits({20000, 20070});
  bits.insert(20000);
  bits.insert(20005);
  bits.insert(20064);
  EXPECT_EQ(bits.text(), "20000:00000000000000210000000000000001");
  EXPECT_EQ(PortBits::parse(bits.text()), bits);
  bits.erase(20005);
  EXPECT_FALSE(bits.contains(20005));
  EXPECT_FALSE(bits.contains(19999));
  EXPECT_FALSE(bits.contains(65535));
  EXPECT_EQ(bits.span(), (PortRange{20000, 20064}));
}

TEST(PortBits, OfNoRangeHaveNone) {
  EXPECT_EQ(PortBits::parse(PortBits().text()), PortBits());
  EXPECT_EQ(PortBits().span(), std::nullopt);
  EXPECT_EQ(PortBits({1, 9}).span(), std::nullopt);
  EXPECT_FALSE(PortBits().contains(0));
}

TEST(PortBits, ComeBackFromTheirText) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const auto first = static_cast<std::uint16_t>(random.between(1, 65535));
    const auto last = static_cast<std::uint16_t>(random.between(first, 65535));
    PortBits bits({first, last});
    std::uint16_t least = std::numeric_limits<std::uint16_t>::max();
    std::uint16_t greatest = 0;
    for (int n = 0; n < 20; ++n) {
      const auto port = static_cast<std::uint16_t>(random.between(first, last));
      bits.insert(port);
      least = std::min(least, port);
      greatest = std::max(greatest, port);
    }
    EXPECT_EQ(PortBits::parse(bits.text()), bits);
    EXPECT_EQ(bits.span(), (PortRange{least, greatest}));
  }
}

TEST(PortBits, AnyOtherTextIsNone) {
  for (const char* text : {"", "20000", ":", "x:", "20000:0", "20000:000000000000002g",
                           "20000:+00000000000002f", "0:0000000000000001", "65536:", "-1:",
                           "65535:00000000000000010000000000000001", " 1:0000000000000001"}) {
    EXPECT_EQ(PortBits::parse(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace berth::control
