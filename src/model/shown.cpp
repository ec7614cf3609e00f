// SPDX-License-Identifier: Apache-2.0
// What an observer sees of a pass: copies on the host, which go back, since it may overwrite them.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "model/pass.h"
#include "ops/attention/window_slots/window_slots.h"
#include "tensor/transfer.h"

namespace cachalot {
std::string Pass::full_name(std::int64_t layer, std::string_view name) const {
  return layer < 0 ? std::string(name) : fmt::format("layers.{}.{}", layer, name);
}

void Pass::show_values(std::int64_t layer, std::string_view name, std::int64_t first_row, Values<2> v) {
  const View<std::byte, 2> bytes = bytes_of_rows(v);
  std::vector<std::byte> host = downloaded(context_.memory, bytes);
  observer_->values(full_name(layer, name), first_row, Values<2>(host.data(), v.type(), v.shape()));
  upload(context_.memory, bytes, host);
}

void Pass::show_numbers(std::int64_t layer, std::string_view name, std::int64_t first_row, View<std::int32_t, 2> v) {
  if (observer_ == nullptr) return;
  std::vector<std::int32_t> host = downloaded(context_.memory, v);
  std::vector<std::int64_t> wide(host.begin(), host.end());
  observer_->numbers(full_name(layer, name), first_row, View<std::int64_t, 2>(wide.data(), v.shape()));
  std::ranges::transform(wide, host.begin(), [](std::int64_t n) { return static_cast<std::int32_t>(n); });
  upload(context_.memory, v, host);
}

View<const std::int64_t, 2> Pass::show_ids(std::int64_t layer, const Table<std::int64_t, 2>& id) {
  if (observer_ == nullptr) return tables_[id];
  std::vector<std::int64_t> host = downloaded(context_.memory, tables_[id]);
  observer_->numbers(full_name(layer, "engram.hash_ids"), 0, View<std::int64_t, 2>(host.data(), id.shape));
  const auto own = context_.scratch.take<std::int64_t, 2>(id.shape);
  upload(context_.memory, own, host);
  return own;
}

void Pass::show_encoded(std::int64_t layer, std::string_view name, const PackedRows& pool,
                        const Table<std::int32_t, 1>& rows) {
  if (observer_ == nullptr) return;
  const auto row = downloaded(context_.memory, tables_[rows]);
  const auto codes = static_cast<std::size_t>(code_bytes(pool.format, pool.width));
  std::vector<std::uint8_t> packed(codes + static_cast<std::size_t>(scale_bytes(pool.format, pool.width)));
  std::vector<float> decoded(row.size() * static_cast<std::size_t>(pool.width));
  const auto fetch = [&](std::span<std::uint8_t> to, const std::uint8_t* from) {
    context_.memory.download(std::as_writable_bytes(to), reinterpret_cast<const std::byte*>(from));
  };
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto at = pool[row[i]];
    fetch(std::span(packed).first(codes), at.codes);
    fetch(std::span(packed).subspan(codes), at.scales);
    const auto width = static_cast<std::size_t>(pool.width);
    decode_row(pool.format, packed.data(), packed.data() + codes, std::span(decoded).subspan(i * width, width));
  }
  const View<float, 2> shown(decoded.data(), {std::ssize(row), pool.width});
  observer_->values(full_name(layer, name), 0, shown);
}

// The observer speaks of positions and groups; entries are how this pass happens to hold them.
Pass::Lists Pass::show_lists(std::int64_t layer, const Table<std::int32_t, 2>& window,
                             View<const std::int32_t, 2> group) {
  Lists lists{tables_[window], group};
  if (observer_ == nullptr) return lists;
  std::vector<std::int32_t> entries = downloaded(context_.memory, lists.window),
                            groups = downloaded(context_.memory, group);
  const View<std::int32_t, 2> entry(entries.data(), window.shape), of_group(groups.data(), group.shape());
  const std::int64_t listed = window.extent(1) + group.extent(1), own = tables_.all.rows;
  std::vector<std::int64_t> shown(static_cast<std::size_t>(rows() * listed), -1);
  const View<std::int64_t, 2> list(shown.data(), {rows(), listed});
  const auto each_row = [&](auto see) {
    for (const SequenceRows& s : now_->sequences) {
      for (std::int64_t r = s.first; r < s.first + s.count; ++r) see(s, r);
    }
  };
  each_row([&](const SequenceRows& s, std::int64_t r) {
    const WindowPlace place{model_.state_shape().ring_slots(), s.committed};
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < window.extent(1) && entry[r][i] >= 0; ++i, ++n) {
      const std::int64_t e = entry[r][i];
      list[r][n] = e < own ? s.committed + e - s.first : place.position_of((e - own) % place.ring_slots);
    }
    for (std::int64_t i = 0; i < group.extent(1) && of_group[r][i] >= 0; ++i)
      list[r][n++] = listed_group(of_group[r][i]);
  });
  observer_->numbers(full_name(layer, "attn.topk_idxs"), 0, list);
  // A list is run as given: what it has of -1 before its last entry counts, so that a gap between the window and the
  // groups goes in front of these.
  std::vector<std::vector<std::int32_t>> as_window(static_cast<std::size_t>(rows())), as_group(as_window);
  std::int64_t longest_window = window.extent(1), longest_group = group.extent(1);
  each_row([&](const SequenceRows& s, std::int64_t r) {
    auto &positions = as_window[static_cast<std::size_t>(r)], &numbers = as_group[static_cast<std::size_t>(r)];
    std::size_t gap = 0;
    for (std::int64_t i = 0; i < listed; ++i) {
      const std::int64_t e = list[r][i];
      if (e == -1) {
        ++gap;
        continue;
      }
      check(is_listed_group(e) || numbers.empty(), "an observer lists positions before groups");
      auto& to = is_listed_group(e) ? numbers : positions;
      to.resize(to.size() + std::exchange(gap, 0), -1);
      to.push_back(is_listed_group(e) ? static_cast<std::int32_t>(group_of(e)) : StepTables::window_entry(s, e, own));
    }
    longest_window = std::max<std::int64_t>(longest_window, std::ssize(positions));
    longest_group = std::max<std::int64_t>(longest_group, std::ssize(numbers));
  });
  const auto uploaded = [&](const std::vector<std::vector<std::int32_t>>& of, std::int64_t longest) {
    std::vector<std::int32_t> flat;
    for (std::vector<std::int32_t> row : of) {
      row.resize(static_cast<std::size_t>(longest), -1);
      flat.insert(flat.end(), row.begin(), row.end());
    }
    const auto to = context_.scratch.take<std::int32_t, 2>({rows(), longest});
    upload(context_.memory, to, flat);
    return to;
  };
  return {uploaded(as_window, longest_window), uploaded(as_group, longest_group)};
}

}  // namespace cachalot
