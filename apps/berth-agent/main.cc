#include <string>
#include <vector>

#include "agentd/program.h"

int main(int argc, char** argv) { return berth::agentd::run_program({argv + 1, argv + argc}); }
