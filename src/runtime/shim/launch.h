#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the agent and the shim of a run leave for each other in the run's directory.
namespace berth::runtime::shim {

// The names in a run's directory.
inline constexpr char kLaunchFile[] = "launch";    // by the agent: what to start
inline constexpr char kStopFile[] = "stop";        // by the agent: the grace in ms; then SIGTERM
inline constexpr char kPausedFile[] = "paused";    // by the agent: it stands still
inline constexpr char kLockFile[] = "lock";        // locked by the shim as long as it lives
inline constexpr char kShimFile[] = "shim";        // the shim's process id
inline constexpr char kPidFile[] = "pid";          // the program's process id; there when it runs
inline constexpr char kCreatedFile[] = "created";  // the same of a container, before it is started
inline constexpr char kExitFile[] = "exit";        // how it ended
// Of a virtual machine, the sockets of its emulator: QMP for the shim, QMP for the agent, and what
// the guest says of its end.
inline constexpr char kMonitorFile[] = "monitor";
inline constexpr char kOrdersFile[] = "orders";
inline constexpr char kExitPortFile[] = "exit-port";

inline constexpr std::size_t kLaunchBytesMax = 4 << 20;

struct User {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

// A program to start and where its output goes. With an `oci_runtime` it is a container, of which
// the bundle says all the rest. The emulator of a machine runs in the run's directory, if in no
// other.
struct Launch {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"
  std::string directory;
  std::optional<User> user;      // nullopt: the shim's own
  std::uint64_t open_files = 0;  // limits; 0: as they are
  std::uint64_t data_bytes = 0;
  std::string network_namespace;          // a path; empty: the shim's own
  std::vector<std::string> cgroup_files;  // "cgroup.procs" of the groups that it is to be in
  bool is_machine = false;                // it is the emulator of a virtual machine
  bool ends_unrecorded = false;           // its end need not outlast a crash of the machine

  std::string oci_runtime;  // the path of runc or crun
  std::string oci_root;     // where it keeps its states
  std::string container;
  std::string bundle;
  std::vector<std::string> oom_files;  // where the kernel counts "oom_kill"

  std::string log_directory;
  std::uint64_t log_bytes = 0;
  std::uint32_t log_files = 0;

  bool is_container() const { return !oci_runtime.empty(); }
};

// "name=value" texts, each ended by a NUL. The last one says that nothing is missing.
std::string encode(const Launch& launch);
std::optional<Launch> decode_launch(std::string_view bytes);

// How a run ended: the exit code, or 128 + the signal. The reason is set if more is known.
struct Ending {
  std::int32_t code = 0;
  std::string reason;
  std::string message;
};

std::string encode(const Ending& ending);
std::optional<Ending> decode_ending(std::string_view bytes);

// The first line of what the shim answers when asked to start.
inline constexpr std::string_view kStarted = "started";

std::optional<std::uint64_t> parse_number(std::string_view text);

}  // namespace berth::runtime::shim
