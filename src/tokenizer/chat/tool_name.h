// SPDX-License-Identifier: Apache-2.0
// Names of tools and their namespaces: `namespace::name` in the prompt, two fields in a message (spec: chat-format.md
// 7).
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/json.h"

namespace cachalot {

struct ToolName {
  std::string space;        // the namespace; empty for none
  std::string name;         // without it
  std::string description;  // of the namespace; empty for none

  std::string printed() const { return space.empty() ? name : space + "::" + name; }
};

// Splits at the first `::`. A name that begins with `::` has no namespace and stays as it is.
// Error (Errc::format): a second `::`.
Expected<ToolName> split_tool_name(std::string_view name);

// Of an entry of `tools` or `tool_calls`: {function: {name, namespace?}, namespace?}. The namespace beside `function`
// wins; null and empty ones count as none. Errors (Errc::format): no function, no name, a value of the wrong kind, a
// second `::`, a namespace with `::`, a namespace other than the one that the name begins with.
Expected<ToolName> read_tool_name(const Json& entry);

}  // namespace cachalot
