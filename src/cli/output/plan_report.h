// SPDX-License-Identifier: Apache-2.0
// What `cachalot plan` tells: what a model will take, and what this machine has.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/memory_plan.h"

namespace cachalot {

std::string plan_text(const ModelFiles& files, const MemoryPlan& plan, const MachineMemory& machine);
Json plan_json(const ModelFiles& files, const MemoryPlan& plan, const MachineMemory& machine);

}  // namespace cachalot
