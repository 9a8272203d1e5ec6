#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "model/application.h"
#include "runtime/conformance.h"
#include "runtime/files/run_directory.h"
#include "runtime/shim/files.h"

// Instances of pools: there are many, each runs once, and nothing of them stays.
namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

model::InstanceSpec in_pool(model::InstanceSpec spec) {
  spec.key = model::pool_instance({"games", "echo"}, 7);
  return spec;
}

std::size_t files_of(const fs::path& state_dir, const model::InstanceKey& key) {
  std::size_t count = 0;
  for (const char* place : {"runs", "logs", "storage", "state"}) {
    count += fs::exists(state_dir / place / file_name_of(key)) ? 1 : 0;
  }
  return count;
}

// Where nobody listens: to see it is enough.
std::string make_socket(const fs::path& directory) {
  fs::create_directories(directory);
  ::chmod(directory.c_str(), 0711);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = directory / "session.sock";
  path.copy(address.sun_path, path.size());
  const shim::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::chmod(path.c_str(), 0666);
  return path;
}

TEST_P(RuntimeConformance, APoolInstanceIsFoundAgainWithWhatWasKeptBesideIt) {
  if (GetParam().is_machine) GTEST_SKIP() << "the same as of processes";
  const auto spec = in_pool(script(kForEver));
  start(spec);
  model::PoolNote note;
  note.edition = 3;
  note.token = "secret";
  note.sessions.emplace_back().session.data = "any\n\xFF";
  keep_pool_note(config_.state_dir, spec.key, run(0), {});
  keep_pool_note(config_.state_dir, spec.key, run(0), note);
  ASSERT_TRUE(runtime().pause(spec.key));
  restart_agent();
  const auto found = list();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, spec.key);
  EXPECT_EQ(found[0].pool, note);
  ASSERT_TRUE(found[0].spec);
  EXPECT_TRUE(found[0].spec->paused);
  EXPECT_TRUE(runtime().resume(spec.key));
}

TEST_P(RuntimeConformance, NothingIsLeftOfAPoolInstance) {
  if (GetParam().is_machine) GTEST_SKIP() << "the same as of processes";
  const auto spec = in_pool(script(kForEver));
  start(spec);
  wait_for_output(spec, "O:ready");
  EXPECT_EQ(files_of(config_.state_dir, spec.key), 4U);
  EXPECT_TRUE(RunDirectory(run_directory(spec)).launch()->ends_unrecorded);
  runtime().stop(spec.key, run(0), 0s);
  wait_for_exit(spec);
  runtime().forget(spec.key, run(0));
  EXPECT_EQ(files_of(config_.state_dir, spec.key), 0U);

  const auto broken = in_pool(GetParam().broken());
  EXPECT_FALSE(runtime().start(broken, run(1)));
  EXPECT_EQ(files_of(config_.state_dir, spec.key), 0U);
}

TEST_P(RuntimeConformance, AnAppReachesTheSessionServiceOfItsNodeOrIsNotStarted) {
  auto spec = in_pool(script("test -S $BERTH_SESSION_SOCKET && test -w $BERTH_SESSION_SOCKET"));
  spec.session_socket = make_socket(config_.state_dir / "sockets");
  if (GetParam().is_machine) {
    const auto started = runtime().start(spec, run(0));
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().reason, "SessionServiceUnavailable");
    return;
  }
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
}

}  // namespace
}  // namespace berth::runtime
