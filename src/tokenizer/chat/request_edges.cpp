// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/request_edges.h"

namespace cachalot {

void put_tools(std::vector<Json>& messages, Json tools) {
  const Json* role = messages.empty() ? nullptr : messages.front().find("role");
  if (!role || *role != Json("system"))
    messages.insert(messages.begin(), Json::object({{"role", "system"}, {"content", ""}}));
  messages.front().set("tools", std::move(tools));
}

}  // namespace cachalot
