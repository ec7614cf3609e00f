// SPDX-License-Identifier: Apache-2.0
// The bundled model on made-up facts: each was said 768 tokens (24 windows) before it is asked for, in real text that
// the model was not trained on. Only the indexer's selection leads back to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.h"
#include "engine/load_model.h"

namespace cachalot::demo_recall_test {
namespace {

struct Document {
  std::vector<TokenId> ids;
  std::size_t answer = 0;  // where it begins; it goes to the end
};

std::vector<Document> documents() {
  const auto file = SafetensorsFile::open(CACHALOT_TEST_DATA "/demo/recall.safetensors");
  EXPECT_TRUE(file);
  const auto numbers = [&](std::string_view name) {
    const TensorInfo* info = file->find(name);
    return reinterpret_cast<const std::int32_t*>(info->data);
  };
  const std::int64_t count = file->find("answer_begin")->shape.at(0);
  const std::int64_t width = file->find("ids")->shape.at(1);
  std::vector<Document> all;
  for (std::int64_t i = 0; i < count; ++i) {
    Document d{.ids = {}, .answer = static_cast<std::size_t>(numbers("answer_begin")[i])};
    for (std::int64_t t = 0; t < numbers("answer_end")[i]; ++t) d.ids.push_back(TokenId{numbers("ids")[i * width + t]});
    all.push_back(std::move(d));
  }
  return all;
}

// Prefers the groups that the indexer likes least.
struct ReversedScores : Observer {
  void values(std::string_view name, std::int64_t, Values<2> rows) override {
    if (!name.ends_with("indexer.score")) return;
    for (std::int64_t r = 0; r < rows.extent(0); ++r) {
      auto* score = static_cast<float*>(rows[r].data());
      for (std::int64_t i = 0; i < rows.extent(1); ++i) score[i] = -score[i];
    }
  }
};

// In how many documents every token of the answer is the most likely one.
int recalled(Observer* observer) {
  const auto loaded = load_model(CACHALOT_TEST_DATA "/../../models/demo", {.backend = &cpu_backend()});
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return -1;
  }
  int good = 0;
  for (const Document& d : documents()) {
    Context context;
    Sequence sequence = loaded->model.new_sequence();
    Sequence* const sequences[] = {&sequence};
    std::vector<float> logits;
    std::vector<Row> rows;
    bool right = true;
    for (std::size_t t = 0; t + 1 < d.ids.size(); ++t) {
      rows.push_back({.token = d.ids[t], .wants_logits = t + 1 >= d.answer});
      if (rows.size() < 256 && t + 2 < d.ids.size()) continue;
      EXPECT_TRUE(loaded->model.forward(context, {.sequences = sequences, .rows = rows, .observer = observer}, logits));
      const auto vocab = static_cast<std::ptrdiff_t>(loaded->model.config().vocab_size);
      std::size_t asked = t + 1 - (rows.size() - 1);  // the token that the first row's logits speak of
      auto row = logits.begin();
      for (const Row& r : rows) {
        if (r.wants_logits) {
          right &= std::max_element(row, row + vocab) - row == static_cast<std::ptrdiff_t>(d.ids[asked]);
          row += vocab;
        }
        ++asked;
      }
      rows.clear();
    }
    good += right;
  }
  return good;
}

TEST(SlowDemoRecall, FactsFarBeyondTheWindowAreAnswered) { EXPECT_GE(recalled(nullptr), 11); }

TEST(SlowDemoRecall, AWrongSelectionForgetsThem) {
  ReversedScores wrong;
  EXPECT_LE(recalled(&wrong), 1);
}

}  // namespace
}  // namespace cachalot::demo_recall_test
