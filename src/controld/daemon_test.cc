#include "controld/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "controld/identity/addresses.h"
#include "controld/testing/plane.h"
#include "link/agent_end.h"
#include "shell/mailbox.h"
#include "trust/files.h"
#include "trust/tls_client.h"

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
  EXPECT_THAT(endpoints, HasSubstr("\"grpc\":\"127.0.0.1:"));
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

// Certificates begin a day before they are made; so this one wants renewal as soon as it is there.
constexpr CertificateTimes kSoonRenewed{.validity = std::chrono::hours(12), .look_every = 500ms};

// What a new connection to this endpoint is shown.
std::string certificate_at(const std::string& endpoints, const std::string& name) {
  const std::size_t begin = endpoints.find("\"" + name + "\":\"") + name.size() + 4;
  const auto address = parse_host_port(endpoints.substr(begin, endpoints.find('"', begin) - begin));
  const auto client = trust::TlsClient::connect({address->host, std::to_string(address->port)},
                                                std::chrono::steady_clock::now() + 60s);
  if (!client) return client.error().message;
  const X509* own = sk_X509_value(client->chain(), 0);
  const ASN1_INTEGER* number = X509_get0_serialNumber(own);
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(number)),
          static_cast<std::size_t>(ASN1_STRING_length(number))};
}

TEST_F(DaemonTest, RenewsItsCertificateAndShowsItToNewConnections) {
  DaemonConfig soon = config();
  soon.certificates = kSoonRenewed;
  const auto daemon = Daemon::open(soon);
  ASSERT_TRUE(daemon) << daemon.error().message;
  const std::string endpoints = text_of(directory_ / "state" / "endpoints.json");
  for (const std::string name : {"https", "grpc"}) {
    const std::string before = certificate_at(endpoints, name);
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (certificate_at(endpoints, name) == before) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << name << " shows the old one still";
      std::this_thread::sleep_for(50ms);
    }
  }
}

// As an agent does it, over a real link.
TEST_F(DaemonTest, ANodeGetsANewCertificateAndIsKnownByIt) {
  const auto daemon = Daemon::open(config());
  ASSERT_TRUE(daemon) << daemon.error().message;
  const auto authority =
      trust::Authority::load(trust::load(directory_ / "state" / "authority")->own);
  const std::string endpoints = text_of(directory_ / "state" / "endpoints.json");
  const std::size_t begin = endpoints.find("\"grpc\":\"") + 8;
  link::AgentEndConfig agent{.server = endpoints.substr(begin, endpoints.find('"', begin) - begin),
                             .node = "n1",
                             .boot_id = "boot",
                             .version = "1",
                             .authority = authority->pem().certificate};
  agent.identity.key = trust::make_key();
  agent.identity.certificate =
      *authority->sign(*trust::make_request(agent.identity.key), {trust::Role::Node, "n1"},
                       std::chrono::hours(1), std::chrono::system_clock::now());
  shell::Mailbox<v1::ToAgent> received(100);
  shell::Mailbox<std::uint64_t> connections(100);
  const auto listener = [&] {
    return link::AgentEndListener{
        .connected = [&](std::uint64_t number) { EXPECT_TRUE(connections.post(number)); },
        .disconnected = [](std::uint64_t, const std::string&) {},
        .received =
            [&](std::uint64_t, v1::ToAgent message) {
              if (!message.has_renewed()) return;
              EXPECT_TRUE(received.post(std::move(message)));
            },
        .failed = {}};
  };
  const std::string new_key = trust::make_key();
  {
    link::AgentEnd end(agent, listener());
    v1::FromAgent request;
    request.mutable_renew()->set_request(*trust::make_request(new_key));
    end.send(connections.take(std::nullopt).at(0), request);
    agent.identity = {new_key, received.take(std::nullopt).at(0).renewed().certificate()};
  }
  const auto renewed = trust::look_at(agent.identity.certificate);
  ASSERT_TRUE(renewed);
  EXPECT_FALSE(trust::wants_renewal(*renewed, std::chrono::system_clock::now()));
  ASSERT_TRUE(trust::check_pair(agent.identity));
  const link::AgentEnd again(agent, listener());
  EXPECT_EQ(connections.take(std::nullopt).size(), 1u) << "it is known by the new one";
}

TEST_F(DaemonTest, AStoreThatAnotherUsesIsAnError) {
  const auto first = Daemon::open(config());
  ASSERT_TRUE(first);
  const auto second = Daemon::open(config());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::Unavailable);
}

TEST_F(DaemonTest, ADamagedStoreIsSetAsideAndThatIsTold) {
  std::filesystem::create_directories(directory_ / "state");
  const std::filesystem::path file = directory_ / "state" / "berthd.db";
  std::ofstream(file) << std::string(10'000, 'x');
  const auto daemon = Daemon::open(config());
  ASSERT_TRUE(daemon) << daemon.error().message;
  EXPECT_EQ(text_of(file.string() + ".damaged-1"), std::string(10'000, 'x'));
  EXPECT_THAT(get("/v1/events"), HasSubstr("StoreRecovered"));
  EXPECT_THAT(get("/readyz?verbose"), HasSubstr("[!] the store could not be used"));
}

// --- The authority

TEST_F(DaemonTest, ALostKeyOfTheAuthorityIsAnErrorAndNoNewOneIsMade) {
  { ASSERT_TRUE(Daemon::open(config())); }
  const std::filesystem::path authority = directory_ / "state" / "authority";
  const std::string certificate = text_of(authority / "cert.pem");
  std::filesystem::rename(authority / "key.pem", directory_ / "key.pem");
  const auto refused = Daemon::open(config());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("back from a backup"));
  EXPECT_THAT(refused.error().message, HasSubstr("berth store repair --new-authority"));
  std::filesystem::remove_all(authority);
  EXPECT_FALSE(Daemon::open(config())) << "it is on record";
  EXPECT_FALSE(std::filesystem::exists(authority));
  // The key is all that is needed.
  std::filesystem::create_directory(authority);
  std::filesystem::rename(directory_ / "key.pem", authority / "key.pem");
  const auto daemon = Daemon::open(config());
  ASSERT_TRUE(daemon) << daemon.error().message;
  EXPECT_EQ(text_of(authority / "cert.pem"), certificate);
}

TEST_F(DaemonTest, TheAuthorityOfAnotherUnitIsAnError) {
  { ASSERT_TRUE(Daemon::open(config())); }
  DaemonConfig other = config();
  other.state_directory = directory_ / "other";
  { ASSERT_TRUE(Daemon::open(other)); }
  std::filesystem::remove_all(directory_ / "state" / "authority");
  std::filesystem::copy(directory_ / "other" / "authority", directory_ / "state" / "authority");
  const auto refused = Daemon::open(config());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the store is of a unit with authority"));
}

// As on a disk that is full: no file can grow.
TEST_F(DaemonTest, AnOldCertificateServesOnWhenNoneCanBeWritten) {
  const auto open_for = [this](const std::string& host) {
    return ServerIdentity::open(directory_, {host}, std::chrono::system_clock::now(),
                                std::chrono::hours(1000));
  };
  const trust::KeyAndCertificate before = open_for("a").value()->server();
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit none{1, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  const auto identity = open_for("b");
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, previous);
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ((*identity)->server(), before);
  EXPECT_THAT((*identity)->remark().value_or(""), HasSubstr("the old one is used on"));
  EXPECT_TRUE((*identity)->renew_if_needed(std::chrono::system_clock::now()).value());
  EXPECT_NE((*identity)->server(), before);
  EXPECT_EQ((*identity)->remark(), std::nullopt);
}

TEST_F(DaemonTest, KeepsItsEventsOverARestart) {
  const auto first_event = [this] {
    std::string event;
    while (event.empty()) {
      const std::string events = get("/v1/events");
      if (const auto begin = events.find("\"timeMs\""); begin != events.npos) {
        event = events.substr(begin, events.find('}', begin) - begin);
      }
    }
    return event;
  };
  std::string before;
  {
    const auto daemon = Daemon::open(config());
    ASSERT_TRUE(daemon) << daemon.error().message;
    before = first_event();
  }
  const auto daemon = Daemon::open(config());
  ASSERT_TRUE(daemon) << daemon.error().message;
  EXPECT_EQ(first_event(), before) << "of the same moment";
}

TEST_F(DaemonTest, ADamagedFileOfEventsIsSetAsideAndKeepsNobodyFromStarting) {
  std::filesystem::create_directories(directory_ / "state");
  const std::filesystem::path file = directory_ / "state" / "events.db";
  std::ofstream(file) << std::string(10'000, 'x');
  const auto daemon = Daemon::open(config());
  ASSERT_TRUE(daemon) << daemon.error().message;
  EXPECT_EQ(text_of(file.string() + ".damaged"), std::string(10'000, 'x'));
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
