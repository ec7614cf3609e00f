// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "ops/attention/sparse_attention/sparse_attention.h"
#include "ops/scalar_math.h"

namespace cachalot {
namespace {

// K = V of one entry of the list; zeros where nothing is.
std::vector<float> read(const SparseAttentionArgs& a, std::int64_t entry) {
  std::vector<float> kv(static_cast<std::size_t>(a.q.extent(2)));
  if (entry >= 0) a.source(entry).rows.decode(a.source(entry).row, kv);
  return kv;
}

float exp_f32(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }

void attend(const SparseAttentionArgs& a, std::int64_t row, std::int64_t head, const std::vector<std::int64_t>& list,
            const std::vector<std::vector<float>>& kv) {
  const std::size_t block = a.round_probabilities ? 64 : list.size();
  const std::vector<float> q = a.q[row][head].floats();
  float top = -1e30f;
  float weights = 0;
  std::vector<float> score(list.size());
  std::vector<float> sum(static_cast<std::size_t>(a.q.extent(2)));
  for (std::size_t first = 0; first < list.size(); first += block) {
    const std::size_t end = std::min(first + block, list.size());
    const float old_top = top;
    for (std::size_t j = first; j < end; ++j) {
      score[j] = list[j] < 0 ? -std::numeric_limits<float>::infinity() : dot(q, kv[j]) * a.scale;
      top = std::max(top, score[j]);
    }
    const float shrink = exp_f32(old_top - top);
    double block_weights = 0;
    std::vector<double> block_sum(sum.size());
    for (std::size_t j = first; j < end; ++j) {
      const float p = exp_f32(score[j] - top);
      const float used = a.round_probabilities ? round_bf16(p) : p;
      block_weights += p;
      for (std::size_t i = 0; i < sum.size(); ++i) block_sum[i] += static_cast<double>(used) * kv[j][i];
    }
    weights = weights * shrink + static_cast<float>(block_weights);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] * shrink + static_cast<float>(block_sum[i]);
  }
  weights += exp_f32(a.sink[head] - top);         // a row that lists nothing: infinite, and 0 / infinity is 0
  for (std::size_t i = 0; i < sum.size(); ++i) {  // 0 / 0 where the sink is -inf as well
    a.out[row][head].store(static_cast<std::int64_t>(i), weights == 0 ? 0 : sum[i] / weights);
  }
}

}  // namespace

void sparse_attention_ref(Context&, const SparseAttentionArgs& a) {
  check(a.out.shape() == a.q.shape() && a.sink.extent(0) == a.q.extent(1), "sparse_attention: shapes fit");
  for (std::int64_t row = 0; row < a.q.extent(0); ++row) {
    std::vector<std::int64_t> list(static_cast<std::size_t>(a.listed()));
    a.join(row, View<std::int64_t, 1>(list.data(), {a.listed()}));
    std::vector<std::vector<float>> kv;
    for (const std::int64_t entry : list) kv.push_back(read(a, entry));
    for (std::int64_t head = 0; head < a.q.extent(1); ++head) attend(a, row, head, list, kv);
  }
}

}  // namespace cachalot
