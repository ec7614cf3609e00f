// SPDX-License-Identifier: Apache-2.0
// From what clients send to what encode_chat takes: our own choices, which the model does not know
// (spec: chat-format.md 9). The server's table of them belongs here as well.
#pragma once

#include <vector>

#include "base/json.h"

namespace cachalot {

// Puts a list of tools where the model was trained to find them: on the first message if that is a system message, else
// on an empty system message before all others.
void put_tools(std::vector<Json>& messages, Json tools);

}  // namespace cachalot
