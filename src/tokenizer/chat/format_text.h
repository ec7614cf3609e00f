// SPDX-License-Identifier: Apache-2.0
// The literals of the chat format (spec: chat-format.md 1). The bar is U+FF5C, the low block U+2581. Each token is one
// id of the released tokenizer; tags are ordinary text around dsml_token, with a space before their name.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace cachalot {

inline constexpr std::string_view bos_token = "<｜begin▁of▁sentence｜>";  // once, first
inline constexpr std::string_view eos_token = "<｜end▁of▁sentence｜>";    // ends every assistant turn
inline constexpr std::string_view system_token = "<｜System｜>";
inline constexpr std::string_view user_token = "<｜User｜>";
inline constexpr std::string_view assistant_token = "<｜Assistant｜>";
inline constexpr std::string_view think_token = "<think>";
inline constexpr std::string_view end_think_token = "</think>";
inline constexpr std::string_view dsml_token = "｜DSML｜";
inline constexpr std::string_view reminder_token = "<｜latest_reminder｜>";
inline constexpr std::string_view image_token = "<｜deepseek_image｜>";  // one per image

// The short auxiliary tasks and their tokens.
struct TaskToken {
  std::string_view task, token;
};
inline constexpr std::string_view action_task = "action";  // the only one that comes after an assistant header
inline constexpr std::array<TaskToken, 6> task_tokens = {{{action_task, "<｜action｜>"},
                                                          {"query", "<｜query｜>"},
                                                          {"authority", "<｜authority｜>"},
                                                          {"domain", "<｜domain｜>"},
                                                          {"title", "<｜title｜>"},
                                                          {"read_url", "<｜read_url｜>"}}};

// All of them. A conversation in the model's own mode, thinking, takes the first `needed_tokens`; the others come with
// tools, reminders, images and tasks.
inline constexpr std::array<std::string_view, 16> format_tokens = {bos_token,
                                                                   eos_token,
                                                                   system_token,
                                                                   user_token,
                                                                   assistant_token,
                                                                   think_token,
                                                                   end_think_token,
                                                                   dsml_token,
                                                                   reminder_token,
                                                                   image_token,
                                                                   task_tokens[0].token,
                                                                   task_tokens[1].token,
                                                                   task_tokens[2].token,
                                                                   task_tokens[3].token,
                                                                   task_tokens[4].token,
                                                                   task_tokens[5].token};
inline constexpr std::size_t needed_tokens = 7;

// Tags of tool calls, as far as the parsers look for them.
inline constexpr std::string_view calls_opener = "<｜DSML｜ calls";
inline constexpr std::string_view calls_closer = "</｜DSML｜ calls>";
inline constexpr std::string_view invoke_opener = "<｜DSML｜ invoke";
inline constexpr std::string_view invoke_closer = "</｜DSML｜ invoke";
inline constexpr std::string_view parameter_opener = "<｜DSML｜ parameter";
inline constexpr std::string_view parameter_closer = "</｜DSML｜ parameter";

}  // namespace cachalot
