#include "controld/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "controld/testing/plane.h"

namespace berth::controld {
namespace {

using testing::HasSubstr;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class DaemonTest : public testing::Test {
 protected:
  DaemonTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-daemon-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~DaemonTest() override { std::filesystem::remove_all(directory_); }

  DaemonConfig config() const {
    return {.state_directory = directory_ / "state",
            .grpc = "127.0.0.1:0",
            .https = "127.0.0.1:0",
            .socket = (directory_ / "berthd.sock").string(),
            .socket_group = "",
            .advertise = {},
            .control = {},
            .version = "test"};
  }
  std::string get(const std::string& path) const {
    const int socket = connect_to(config().socket);
    const std::string answer =
        talk(socket, "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
             [](const std::string&) { return false; });
    ::close(socket);
    return answer;
  }

  std::filesystem::path directory_;
};

TEST_F(DaemonTest, WorksWhenItIsOpen) {
  const auto daemon = Daemon::open(config());
  ASSERT_TRUE(daemon) << daemon.error().message;
  EXPECT_THAT(get("/readyz"), HasSubstr("ok"));
  const std::string endpoints = text_of(directory_ / "state" / "endpoints.json");
  EXPECT_THAT(endpoints, HasSubstr("\"grpc\": \"127.0.0.1:"));
  EXPECT_EQ(endpoints.find(":0\""), std::string::npos) << "the real ports";
  struct stat status {};
  ASSERT_EQ(::stat((directory_ / "state" / "authority" / "key.pem").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(DaemonTest, KeepsItsAuthorityOverARestart) {
  { ASSERT_TRUE(Daemon::open(config())); }
  const std::string before = text_of(directory_ / "state" / "authority" / "cert.pem");
  ASSERT_FALSE(before.empty());
  const std::string server = text_of(directory_ / "state" / "server" / "cert.pem");
  { ASSERT_TRUE(Daemon::open(config())); }
  EXPECT_EQ(text_of(directory_ / "state" / "authority" / "cert.pem"), before);
  EXPECT_EQ(text_of(directory_ / "state" / "server" / "cert.pem"), server);
}

TEST_F(DaemonTest, AStoreThatAnotherUsesIsAnError) {
  const auto first = Daemon::open(config());
  ASSERT_TRUE(first);
  const auto second = Daemon::open(config());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::Unavailable);
}

TEST_F(DaemonTest, ADamagedStoreIsAnErrorAndLeftAsItIs) {
  std::filesystem::create_directories(directory_ / "state");
  const std::filesystem::path file = directory_ / "state" / "berthd.db";
  std::ofstream(file) << std::string(10'000, 'x');
  const auto daemon = Daemon::open(config());
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().code, Code::Damaged);
  EXPECT_EQ(text_of(file), std::string(10'000, 'x'));
}

TEST_F(DaemonTest, APortThatIsTakenIsAnError) {
  const auto first = Daemon::open(config());
  ASSERT_TRUE(first);
  DaemonConfig other = config();
  other.state_directory = directory_ / "other";
  const auto second = Daemon::open(other);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("berthd.sock"));
}

}  // namespace
}  // namespace berth::controld
