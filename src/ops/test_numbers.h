// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/test_arguments.h"
