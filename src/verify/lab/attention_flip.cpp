// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/attention_flip.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/attention/window_slots/window_slots.h"
#include "tensor/transfer.h"
#include "verify/statistics.h"

namespace cachalot {
namespace {

// How near to a tie, in steps of bf16, f32 sums in another order can reach: their relative error is about 1e-6, a step
// is at least 4e-3 of the value.
constexpr double near_tie = 0.02;

// The neighbour that v would round to on the other side of a tie; nothing where v is not next to one.
std::optional<double> other_rounding(double v) {
  const bf16 near = to_bf16(v);
  const double rounded = to_float(near);
  if (v == rounded || rounded == 0) return std::nullopt;
  const bool outwards = std::abs(v) > std::abs(rounded);
  const double other = to_float(bf16{static_cast<std::uint16_t>(outwards ? near.bits + 1 : near.bits - 1)});
  const double step = std::abs(other - rounded);
  return std::abs(v - (rounded + other) / 2) < near_tie * step ? std::optional(other) : std::nullopt;
}

// One head's attention as the contract of sparse_attention.h has it, with every rounding in the open.
struct Head {
  std::vector<double> q;
  std::vector<std::vector<float>> kv;  // [listed], empty where nothing is
  double sink = 0;
  double scale = 0;

  // Puts `with` in place of the rounded probability number `instead`; tells the unrounded ones.
  std::vector<float> attend(std::size_t instead, double with, std::vector<double>* probabilities) const {
    constexpr std::size_t block = 64;
    double top = -1e30, weights = 0;
    std::vector<double> sum(q.size());
    for (std::size_t first = 0; first < kv.size(); first += block) {
      const std::size_t end = std::min(first + block, kv.size());
      std::vector<double> score(kv.size());
      double new_top = top;
      for (std::size_t j = first; j < end; ++j) {
        for (std::size_t i = 0; i < kv[j].size(); ++i) score[j] += q[i] * kv[j][i];
        score[j] *= scale;
        if (!kv[j].empty()) new_top = std::max(new_top, score[j]);
      }
      const double shrink = std::exp(top - new_top);
      weights *= shrink;
      for (double& v : sum) v *= shrink;
      for (std::size_t j = first; j < end; ++j) {
        const double p = kv[j].empty() ? 0 : std::exp(score[j] - new_top);
        if (probabilities != nullptr) probabilities->push_back(p);
        weights += p;
        const double rounded = j == instead ? with : to_float(to_bf16(p));
        for (std::size_t i = 0; i < kv[j].size(); ++i) sum[i] += rounded * kv[j][i];
      }
      top = new_top;
    }
    weights += std::exp(sink - top);
    std::vector<float> out;
    for (const double v : sum) out.push_back(to_float(to_bf16(v / weights)));
    return out;
  }
  std::vector<float> attend() const { return attend(kv.size(), 0, nullptr); }
};

// A single rounding may push another one over; more than that is something else.
bool explains(std::span<const float> out, std::span<const float> want) {
  const ErrorStats s = error_stats(out, want);
  return s.unequal <= 1 && s.max_ulps <= 1;
}

bool read_listed(const AttentionRow& row, Head& head) {
  const Config& config = row.model.config();
  const HostRows ring = row.sequence.ring(row.layer);
  const WindowPlace place{.ring_slots = ring.rows.rows, .committed = row.sequence.length()};
  const std::int64_t source = row.model.kv_source_of(row.layer);
  std::int64_t listed_groups = 0;
  for (const std::int64_t entry : row.list) {
    if (is_listed_group(entry)) listed_groups = std::max(listed_groups, group_of(entry) + 1);
  }
  if (listed_groups > 0 && source < 0) return false;
  const HostRows groups = listed_groups > 0 ? row.sequence.compressed(source, listed_groups) : HostRows{};
  for (const std::int64_t entry : row.list) {
    auto& kv = head.kv.emplace_back();
    if (entry == -1) continue;
    kv.resize(static_cast<std::size_t>(config.head_dim));
    if (is_listed_group(entry)) {
      groups.rows.decode(group_of(entry), kv);
    } else if (place.position_of(place.slot_of(entry)) == entry) {
      ring.rows.decode(place.slot_of(entry), kv);
    } else {
      return false;
    }
  }
  return true;
}

// The query of one head, before it is rounded and before it is rotated.
std::vector<float> unrounded_query(const AttentionRow& row, std::int64_t head) {
  const Weight& wq_b = row.model.weights().layers[static_cast<std::size_t>(row.layer)].attn.wq_b;
  std::vector<bf16> qr;
  for (const float v : row.qr) qr.push_back(to_bf16(v));
  MemorySpace& memory = row.model.memory();
  Context context(1, memory);
  const auto x = context.scratch.take<bf16, 2>({1, wq_b.in});
  const auto out = context.scratch.take<float, 2>({1, wq_b.out});
  upload(memory, x, qr);
  row.model.backend().linear(context, {View<const bf16, 2>(x), wq_b, out});
  const std::vector<float> q = downloaded(memory, out);
  const auto dim = row.model.config().head_dim;
  return {q.begin() + head * dim, q.begin() + (head + 1) * dim};
}

// Rotates the rounded query; `exact` gets the values before the second rounding.
std::vector<double> rotate(const AttentionRow& row, std::span<const double> rounded, std::vector<double>& exact) {
  const std::vector<float> frequency = downloaded(row.model.memory(), row.model.frequencies_of(row.layer));
  exact.assign(rounded.begin(), rounded.end());
  const std::size_t first = rounded.size() - 2 * frequency.size();
  for (std::size_t i = 0; i < frequency.size(); ++i) {
    const Rotation by = rotation(row.position, frequency[i]);
    const std::size_t at = first + 2 * i;
    exact[at] = rounded[at] * by.cos - rounded[at + 1] * by.sin;
    exact[at + 1] = rounded[at] * by.sin + rounded[at + 1] * by.cos;
  }
  std::vector<double> q;
  for (const double v : exact) q.push_back(to_float(to_bf16(v)));
  return q;
}

}  // namespace

std::optional<std::string> find_attention_flip(const AttentionRow& row, std::int64_t head_number,
                                               std::span<const float> got, std::span<const float> want) {
  Head head;
  head.sink = row.model.weights().layers[static_cast<std::size_t>(row.layer)].attn.sink[head_number];
  head.scale = 1.0f / std::sqrt(static_cast<float>(row.model.config().head_dim));
  if (!read_listed(row, head)) return std::nullopt;
  const std::vector<float> unrounded = unrounded_query(row, head_number);
  std::vector<double> rounded, exact;
  for (const float v : unrounded) rounded.push_back(to_float(to_bf16(v)));
  head.q = rotate(row, rounded, exact);
  const std::vector<double> q = head.q;
  if (!explains(head.attend(), got)) return std::nullopt;  // not the computation that this is about

  std::vector<double> probabilities;
  head.attend(head.kv.size(), 0, &probabilities);
  for (std::size_t j = 0; j < probabilities.size(); ++j) {
    const auto other = other_rounding(probabilities[j]);
    if (other && explains(head.attend(j, *other, nullptr), want)) {
      return fmt::format("the probability {:.9g} of list entry {} rounds to {:g} or {:g}", probabilities[j], j,
                         to_float(to_bf16(probabilities[j])), *other);
    }
  }
  for (std::size_t i = 0; i < q.size(); ++i) {
    if (const auto other = other_rounding(exact[i])) {
      head.q = q;
      head.q[i] = *other;
      if (explains(head.attend(), want)) {
        return fmt::format("the rotated query's value {} is {:.9g} and rounds to {:g} or {:g}", i, exact[i], q[i],
                           *other);
      }
    }
    if (const auto other = other_rounding(unrounded[i])) {
      std::vector<double> flipped = rounded, unused;
      flipped[i] = *other;
      head.q = rotate(row, flipped, unused);
      if (explains(head.attend(), want)) {
        return fmt::format("the query's value {} is {:.9g} and rounds to {:g} or {:g}", i, unrounded[i], rounded[i],
                           *other);
      }
    }
  }
  return std::nullopt;
}

}  // namespace cachalot
