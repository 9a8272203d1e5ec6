#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/show/console.h"

int main(int argc, char** argv) {
  return berth::cli::run_program({argv + 1, argv + argc}, berth::cli::process_console());
}
