// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/tool_name.h"

#include "tokenizer/chat/chat_goldens.h"

namespace cachalot::tool_name_test {
namespace {

std::string printed(const char* entry) {
  const auto name = read_tool_name(parse_or_fail(entry));
  return name ? name->printed() : "error: " + name.error().message;
}
bool is_error(const char* entry) { return printed(entry).starts_with("error: "); }

TEST(ToolName, SplitsAtTheFirstDoubleColonAndRefusesASecond) {
  EXPECT_EQ(split_tool_name("f")->name, "f");
  EXPECT_EQ(split_tool_name("a::b")->space, "a");
  EXPECT_EQ(split_tool_name("a::b")->name, "b");
  EXPECT_EQ(split_tool_name("a:::b")->name, ":b");
  EXPECT_EQ(split_tool_name("a:b")->space, "");
  EXPECT_EQ(split_tool_name("")->name, "");
  for (const char* name : {"a::b::c", "::b::c", "a::::b", "::::"})
    EXPECT_FALSE(split_tool_name(name).has_value()) << name;
}

TEST(ToolName, WhateverSplitsIsPrintedAsItWas) {
  for (const char* name : {"f", "a::b", "::b", "a::", "::", "a:::b", "", " "})
    EXPECT_EQ(split_tool_name(name)->printed(), name);
}

TEST(ToolName, ANamespaceBesideTheFunctionWinsOverOneInside) {
  EXPECT_EQ(printed(R"({"function": {"name": "f"}})"), "f");
  EXPECT_EQ(printed(R"({"function": {"name": "f", "namespace": "in"}})"), "in::f");
  EXPECT_EQ(printed(R"({"function": {"name": "f", "namespace": "in"}, "namespace": "out"})"), "out::f");
  EXPECT_EQ(printed(R"({"function": {"name": "f", "namespace": "in"}, "namespace": {"name": "out"}})"), "out::f");
  EXPECT_EQ(printed(R"({"function": {"name": "f", "namespace": "in"}, "namespace": null})"), "in::f");
  EXPECT_EQ(printed(R"({"function": {"name": "f"}, "namespace": ""})"), "f");
  EXPECT_EQ(printed(R"({"function": {"name": "a::f"}, "namespace": "a"})"), "a::f");
}

TEST(ToolName, ContradictionsAndWrongKindsAreErrors) {
  for (const char* entry :
       {R"({"function": {"name": "a::f"}, "namespace": "b"})", R"({"function": {"name": "::f"}, "namespace": "b"})",
        R"({"function": {"name": "f"}, "namespace": "a::b"})",
        R"({"function": {"name": "f"}, "namespace": {"name": "a::b"}})", R"({"function": {"name": "a::b::c"}})",
        R"({"function": {"name": "f"}, "namespace": 5})",
        R"({"function": {"name": "f"}, "namespace": {"description": "d"}})",
        R"({"function": {"name": "f"}, "namespace": {"name": "a", "description": 5}})", R"({"function": {"name": 5}})",
        R"({"function": {}})", R"({"function": "f"})", "{}", "5", "null"}) {
    EXPECT_TRUE(is_error(entry)) << entry;
  }
  EXPECT_EQ(printed(R"({"function": {"name": "a::f"}, "namespace": "b"})"),
            "error: the tool name \"a::f\" contradicts its namespace \"b\"");
}

}  // namespace
}  // namespace cachalot::tool_name_test
