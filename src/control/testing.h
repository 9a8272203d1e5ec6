#pragma once

// All that tests of the control core are made of. Included by tests only.
#include "control/testing/builders.h"
#include "control/testing/driver.h"
#include "control/testing/fake_agent.h"
