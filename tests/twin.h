// SPDX-License-Identifier: Apache-2.0
// Two runs of the same rows, compared tensor by tensor.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kv/state_bytes.h"
#include "model/model.h"
#include "verify/statistics.h"

namespace cachalot {

// Keeps every tensor of a run. In a second run it compares them, and may put the first run's in their place, so that
// every operator of both runs got the same inputs.
class Twin : public Observer {
 public:
  Twin() = default;
  Twin(const Twin& first, bool feeds) : first_(&first), feeds_(feeds) {}

  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override {
    for (std::int64_t r = 0; r < rows.extent(0); ++r) {
      const std::string place = fmt::format("{} row {} of step {}", name, first_row + r, step_);
      const std::vector<float>& own = values_[place] = rows[r].floats();
      auto& all = of_tensor_[std::string(name)];
      all.insert(all.end(), own.begin(), own.end());
      if (first_ == nullptr) continue;
      const std::vector<float>& want = first_->values_.at(place);
      ASSERT_EQ(own.size(), want.size()) << place;
      const double error = error_stats(own, want).max_abs / rms_of(first_->of_tensor_.find(name)->second);
      if (name.ends_with("_new") && error > 0) flips_.push_back(place);  // of fp4 codes
      errors_.emplace_back(error, place);
      for (std::size_t i = 0; feeds_ && i < want.size(); ++i) rows[r].store(static_cast<std::int64_t>(i), want[i]);
    }
  }
  void numbers(std::string_view name, std::int64_t first_row, View<std::int64_t, 2> rows) override {
    for (std::int64_t r = 0; r < rows.extent(0); ++r) {
      const std::string place = fmt::format("{} row {} of step {}", name, first_row + r, step_);
      const auto own = rows[r].span();
      numbers_[place].assign(own.begin(), own.end());
      if (first_ == nullptr) continue;
      const auto& want = first_->numbers_.at(place);
      if (numbers_[place] != want) flips_.push_back(place);
      if (feeds_) std::ranges::copy(want, own.begin());
    }
  }

  // To be told after every step: window KV never passes by, and one of its codes may flip.
  void end_step(const Sequence& sequence) {
    for (std::int64_t layer = 0; layer < sequence.shape().rings; ++layer) {
      const HostRows ring = sequence.ring(layer);
      for (std::int64_t slot = 0; slot < ring.rows.rows; ++slot) {
        const std::string place = fmt::format("layers.{}.ring slot {} after step {}", layer, slot, step_);
        const std::uint8_t* codes = ring.rows[slot].codes;
        numbers_[place].assign(codes, codes + code_bytes(ring.rows.format, ring.rows.width));
        if (first_ != nullptr && numbers_[place] != first_->numbers_.at(place)) ring_flips_.push_back(place);
      }
    }
    ++step_;
  }

  // The largest of each row of each tensor, over the rms of the tensor; the worst first.
  std::vector<std::pair<double, std::string>> errors() const {
    auto sorted = errors_;
    std::ranges::sort(sorted, std::greater());
    return sorted;
  }
  // Of every row, as "layers.2.attn.out row 5 of step 0".
  const std::map<std::string, std::vector<float>>& seen_values() const { return values_; }
  const std::map<std::string, std::vector<std::int64_t>>& seen_numbers() const { return numbers_; }
  // Where something was selected, routed or encoded otherwise.
  const std::vector<std::string>& flips() const { return flips_; }
  const std::vector<std::string>& ring_flips() const { return ring_flips_; }

 private:
  const Twin* first_ = nullptr;
  bool feeds_ = false;
  std::int64_t step_ = 0;
  std::map<std::string, std::vector<float>> values_;
  std::map<std::string, std::vector<float>, std::less<>> of_tensor_;  // all rows of one
  std::map<std::string, std::vector<std::int64_t>> numbers_;
  std::vector<std::pair<double, std::string>> errors_;
  std::vector<std::string> flips_, ring_flips_;
};

// In steps of at most 16 rows, so that every row is in the rings after its step.
inline std::vector<float> run_with(const Model& model, std::span<const Row> rows, Twin& observer) {
  Context context(1, model.memory());
  Sequence sequence = model.new_sequence();
  Sequence* const one[] = {&sequence};
  std::vector<float> all, logits;
  for (std::size_t first = 0; first < rows.size(); first += 16) {
    const auto part = rows.subspan(first, std::min<std::size_t>(16, rows.size() - first));
    const Status ran = model.forward(context, {one, part, &observer}, logits);
    EXPECT_TRUE(ran) << ran.error().message;
    observer.end_step(sequence);
    const StateBytes state = state_bytes(sequence.shape(), sequence.length());
    EXPECT_EQ(sequence.page_bytes(), state.pages());
    EXPECT_EQ(sequence.fixed_bytes(), state.fixed());
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

}  // namespace cachalot
