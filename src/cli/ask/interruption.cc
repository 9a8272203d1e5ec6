#include "cli/ask/interruption.h"

#include "base/check.h"

namespace berth::cli {
namespace {

volatile sig_atomic_t requested_now = 0;
bool one_lives = false;

void note(int) { requested_now = 1; }

}  // namespace

Interruption::Interruption() {
  CHECK(!one_lives, "interruptions do not nest");
  one_lives = true;
  requested_now = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_int_);
  sigaction(SIGTERM, &action, &before_term_);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
  one_lives = false;
}

bool Interruption::requested() const { return requested_now != 0; }

}  // namespace berth::cli
