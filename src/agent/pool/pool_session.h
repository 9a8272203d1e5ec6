#pragma once

#include <optional>

#include "agent/context.h"
#include "model/pool.h"

namespace berth::agent {

// One session on its instance: what was told to the app and the gateway about it, and its clocks.
// It knows nothing of other sessions; what its instance must do for it is asked by `wants_stop`.
class PoolSession {
 public:
  // What its instance can do for it now.
  struct Host {
    const std::vector<model::SessionPort>* ports = nullptr;  // where it listens
    bool serves = false;        // it runs, stands not still, and its app is there
    bool has_app = false;       // it uses the session service
    bool ends_with_it = false;  // it is stopped after this session: nothing else holds it
    bool is_elsewhere = false;  // on another node: this one is the gateway
  };

  explicit PoolSession(model::SessionSpec spec);
  // In an earlier life of the agent it was as noted: this one has to ask for its endpoints again.
  explicit PoolSession(model::KeptSession kept);

  const model::SessionSpec& spec() const { return kept_.session; }
  model::SessionState state() const { return kept_.state; }
  bool is_over() const { return model::is_over(kept_.state); }
  const model::KeptSession& kept() const { return kept_; }
  model::ReportedSession report(Time now) const;

  // --- Facts.
  void app_opened(const std::string& problem);
  void app_closed();
  void app_counted(Time now, std::uint32_t clients);
  void endpoints_opened(const EndpointsOpened& event);
  void endpoints_closed() { endpoints_ = Endpoints::Closed; }
  void claimed();

  // It shall end; the first reason counts. With a grace of 0 its instance is not asked.
  void close(Time now, Duration grace, model::Problem reason);
  // Its instance is gone, or goes.
  void lose(const model::Problem& reason);

  // Does what is next. Whether anything has changed that others must know, by that or before.
  bool advance(const Context& context, const Host& host);

  // Its grace is over, or nothing but the end of its instance can end it.
  enum class Stop { No, WithGrace, Now };
  Stop wants_stop(Time now, const Host& host) const;

  std::optional<Time> due() const;

 private:
  enum class App { Untold, Told, Opened, ToldToClose, Closed };
  // Left: an earlier life of the agent has opened them; whoever is connected may still be.
  enum class Endpoints { None, Left, Asked, Open, Closing, Closed };

  bool is_ending() const { return ends_as_.has_value(); }
  void enter(model::SessionState state);
  void find_ports(const Host& host);
  void fail(model::Problem reason);
  void begin(const Context& context, const Host& host);
  void look_at_clocks(Time now);
  void end(const Context& context, const Host& host);
  void cut(const Context& context);

  model::KeptSession kept_;
  App app_ = App::Untold;
  Endpoints endpoints_ = Endpoints::None;
  bool has_changed_ = true;
  bool tells_again_ = false;  // its app has it, but the session service of this life does not know
  bool is_lost_ = false;      // with its instance
  bool refuses_ = false;      // nobody new comes in
  Duration grace_{};
  std::optional<model::SessionState> ends_as_;
};

}  // namespace berth::agent
