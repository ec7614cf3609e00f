// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/top_k.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/top_k.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

std::int64_t first_above_simd(const float* x, std::int64_t n, float t) {
  const F32 f;
  const Floats limit = hn::Set(f, t);
  const auto above = [&](std::int64_t i) HWY_ATTR { return hn::Gt(hn::LoadU(f, x + i), limit); };
  std::int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    const auto first = hn::Or(above(i), above(i + width));
    const auto second = hn::Or(above(i + 2 * width), above(i + 3 * width));
    if (!hn::AllFalse(f, hn::Or(first, second))) break;
  }
  for (; i + width <= n; i += width) {
    if (const auto found = hn::FindFirstTrue(f, above(i)); found >= 0) return i + found;
  }
  while (i < n && !(x[i] > t)) ++i;
  return i;
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {
namespace {

// Whole numbers in the order of floats: the sign turns every bit of a negative number.
constexpr std::uint32_t sign = 0x80000000u;
std::uint32_t key(float v) {
  if (std::isnan(v)) v = -std::numeric_limits<float>::infinity();
  const auto bits = std::bit_cast<std::uint32_t>(v + 0.0f);  // -0 becomes +0
  return (bits & sign) != 0 ? ~bits : bits | sign;
}
float value(std::uint32_t k) { return std::bit_cast<float>((k & sign) != 0 ? k & ~sign : ~k); }

}  // namespace

HWY_EXPORT(first_above_simd);

std::int64_t first_above(const float* x, std::int64_t n, float t) {
  return HWY_DYNAMIC_DISPATCH(first_above_simd)(x, n, t);
}

void TopK::add(float v, std::int32_t index) {
  add(Entry{static_cast<std::uint64_t>(key(v)) << 32 | ~static_cast<std::uint32_t>(index)});
}

void TopK::add(Entry e) {
  kept_[size_++] = e;
  if (size_ == capacity(k_)) cut();
}

void TopK::add_all(const float* x, std::int64_t n, std::int64_t first_index) {
  for (std::int64_t i = skip(x, n); i < n; i += skip(x + i, n - i)) {
    add(x[i], static_cast<std::int32_t>(first_index + i));
    ++i;
  }
}

std::span<const TopK::Entry> TopK::best() {
  if (size_ > k_) cut();
  return {kept_, static_cast<std::size_t>(size_)};
}

// The k-th best is found in a copy, so that those kept stay in the order of their indices.
void TopK::cut() {
  std::copy_n(kept_, size_, sorted_);
  std::nth_element(sorted_, sorted_ + (k_ - 1), sorted_ + size_, std::greater<>());
  const Entry last = sorted_[k_ - 1];
  size_ = std::remove_if(kept_, kept_ + size_, [last](Entry e) { return e < last; }) - kept_;
  full_ = true;
  threshold_ = value(static_cast<std::uint32_t>(raw(last) >> 32));
}

}  // namespace cachalot
#endif
