#include <string>
#include <vector>

#include "cli/show/console.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  return berth::cli::run_program({argv + 1, argv + argc}, berth::cli::process_console());
}
