#include "client/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace berth::client {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const Login kLogin{"key\n", "certificate\n", "authority\n", "https://unit7:8443"};

class Endpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-endpoint-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    home_ = pattern;
    at_.config_directory = home_ / "config";
    at_.system_socket = home_ / "system.sock";
  }
  void TearDown() override { fs::remove_all(home_); }

  void touch(const fs::path& path) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "";
  }
  std::string found() {
    const auto endpoint = find_endpoint(at_);
    return endpoint ? to_string(*endpoint) : "error: " + endpoint.error().message;
  }

  fs::path home_;
  Whereabouts at_;
};

TEST_F(Endpoints, WithoutAnythingTheSystemsSocketIsTried) {
  EXPECT_EQ(found(), at_.system_socket.string());
}

TEST_F(Endpoints, AServerThatIsNamedComesFirst) {
  ASSERT_TRUE(save_login(at_.config_directory, kLogin));
  at_.server = "https://other:1";
  at_.socket = "/named.sock";
  EXPECT_EQ(found(), "https://other:1");
}

TEST_F(Endpoints, ASocketThatIsNamedComesBeforeThoseThatAreThere) {
  touch(at_.system_socket);
  at_.socket = "/named.sock";
  EXPECT_EQ(found(), "/named.sock");
}

TEST_F(Endpoints, TheUsersSocketComesBeforeTheSystemsIfItIsThere) {
  touch(at_.system_socket);
  at_.runtime_directory = home_ / "run";
  EXPECT_EQ(found(), at_.system_socket.string());
  touch(home_ / "run/berth/berthd.sock");
  EXPECT_EQ(found(), (home_ / "run/berth/berthd.sock").string());
}

TEST_F(Endpoints, TheLastLoginServesWhereNoSocketIs) {
  ASSERT_TRUE(save_login(at_.config_directory, kLogin));
  EXPECT_EQ(found(), "https://unit7:8443");
  touch(at_.system_socket);
  EXPECT_EQ(found(), at_.system_socket.string());
}

TEST_F(Endpoints, WithoutLoginAServerIsAnErrorThatSaysWhatToDo) {
  at_.server = "https://unit7:8443";
  EXPECT_THAT(found(), HasSubstr("berth login https://unit7:8443 TOKEN"));
}

TEST_F(Endpoints, ALoginIsKeptForThisUserOnly) {
  ASSERT_TRUE(save_login(at_.config_directory, kLogin));
  ASSERT_TRUE(save_login(at_.config_directory, kLogin));  // again
  struct stat status {};
  ASSERT_EQ(::stat((at_.config_directory / "key.pem").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const auto loaded = load_login(at_.config_directory);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(**loaded, kLogin);
}

TEST_F(Endpoints, HalfALoginIsAnError) {
  ASSERT_TRUE(save_login(at_.config_directory, kLogin));
  fs::remove(at_.config_directory / "ca.pem");
  EXPECT_THAT(found(), HasSubstr("ca.pem"));
}

TEST(ParseServer, TakesWhatPeopleWrite) {
  EXPECT_EQ(*parse_server("https://unit7:8443"), (HostPort{"unit7", "8443"}));
  EXPECT_EQ(*parse_server("unit7:8443"), (HostPort{"unit7", "8443"}));
  EXPECT_EQ(*parse_server("https://10.0.0.1:8443/"), (HostPort{"10.0.0.1", "8443"}));
  EXPECT_EQ(*parse_server("https://[::1]:8443"), (HostPort{"::1", "8443"}));
  EXPECT_EQ(to_string(HostPort{"::1", "8443"}), "[::1]:8443");
}

TEST(ParseServer, RefusesTheRest) {
  for (const char* text : {"", "unit7", "http://unit7:80", "https://unit7", "unit7:port", ":8443",
                           "https://u@h:1", "https://h:1/path", "::1:80", "h:123456"}) {
    EXPECT_FALSE(parse_server(text)) << text;
  }
}

}  // namespace
}  // namespace berth::client
