#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "bench/bench.h"
#include "bench/real_unit.h"
#include "bench/session_callers.h"
#include "bench/session_rows.h"

// A session that no instance waits for, beside a container that is started by hand.
namespace berth::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kColdOpens = 20;
constexpr double kColdPace = 2;  // per second

bool runs(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

void must_run(const std::string& command) {
  if (!runs(command)) throw std::runtime_error("this has failed: " + command);
}

// Of the sources that this program was built from.
std::optional<fs::path> image_maker() {
  for (fs::path at = fs::read_symlink("/proc/self/exe"); at != at.root_path();
       at = at.parent_path()) {
    const fs::path maker = at / "tools" / "make_image.sh";
    if (fs::exists(maker)) return maker;
  }
  return std::nullopt;
}

std::optional<std::string> why_not() {
  if (geteuid() != 0) return "containers need root";
  for (const std::string program : {"runc", "umoci", "busybox"}) {
    if (!runs("command -v " + program)) return program + " is not there";
  }
  if (!image_maker()) return "tools/make_image.sh is not there";
  return std::nullopt;
}

// The same image, and what it runs, as a bundle for runc.
fs::path make_bundle(const fs::path& directory) {
  const fs::path bundle = directory / "bundle";
  must_run(fmt::format("umoci unpack --image {}/images/busybox:1 {}", directory.string(),
                       bundle.string()));
  nlohmann::json config;
  std::ifstream(bundle / "config.json") >> config;
  config["process"]["args"] = {"/bin/busybox", "sleep", "1000000"};
  config["process"]["terminal"] = false;
  std::ofstream(bundle / "config.json") << config;
  return bundle;
}

Latency time_runc(const fs::path& directory) {
  const std::string runc = "runc --root " + (directory / "runc").string();
  const std::string bundle = make_bundle(directory);
  return latency_of(time_paced(
      kColdOpens, kColdPace,
      [&](std::size_t i) {
        must_run(fmt::format("{} run --detach --bundle {} bench-{}-{} </dev/null", runc, bundle,
                             getpid(), i));
      },
      [&](std::size_t i) {
        must_run(fmt::format("{} delete --force bench-{}-{}", runc, getpid(), i));
      }));
}

Latency time_cold(const RealUnit& unit) {
  const auto agent = unit.start_agent("cold", "runc");
  unit.wait_for_nodes(1);
  model::Application application = served("cold", 0);
  application.scaling.maximum = 100;
  application.sessions.reuse = false;
  application.sessions.close_grace = std::chrono::milliseconds(100);  // sleep does not hear of it
  apply(unit, {model::Namespace{kSessionNamespace},
               served_by(model::OciImage{"images/busybox:1"}, {"sleep", "1000000"}), application});
  SessionCalls sessions(caller_of(unit), kSessionNamespace, application.name);
  const auto close = [&](std::size_t i) { sessions.close(i, SessionCalls::How::Now); };
  sessions.open(kColdOpens);  // the image is unpacked for the first
  close(kColdOpens);
  return latency_of(time_paced(
      kColdOpens, kColdPace, [&](std::size_t i) { sessions.open(i); }, close));
}

}  // namespace

void add_session_cold(std::vector<Row>& rows) {
  if (const auto why = why_not()) {
    rows.push_back({"cold open", 0, "", "skipped: " + *why});
    return;
  }
  const RealUnit unit;
  must_run(fmt::format("ENTRYPOINT=/bin/busybox {} {}/images/busybox:1", image_maker()->string(),
                       unit.directory().string()));
  const Latency cold = time_cold(unit);
  const Latency runc = time_runc(unit.directory());
  const double ratio = cold.p50 / runc.p50;
  rows.push_back({"runc run", runc.p50 * 1e3, "ms, p50", "of the same bundle, detached"});
  rows.push_back({"cold open, runc", cold.p50 * 1e3, "ms, p50",
                  fmt::format("{:.1f} x runc run, goal: 3 x, {}", ratio, verdict(ratio <= 3))});
}

}  // namespace berth::bench
