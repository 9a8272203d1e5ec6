#include "sim/session_users.h"

#include <fmt/format.h>

#include "sim/draw.h"

namespace berth::sim {
namespace {

constexpr std::size_t kRemembered = 20;

model::Image app_image(const char* arch) {
  model::Image image;
  image.platform.os = "linux";
  image.platform.arch = arch;
  image.form = model::OciImage{fmt::format("apps/{}", arch)};
  return image;
}

model::Image app_command() {
  model::Image image;
  image.form = model::CommandImage{{"/usr/bin/app"}};
  return image;
}

std::vector<model::Port> draw_ports(Random& random) {
  switch (random.below(4)) {
    case 0: return {};
    case 1: return {{8080, model::Protocol::Tcp}, {8080, model::Protocol::Udp}};
    case 2: return {{8080, model::Protocol::Tcp}, {9090, model::Protocol::Udp}};
    default: return {{8080, model::Protocol::Tcp}};
  }
}

std::uint32_t draw_count(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<std::uint32_t>(random.between(low, high));
}

model::Band draw_band(Random& random, std::int64_t low_max, std::int64_t more_max) {
  const std::uint32_t low = draw_count(random, 0, low_max);
  return {low, low + draw_count(random, 0, more_max)};
}

}  // namespace

SessionUsers::SessionUsers(Random random, Time now)
    : random_(random), pause_(draw(random_, 500ms, 8s)), next_(now + draw(random_, 1s, 10s)) {
  const std::uint64_t count = 1 + random_.below(3);
  for (std::size_t i = 0; i < count; ++i) draw_line(i);
}

void SessionUsers::draw_line(std::size_t index) {
  Line line;
  line.item.id = model::ItemId(fmt::format("app{}", index));
  line.item.version = "1";
  line.item.images = {app_image("amd64"), app_image("arm64")};
  if (draw_percent(random_, 40)) line.item.images = {app_command()};
  line.item.ports = draw_ports(random_);
  line.item.quotas.cpu = Dmips(random_.between(20, 1000));
  line.item.quotas.ram = Bytes(random_.between(8, 200) << 20);
  line.item.owner = model::OwnerId(fmt::format("owner{}", random_.below(3)));
  model::Application& application = line.application;
  application.name = fmt::format("echo{}", index);
  application.ns = draw_percent(random_, 50) ? "games" : model::Namespace::kDefault;
  application.item = line.item.id;
  application.version = line.item.version;
  application.priority = random_.between(0, 3) * 100;
  draw_scaling(application.scaling);
  draw_sessions(application.sessions);
  lines_.push_back(std::move(line));
}

void SessionUsers::draw_scaling(model::ScalingPolicy& scaling) {
  scaling.minimum = draw_count(random_, 0, 2);
  scaling.maximum = draw_count(random_, 2, 8);
  scaling.burst = draw_count(random_, 1, 3);
  if (draw_percent(random_, 10)) scaling.burst.reset();
  scaling.idle.reset();
  scaling.idle_percent.reset();
  scaling.standby.reset();
  if (draw_percent(random_, 60)) {
    scaling.idle = draw_band(random_, 2, 2);
  } else if (draw_percent(random_, 50)) {
    scaling.idle_percent = draw_band(random_, 50, 49);
  }
  if (draw_percent(random_, 40)) scaling.standby = draw_band(random_, 1, 2);
  scaling.cooldown = draw(random_, 2s, 30s);
}

void SessionUsers::draw_sessions(model::SessionOptions& sessions) {
  sessions.service = draw_percent(random_, 50);
  sessions.per_instance = draw_count(random_, 1, 3);
  sessions.reuse.reset();
  if (draw_percent(random_, 40)) sessions.reuse = draw_percent(random_, 60);
  sessions.kill_when_closed = draw_percent(random_, 20);
  sessions.open_timeout = draw(random_, 1s, 15s);
  sessions.close_grace = draw(random_, 1s, 20s);
  sessions.claim = draw_percent(random_, 50) ? Duration{} : draw(random_, 5s, 60s);
  sessions.ttl.reset();
  if (draw_percent(random_, 40)) sessions.ttl = draw(random_, 5s, 90s);
  sessions.idle_timeout.reset();
  if (sessions.service && draw_percent(random_, 30)) sessions.idle_timeout = draw(random_, 5s, 60s);
  sessions.reopen = draw_percent(random_, 20);
  sessions.keep_finished = draw(random_, 5s, 60s);
  sessions.health_period = draw(random_, 3s, 10s);
}

// --- Calls -------------------------------------------------------------------------------------

std::vector<control::Event> SessionUsers::calls(Time now) {
  next_ = now + draw_around(random_, pause_);
  std::vector<control::Event> calls;
  gather_leavers(calls);
  Line& line = draw_a_line();
  const std::uint64_t dice = random_.below(100);
  if (!line.is_there) {
    calls.push_back(apply(line));
  } else if (dice < 3) {
    calls.push_back(remove(line));
  } else if (dice < 9) {
    calls.push_back(edit(line));
  } else if (dice < 25) {
    calls.push_back(close());
  } else if (dice < 33 && !opened_.empty()) {
    calls.push_back(open_again());
  } else {
    // Some come in crowds.
    const std::uint64_t crowd = draw_percent(random_, 15) ? 2 + random_.below(6) : 1;
    for (std::uint64_t i = 0; i < crowd; ++i) calls.push_back(open(line));
  }
  return calls;
}

void SessionUsers::gather_leavers(std::vector<control::Event>& calls) {
  for (const control::CallId call : std::exchange(impatient_, {})) {
    calls.push_back(control::SessionCallerGone{call});
  }
}

// The namespace and the item go along, so that a call works whatever happened to earlier ones.
control::Event SessionUsers::apply(Line& line) {
  line.is_there = true;
  control::ApplyCall call{.call = ++last_call_, .documents = {}, .if_revision = {}};
  if (line.application.ns != model::Namespace::kDefault) {
    call.documents.emplace_back(model::Namespace{line.application.ns});
  }
  call.documents.emplace_back(line.item);
  call.documents.emplace_back(line.application);
  return call;
}

control::Event SessionUsers::edit(Line& line) {
  switch (random_.below(3)) {
    case 0: draw_scaling(line.application.scaling); break;
    case 1: draw_sessions(line.application.sessions); break;
    default:
      line.item.version = fmt::format("{}", ++last_version_);
      line.item.ports = draw_ports(random_);
      line.application.version = line.item.version;
  }
  return apply(line);
}

control::Event SessionUsers::remove(Line& line) {
  line.is_there = false;
  return control::DeleteCall{++last_call_, "Application",
                             model::to_string(model::key_of(line.application))};
}

control::Event SessionUsers::open(const Line& line) {
  control::OpenSessionCall call;
  call.call = ++last_call_;
  call.application = model::key_of(line.application);
  call.caller = fmt::format("user{}", random_.below(3));
  if (draw_percent(random_, 80)) call.name = fmt::format("s{}", ++last_session_);
  if (draw_percent(random_, 40)) call.request_id = fmt::format("r{}", call.call);
  if (draw_percent(random_, 30)) call.data = "hello";
  if (draw_percent(random_, 50)) call.timeout = draw(random_, 100ms, 20s);
  if (draw_percent(random_, 20)) call.ttl = draw(random_, 1s, 60s);
  if (draw_percent(random_, 10)) call.reopen = draw_percent(random_, 50);
  if (draw_percent(random_, 10)) impatient_.push_back(call.call);
  if (opened_.size() >= kRemembered) opened_.erase(opened_.begin());
  opened_.push_back(call);
  return call;
}

// By the same user, who has not heard the answer; or by another, who wants the same name.
control::Event SessionUsers::open_again() {
  control::OpenSessionCall call = draw_one(random_, opened_);
  call.call = ++last_call_;
  if (draw_percent(random_, 20)) call.caller = "stranger";
  return call;
}

control::Event SessionUsers::close() {
  control::CloseSessionCall call{.call = ++last_call_, .session = {}, .grace = {}};
  if (opened_.empty() || draw_percent(random_, 10)) {
    call.session = {model::Namespace::kDefault, fmt::format("echo0-{}", 1 + random_.below(9))};
  } else {
    const control::OpenSessionCall& opened = draw_one(random_, opened_);
    call.session = {opened.application.ns, opened.name.empty() ? "nobody" : opened.name};
  }
  if (draw_percent(random_, 20)) call.grace = draw(random_, 0s, 3s);
  return call;
}

}  // namespace berth::sim
