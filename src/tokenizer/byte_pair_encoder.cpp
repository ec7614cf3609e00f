// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_pair_encoder.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace cachalot {
namespace {

constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();

std::uint64_t pair_key(TokenId left, TokenId right) {
  return std::uint64_t{static_cast<std::uint32_t>(raw(left))} << 32 | static_cast<std::uint32_t>(raw(right));
}

}  // namespace

Expected<BytePairEncoder> BytePairEncoder::make(const std::array<TokenId, 256>& byte_ids, std::span<const Merge> merges,
                                                std::string_view name) {
  BytePairEncoder encoder;
  encoder.byte_ids_ = byte_ids;
  encoder.pairs_.reserve(merges.size());
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    const auto [place, is_new] =
        encoder.pairs_.try_emplace(pair_key(merge.left, merge.right), Ranked{rank, merge.merged});
    if (!is_new) return fail(Errc::format, "{}: merge {} repeats merge {}", name, rank, place->second.rank);
  }
  return encoder;
}

void BytePairEncoder::learn_whole_tokens(std::span<const std::string_view> token_bytes) {
  Scratch scratch;
  std::vector<TokenId> ids;
  whole_.reserve(token_bytes.size());
  for (const std::string_view bytes : token_bytes) {
    ids.clear();
    merge(bytes, scratch, ids);
    if (ids.size() == 1) whole_.emplace(bytes, ids[0]);
  }
}

void BytePairEncoder::encode(std::string_view pretoken, Scratch& scratch, std::vector<TokenId>& out) const {
  if (const auto whole = whole_.find(pretoken); whole != whole_.end()) {
    out.push_back(whole->second);
  } else {
    merge(pretoken, scratch, out);
  }
}

void BytePairEncoder::merge(std::string_view bytes, Scratch& scratch, std::vector<TokenId>& out) const {
  auto& [symbols, heap] = scratch;
  symbols.clear();
  heap.clear();
  const auto count = static_cast<std::int32_t>(bytes.size());
  for (std::int32_t i = 0; i < count; ++i) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)])];
    symbols.push_back({id, i - 1, i + 1 < count ? i + 1 : -1, no_rank, {}});
  }
  for (std::int32_t i = 0; i < count; ++i) rank_pair(i, scratch);

  while (!heap.empty()) {
    std::ranges::pop_heap(heap, std::greater{});
    const auto at = static_cast<std::int32_t>(heap.back() & 0xFFFFFFFF);
    const auto rank = static_cast<std::uint32_t>(heap.back() >> 32);
    heap.pop_back();
    Scratch::Symbol& left = symbols[static_cast<std::size_t>(at)];
    if (left.rank != rank) continue;  // the pair has changed since it was put here
    Scratch::Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    left.id = left.merged;
    left.next = right.next;
    right.rank = no_rank;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = at;
    rank_pair(at, scratch);
    if (left.previous >= 0) rank_pair(left.previous, scratch);
  }

  for (std::int32_t i = count > 0 ? 0 : -1; i >= 0; i = symbols[static_cast<std::size_t>(i)].next) {
    out.push_back(symbols[static_cast<std::size_t>(i)].id);
  }
}

// Looks up the pair that starts at `at` and lets it wait its turn in the heap.
void BytePairEncoder::rank_pair(std::int32_t at, Scratch& scratch) const {
  Scratch::Symbol& left = scratch.symbols[static_cast<std::size_t>(at)];
  left.rank = no_rank;
  if (left.next < 0) return;
  const auto pair = pairs_.find(pair_key(left.id, scratch.symbols[static_cast<std::size_t>(left.next)].id));
  if (pair == pairs_.end()) return;
  left.rank = pair->second.rank;
  left.merged = pair->second.merged;
  scratch.heap.push_back(std::uint64_t{left.rank} << 32 | static_cast<std::uint32_t>(at));
  std::ranges::push_heap(scratch.heap, std::greater{});
}

}  // namespace cachalot
