// SPDX-License-Identifier: Apache-2.0
// For tests: conversations with the bundled model, or with one that says what the test wants.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/conversation.h"

namespace cachalot {

inline const LoadedModel& demo_model() {
  static const LoadedModel loaded = [] {
    auto l = load_model(CACHALOT_TEST_DATA "/../../models/demo", {.backend = &cpu_backend()});
    if (!l) {
      ADD_FAILURE() << l.error().message;
      std::abort();
    }
    return std::move(*l);
  }();
  return loaded;
}

// Says `lines`, one an answer, and runs them through the model, so that the sequence is what it would be had the model
// said them. Where `lines` has no more, the model speaks.
struct ScriptedModel {
  std::shared_ptr<Context> context = std::make_shared<Context>();
  std::vector<std::string> lines{};
  EndReason end = EndReason::stop;  // of the lines

  Expected<Generation> operator()(Sequence& sequence, std::span<const TokenId> prompt, const GenerateOptions& options,
                                  const GenerateEvents& events) {
    if (lines.empty()) return generate(demo_model(), *context, sequence, prompt, options, events);
    auto ids = demo_model().tokenizer.encode(lines.front());
    lines.erase(lines.begin());
    if (!ids) return tl::unexpected(ids.error());
    if (end == EndReason::stop) ids->push_back(options.stop_tokens.at(0));
    GenerateOptions only_run = options;
    only_run.max_tokens = 0;
    auto result = generate(demo_model(), *context, sequence, prompt, only_run, {.prompt = events.prompt});
    if (!result) return result;
    Completion& completion = result->choices[0];
    TextStream stream(demo_model().tokenizer, options.special);
    for (const TokenId id : *ids) {
      if (!completion.tokens.empty()) {  // the one before; the last is drawn and not run
        const std::vector<TokenId> newest = {completion.tokens.back().id};
        const auto ran = generate(demo_model(), *context, sequence, newest, {.max_tokens = 0});
        if (!ran) return ran;
      }
      completion.tokens.push_back({.id = id, .position = Position{sequence.length()}, .top = {}});
      if (events.token) events.token(completion.tokens.back());
      const auto piece = id == options.stop_tokens.at(0) ? std::string() : *stream.push(id);
      if (!piece.empty() && events.text) events.text(0, piece);
    }
    std::vector<TokenId> run(prompt.begin(), prompt.end());
    run.insert(run.end(), ids->begin(), ids->end());
    run.resize(static_cast<std::size_t>(sequence.length()));
    options.prefixes.cache->insert(run, sequence, SnapshotKind::end);  // as generate() would have
    completion.end = end;
    return result;
  }
};

inline GenerateOptions short_answers(std::int64_t max_tokens = 12) {
  return {.max_tokens = max_tokens, .sampling = {.temperature = 0.8, .seed = 3}, .stop_tokens = {TokenId{1}}};
}

inline Json user(std::string_view text) { return Json::object({{"role", "user"}, {"content", text}}); }

inline Conversation begin(Generator generator, const ConversationOptions& options = {}) {
  auto conversation = Conversation::start(demo_model(), std::move(generator), options);
  if (!conversation) {
    ADD_FAILURE() << conversation.error().message;
    std::abort();
  }
  return std::move(*conversation);
}

}  // namespace cachalot
