#include "runtime/supervision/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>

#include "base/check.h"
#include "codec/scalar.h"
#include "model/application.h"
#include "runtime/files/instance_directories.h"
#include "runtime/files/leftovers.h"
#include "runtime/process/process_table.h"
#include "runtime/shim/spawn.h"
#include "runtime/supervision/intervention.h"

namespace berth::runtime {
namespace {

constexpr std::int32_t kLostCode = 137;           // as if killed, which it most likely was
constexpr std::chrono::seconds kAnswerTime{200};  // more than the shim allows itself
constexpr std::size_t kAnswerBytesMax = 70 << 10;
// Between two looks at what another life of the agent has begun to start.
constexpr int kLookMs = 50;
constexpr std::chrono::milliseconds kBetweenLooks{250};  // at what starts or shall end
constexpr Duration kSlowStart = 2s;  // after which people want to know what it waits for

model::Problem start_problem(std::string message) {
  return {.reason = "StartFailed", .message = std::move(message)};
}

// Without the whitespace at its end, and not longer than people read.
std::string as_message(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() > 1000) text.remove_prefix(text.size() - 1000);
  return std::string(text);
}

std::string in_words(Duration duration) {
  return codec::Scalar<Duration>::text(std::chrono::floor<std::chrono::seconds>(duration));
}

// Whom a start waits for that was handed to the shim.
std::string awaited_by(const RunDirectory& directory) {
  const auto launch = directory.launch();
  if (!launch) return "its supervisor";
  if (launch->is_machine) return "the emulator of its machine";
  if (!launch->is_container()) return "its supervisor";
  const std::string program = std::filesystem::path(launch->oci_runtime).filename().string();
  return program + (directory.has(shim::kCreatedFile) ? " start" : " create");
}

// The program is the shim's child, and not yet reaped by it: its number is surely its own.
bool is_alive_below(pid_t program, pid_t shim) {
  const auto process = program > 1 ? read_process(program) : std::nullopt;
  return process && process->parent == shim && process->state != 'Z' && process->state != 'X';
}

// As its shim would have done it.
void ask_to_end(pid_t program, const shim::Launch& launch) {
  if (launch.is_container()) {
    ::kill(program, SIGTERM);
  } else {
    ::kill(-program, SIGTERM);
    ::kill(-program, SIGCONT);
  }
}

// Each is looked at once: runs end while they are put in order.
std::vector<RunDirectory> in_order_of_their_end(const std::filesystem::path& state_dir) {
  std::vector<std::pair<std::filesystem::file_time_type, RunDirectory>> with_times;
  for (RunDirectory& directory : RunDirectory::all(state_dir)) {
    const auto ended_at = directory.ended_at();
    with_times.emplace_back(ended_at, std::move(directory));
  }
  std::sort(with_times.begin(), with_times.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.path()) < std::tie(b.first, b.second.path());
  });
  std::vector<RunDirectory> ordered;
  for (auto& [time, directory] : with_times) ordered.push_back(std::move(directory));
  return ordered;
}

// All that comes until the shim closes its end, which it does when the program runs.
std::string read_answer(int fd) {
  const auto until = std::chrono::steady_clock::now() + kAnswerTime;
  std::string answer;
  char part[4096];
  while (answer.size() < kAnswerBytesMax) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    pollfd source{fd, POLLIN, 0};
    if (::poll(&source, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t got = ::read(fd, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.append(part, static_cast<std::size_t>(got));
  }
  return answer;
}

Started<void> parse_answer(std::string_view answer) {
  const std::size_t first = answer.find('\n');
  if (answer.substr(0, first) == shim::kStarted) return {};
  const std::size_t second = first == std::string_view::npos ? first : answer.find('\n', first + 1);
  if (second == std::string_view::npos) {
    return tl::unexpected(start_problem("the supervisor did not answer"));
  }
  return tl::unexpected(
      model::Problem{.reason = std::string(answer.substr(first + 1, second - first - 1)),
                     .message = as_message(answer.substr(second + 1))});
}

Started<void> run_shim(const std::filesystem::path& shim, const RunDirectory& directory) {
  auto answer = shim::make_pipe();
  if (!answer) return tl::unexpected(start_problem("no pipe"));
  const shim::Spawned spawned = shim::spawn({.argv = {shim.string(), directory.path().string()},
                                             .env = shim::own_environment(),
                                             .output = answer->write.get()});
  if (!spawned.is_running()) return tl::unexpected(start_problem(spawned.error));
  answer->write.reset();
  while (::waitpid(spawned.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return parse_answer(read_answer(answer->read.get()));
}

}  // namespace

Supervisor::Supervisor(Config config, RunListener& listener)
    : config_(std::move(config)),
      listener_(listener),
      boot_(boot_of_machine()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(epoll_.is_open() && wake_.is_open(), "no descriptors to wait with");
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
  CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0, "epoll takes eventfds");
  thread_ = std::thread([this] { wait_for_ends(); });
}

Supervisor::~Supervisor() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake();
  thread_.join();
}

// --- Starting ------------------------------------------------------------------------------------

Started<void> Supervisor::start(const model::FoundRun& found, const Prepare& prepare) {
  const Name name{found.key, found.run};
  const RunDirectory directory(config_.state_dir, found.key, found.run);
  auto begun = begin(name, found, directory);
  if (!begun) return begun;
  remove_told_of(found.key);
  auto launched = launch(found, directory, prepare);
  if (!launched) {
    // A shim that was killed has not taken back what it had begun.
    if (const auto begun_by_shim = directory.launch()) end_leftovers(*begun_by_shim);
    remove(directory, found.key);
    start_failed(name);
    return launched;
  }
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(name);
  watch(name, entry);
  if (entry.stop_grace && entry.phase == Phase::Running) signal_stop(name, entry);
  return {};
}

Started<void> Supervisor::begin(const Name& name, const model::FoundRun& found,
                                const RunDirectory& directory) {
  RunRecord record{.found = found, .runtime = config_.runtime, .boot = boot_, .tag = config_.tag};
  record.found.spec.reset();  // on the disk it costs no memory
  const std::lock_guard lock(mutex_);
  const bool is_new = !told_.contains(name) && !directory.has("") &&
                      entries_.try_emplace(name, Entry{record, directory}).second;
  if (is_new) {
    attended_.insert(name);
    wake();
    return {};
  }
  return tl::unexpected(start_problem("this run has been started before"));
}

Started<void> Supervisor::launch(const model::FoundRun& found, const RunDirectory& directory,
                                 const Prepare& prepare) {
  const RunRecord record{
      .found = found, .runtime = config_.runtime, .boot = boot_, .tag = config_.tag};
  if (const auto created = directory.create(record); !created) {
    return tl::unexpected(start_problem(created.error().message));
  }
  const Started<shim::Launch> prepared = prepare(directory);
  if (!prepared) return tl::unexpected(prepared.error());
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_.at({found.key, found.run});
    if (entry.stop_grace) {
      return tl::unexpected(start_problem("it was stopped before it had started"));
    }
    entry.is_launched = true;
  }
  shim::Launch launch = *prepared;
  launch.ends_unrecorded = model::is_pool_instance(found.key);
  if (const auto written = directory.write(shim::kLaunchFile, encode(launch)); !written) {
    return tl::unexpected(start_problem(written.error().message));
  }
  return run_shim(config_.shim, directory);
}

// Who asked for its end meanwhile is still told of it.
void Supervisor::start_failed(const Name& name) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.extract(name);
  if (entry.mapped().stop_grace) say_soon({.name = name});
}

void Supervisor::remove_told_of(const model::InstanceKey& key) {
  std::vector<model::RunId> old;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = told_.lower_bound({key, {}}); at != told_.end() && at->first == key; ++at) {
      old.push_back(at->second);
    }
  }
  for (const model::RunId& run : old) forget(key, run);
}

// --- Finding -------------------------------------------------------------------------------------

// Who cannot read all that there is must not say that the rest is gone.
Result<std::vector<model::FoundRun>> Supervisor::list() {
  const Error unreadable{Code::Unavailable, "too many files are open to look at its runs"};
  if (!shim::make_pipe()) return unreadable;
  const std::vector<RunDirectory> directories = in_order_of_their_end(config_.state_dir);
  const std::lock_guard nothing_is_told(telling_);
  const std::lock_guard lock(mutex_);
  for (const RunDirectory& directory : directories) {
    errno = 0;
    const auto record = directory.record();
    if (!record && shim::lacks_descriptors()) return unreadable;
    if (!record) {
      directory.remove();  // cut off in the middle of a start
    } else if (record->runtime.id == config_.runtime.id) {
      adopt(directory, *record);
    }
  }
  std::vector<model::FoundRun> found;
  for (const auto& [name, entry] : entries_) {
    if (entry.phase == Phase::Starting) continue;
    found.push_back(entry.record.found);
    found.back().starting = entry.phase == Phase::Found;
    if (!entry.stop_grace) found.back().spec = entry.directory.spec();
    if (model::is_pool_instance(name.first)) found.back().pool = entry.directory.pool_note();
  }
  return found;
}

// A run that never got as far as to have a shim never was.
void Supervisor::adopt(const RunDirectory& directory, const RunRecord& record) {
  const Name name{record.found.key, record.found.run};
  if (entries_.contains(name) || told_.contains(name)) return;
  if (!directory.has(shim::kLockFile)) return remove(directory, record.found.key);
  Entry& entry = entries_.try_emplace(name, Entry{record, directory}).first->second;
  watch(name, entry);
  if (entry.phase == Phase::Running && entry.program < 0 && !directory.has(shim::kExitFile)) {
    entry.phase = Phase::Found;
    entry.is_launched = true;
    coming_.insert(name);
    attended_.insert(name);
    wake();
  }
  if (!directory.has(shim::kStopFile)) return;
  const auto grace = directory.read(shim::kStopFile, 64);
  const auto ms = grace ? shim::parse_number(*grace) : std::nullopt;
  entry.stop_grace = std::chrono::milliseconds(std::min<std::uint64_t>(ms.value_or(0), 86'400'000));
  // The agent may have died before it could send the signal. The file says the grace.
  if (entry.phase != Phase::Ended) tell_to_stop(name, entry);
}

// The shim's number is surely its own if it lives after a handle on it was opened.
void Supervisor::watch(const Name& name, Entry& entry) {
  entry.phase = Phase::Running;
  entry.program = entry.directory.pid(shim::kPidFile).value_or(-1);
  errno = 0;
  entry.shim = entry.directory.pid(shim::kShimFile).value_or(-1);
  if (!open_handle(entry)) return end_soon(name);
  if (!entry.shim_handle.is_open()) return wake();  // it is looked at from time to time
  const std::uint64_t token = next_token_++;
  watched_.emplace(token, name);
  epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {.u64 = token}};
  const int added = ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, entry.shim_handle.get(), &event);
  CHECK(added == 0, "epoll takes handles of processes");
}

// False: it does not live. Without descriptors it may live without a handle on it.
bool Supervisor::open_handle(Entry& entry) {
  if (entry.shim <= 0) return shim::lacks_descriptors();
  entry.shim_handle = shim::Fd(static_cast<int>(::syscall(SYS_pidfd_open, entry.shim, 0)));
  if (!entry.shim_handle.is_open() && !shim::lacks_descriptors()) return false;
  return entry.directory.is_supervised();
}

std::optional<LiveRun> Supervisor::find(const model::InstanceKey& key) const {
  const std::lock_guard lock(mutex_);
  std::optional<LiveRun> newest;
  for (auto at = entries_.lower_bound({key, {}}); at != entries_.end() && at->first.first == key;
       ++at) {
    const Entry& entry = at->second;
    if (entry.phase != Phase::Running) continue;
    newest = LiveRun{entry.record, entry.directory, entry.shim, entry.program};
  }
  return newest;
}

std::vector<LiveRun> Supervisor::live() const {
  const std::lock_guard lock(mutex_);
  std::vector<LiveRun> runs;
  for (const auto& [name, entry] : entries_) {
    if (entry.phase != Phase::Running) continue;
    runs.push_back({entry.record, entry.directory, entry.shim, entry.program});
  }
  return runs;
}

std::vector<model::InstanceKey> Supervisor::running() const {
  const std::lock_guard lock(mutex_);
  std::vector<model::InstanceKey> keys;
  for (const auto& [name, entry] : entries_) {
    if (entry.phase == Phase::Running) keys.push_back(name.first);
  }
  return keys;
}

// --- Stopping ------------------------------------------------------------------------------------

void Supervisor::stop(const model::InstanceKey& key, const model::RunId& run, Duration grace) {
  const Name name{key, run};
  const RunDirectory directory(config_.state_dir, key, run);
  const std::lock_guard lock(mutex_);
  if (!entries_.contains(name) && !told_.contains(name)) {
    const auto record = directory.record();
    if (record && record->runtime == config_.runtime) adopt(directory, *record);
  }
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    const auto ending = directory.ending().value_or(shim::Ending{});
    // What a pool instance has left takes long to remove, perhaps: whoever heard of its end has it
    // forgotten.
    if (!model::is_pool_instance(key) && told_.erase(name) > 0) directory.remove();
    return say_soon({name, ending.code, {ending.reason, as_message(ending.message)}});
  }
  Entry& entry = found->second;
  entry.stop_grace = grace;
  entry.stop_told_at = Clock::now();
  if (entry.phase == Phase::Running || entry.phase == Phase::Found) signal_stop(name, entry);
  if (entry.phase != Phase::Starting) return;
  attended_.insert(name);  // one that cannot be told is not waited for either
  wake();
}

// First the file, then the signal: from then on the shim does it alone.
void Supervisor::signal_stop(const Name& name, Entry& entry) {
  const auto grace = std::chrono::ceil<std::chrono::milliseconds>(*entry.stop_grace).count();
  // With the disk full it is the shim's own grace.
  static_cast<void>(
      entry.directory.write(shim::kStopFile, std::to_string(std::max(std::int64_t{0}, grace))));
  tell_to_stop(name, entry);
}

// Somebody may have made it stand still, in which it would hear nothing.
void Supervisor::tell_to_stop(const Name& name, Entry& entry) {
  entry.stop_told_at = Clock::now();
  signal_shim(entry, entry.shim, SIGTERM);
  signal_shim(entry, entry.shim, SIGCONT);
  attended_.insert(name);
  wake();
}

void Supervisor::signal_shim(const Entry& entry, pid_t shim, int number) {
  if (entry.shim_handle.is_open()) {
    ::syscall(SYS_pidfd_send_signal, entry.shim_handle.get(), number, nullptr, 0);
    return;
  }
  const shim::Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, shim, 0)));
  if (!handle.is_open() || !entry.directory.is_supervised()) return;
  ::syscall(SYS_pidfd_send_signal, handle.get(), number, nullptr, 0);
}

// --- Looking after shims -------------------------------------------------------------------------

void Supervisor::look() {
  const Clock::time_point now = Clock::now();
  std::vector<std::pair<Name, model::Problem>> remarks;
  {
    const std::lock_guard lock(mutex_);
    for (const Name& name : names_to_look_at(now)) {
      const auto found = entries_.find(name);
      const bool has_ended = found == entries_.end() || found->second.phase == Phase::Ended;
      model::Problem remark = has_ended ? model::Problem{} : look_at(name, found->second, now);
      const bool is_at_rest = has_ended || (found->second.phase == Phase::Running &&
                                            !found->second.stop_grace && remark.reason.empty());
      is_at_rest ? void(attended_.erase(name)) : void(attended_.insert(name));
      if (has_ended || remark == found->second.remark) continue;
      found->second.remark = remark;
      remarks.emplace_back(name, std::move(remark));
    }
  }
  for (const auto& [name, remark] : remarks) {
    const std::lock_guard telling(telling_);
    listener_.remarked(name.first, name.second, remark);
  }
}

std::vector<Supervisor::Name> Supervisor::names_to_look_at(Clock::time_point now) {
  if (now < next_look_) return {};
  next_look_ = now + kBetweenLooks;
  if (now < next_look_at_all_) return {attended_.begin(), attended_.end()};
  next_look_at_all_ = now + config_.between_looks;
  std::vector<Name> names(attended_.begin(), attended_.end());
  for (const auto& [name, entry] : entries_) {
    if (!attended_.contains(name)) names.push_back(name);
  }
  return names;
}

// What is to be said of it.
model::Problem Supervisor::look_at(const Name& name, Entry& entry, Clock::time_point now) {
  const bool has_started = entry.phase == Phase::Running;
  if (has_started && !entry.shim_handle.is_open()) watch(name, entry);
  if (entry.phase == Phase::Ended) return {};
  const pid_t shim = has_started ? entry.shim : entry.directory.pid(shim::kShimFile).value_or(-1);
  if (shim > 0 && entry.stop_grace) intervene(entry, shim, now);
  const model::Problem remark = shim > 0 ? look_at_shim(entry, shim) : model::Problem{};
  return has_started || !remark.reason.empty() ? remark : look_at_start(entry, now);
}

// One that stands still keeps the output of its program, and its end, from being noticed.
model::Problem Supervisor::look_at_shim(const Entry& entry, pid_t shim) const {
  const auto process = read_process(shim);
  if (!process) return {};
  if (process->state == 'T') signal_shim(entry, shim, SIGCONT);
  const bool stands_still = process->state == 'T' || process->state == 't';
  const bool is_deaf = entry.was_asked || entry.was_killed;
  if (!stands_still && !is_deaf) return {};
  return {"SupervisorStopped",
          stands_still ? fmt::format("its supervisor, process {}, stands still", shim)
                       : fmt::format("its supervisor, process {}, does not react", shim)};
}

// Said again and again, but less and less often: what waits for long need not be reported each
// second.
model::Problem Supervisor::look_at_start(Entry& entry, Clock::time_point now) const {
  const Duration since = std::chrono::duration_cast<Duration>(now - entry.begun_at);
  if (since < std::max(kSlowStart, entry.remark_at)) return entry.remark;
  entry.remark_at = 2 * since;
  return {"StartSlow", entry.is_launched
                           ? fmt::format("{} has not answered for {}", awaited_by(entry.directory),
                                         in_words(since))
                           : fmt::format("it is being prepared for {} now", in_words(since))};
}

void Supervisor::intervene(Entry& entry, pid_t shim, Clock::time_point now) {
  StopUnderWay stop{.since = std::chrono::duration_cast<Duration>(now - entry.stop_told_at),
                    .grace = *entry.stop_grace,
                    .has_heard = false};
  if (entry.was_killed || intervention_in(stop) == Intervention::None) return;
  const auto launch = entry.directory.launch();
  stop.has_heard = entry.phase != Phase::Starting && !has_pending(shim, SIGTERM);
  stop.can_be_asked = launch && !launch->is_machine && is_alive_below(entry.program, shim);
  switch (intervention_in(stop)) {
    case Intervention::None: return;
    case Intervention::AskProgram:
      if (!std::exchange(entry.was_asked, true)) ask_to_end(entry.program, *launch);
      return;
    case Intervention::KillShim: entry.was_killed = true; return signal_shim(entry, shim, SIGKILL);
  }
}

// Known as told until its directory is gone: nobody must find it again meanwhile. Who was told may
// be here before the thread that tells it has written it down.
void Supervisor::forget(const model::InstanceKey& key, const model::RunId& run) {
  {
    const std::lock_guard nothing_is_told(telling_);
    const std::lock_guard lock(mutex_);
    if (!told_.contains({key, run})) return;
  }
  remove(RunDirectory(config_.state_dir, key, run), key);
  const std::lock_guard lock(mutex_);
  told_.erase({key, run});
}

// The number of a pool instance is never used again: with its only run goes all that it has left.
// That first: as long as the run's directory is there, it is known that there is more.
void Supervisor::remove(const RunDirectory& directory, const model::InstanceKey& key) const {
  if (model::is_pool_instance(key)) {
    static_cast<void>(erase_instance_directories(config_.state_dir, key));
  }
  directory.remove();
}

// --- Ends ----------------------------------------------------------------------------------------

void Supervisor::end_soon(const Name& name) {
  entries_.at(name).phase = Phase::Ended;
  ended_.push_back(name);
  wake();
}

void Supervisor::say_soon(End end) {
  unknown_.push_back(std::move(end));
  wake();
}

void Supervisor::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

void Supervisor::wait_for_ends() {
  for (;;) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, look_again_ms());
    for (int i = 0; i < count; ++i) take(events[i].data.u64);
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
    }
    tell_queued();
    tell_started();
    look();
  }
}

int Supervisor::look_again_ms() const {
  const std::lock_guard lock(mutex_);
  if (!coming_.empty()) return kLookMs;
  if (entries_.empty()) return -1;
  const auto next = attended_.empty() ? std::max(next_look_at_all_, next_look_) : next_look_;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

// Its shim has answered an agent that is no more: that it runs is seen in its directory.
void Supervisor::tell_started() {
  const std::set<Name> coming = [this] {
    const std::lock_guard lock(mutex_);
    return coming_;
  }();
  for (const Name& name : coming) {
    const std::lock_guard telling(telling_);
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(name);
      const bool has_ended = found == entries_.end() || found->second.phase != Phase::Found;
      const auto pid = has_ended ? std::nullopt : found->second.directory.pid(shim::kPidFile);
      if (!has_ended && !pid) continue;
      coming_.erase(name);
      if (has_ended) continue;
      found->second.phase = Phase::Running;
      found->second.program = *pid;
    }
    listener_.started(name.first, name.second);
  }
}

void Supervisor::take(std::uint64_t token) {
  if (token == 0) {
    std::uint64_t count = 0;
    static_cast<void>(!::read(wake_.get(), &count, sizeof count));
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto watched = watched_.extract(token);
  Entry& entry = entries_.at(watched.mapped());
  entry.shim_handle.reset();
  entry.phase = Phase::Ended;
  ended_.push_back(watched.mapped());
}

void Supervisor::tell_queued() {
  for (;;) {
    std::optional<Name> ended;
    std::optional<End> unknown;
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
      if (!ended_.empty()) {
        ended = ended_.front();
        ended_.pop_front();
      } else if (!unknown_.empty()) {
        unknown = unknown_.front();
        unknown_.pop_front();
      } else {
        return;
      }
    }
    if (unknown) {
      const std::lock_guard telling(telling_);
      listener_.exited(unknown->name.first, unknown->name.second, unknown->code, unknown->problem);
    } else {
      tell(how_it_ended(*ended));
    }
  }
}

Supervisor::End Supervisor::how_it_ended(const Name& name) {
  const auto [record, directory, was_killed] = [&] {
    const std::lock_guard lock(mutex_);
    const Entry& entry = entries_.at(name);
    return std::tuple(entry.record, entry.directory, entry.was_killed);
  }();
  if (const auto ending = directory.ending()) {
    return {name, ending->code, {ending->reason, as_message(ending->message)}};
  }
  if (record.boot != boot_) {
    return {name, kLostCode, {"Lost", "the machine was restarted while it ran"}};
  }
  if (const auto launch = directory.launch()) end_leftovers(*launch);
  return {
      name,
      kLostCode,
      {"Lost", was_killed ? "its supervisor did not carry out the stop; the agent has ended both"
                          : "its supervisor was killed"}};
}

// It is listed until the listener knows, and no longer. It is remembered on the disk until that is
// sure to last; of one that was to end nothing need be remembered, unless there is much to remove.
void Supervisor::tell(const End& end) {
  const std::lock_guard telling(telling_);
  listener_.exited(end.name.first, end.name.second, end.code, end.problem);
  const RunDirectory directory(config_.state_dir, end.name.first, end.name.second);
  bool is_over = false;
  {
    const std::lock_guard lock(mutex_);
    const bool was_stopped = entries_.extract(end.name).mapped().stop_grace.has_value();
    is_over = was_stopped && !model::is_pool_instance(end.name.first);
    if (!is_over) told_.insert(end.name);
  }
  if (is_over) directory.remove();
}

}  // namespace berth::runtime
