// SPDX-License-Identifier: Apache-2.0
#include "kv/paged_store.h"

#include <algorithm>

#include "base/check.h"
#include "base/ids.h"

namespace cachalot {

std::span<std::uint8_t> PagedStore::add_page() {
  table_.reserve(pages_.size() + 1);  // so that the two grow together, or neither does
  pages_.push_back(std::make_shared<std::uint8_t[]>(static_cast<std::size_t>(page_bytes())));
  table_.push_back(pages_.back().get());
  return {pages_.back().get(), static_cast<std::size_t>(page_bytes())};
}

RowSlot PagedStore::slot(std::int64_t row) {
  const auto index = static_cast<std::size_t>(row / page_rows_);
  check(row >= 0 && index <= pages_.size(), "rows are written in order, page by page");
  if (index == pages_.size()) {
    add_page();
  } else if (pages_[index].use_count() > 1) {
    auto own = std::make_shared<std::uint8_t[]>(static_cast<std::size_t>(page_bytes()));
    std::copy_n(pages_[index].get(), page_bytes(), own.get());
    pages_[index] = std::move(own);
    table_[index] = pages_[index].get();
  }
  std::uint8_t* page = pages_[index].get();
  const std::int64_t in_page = row % page_rows_;
  return {page + in_page * code_step(format_, width_, layout_),
          page + scales_at(format_, width_, layout_, page_rows_) + in_page * scale_step(format_, width_, layout_)};
}

void PagedStore::shrink(std::int64_t rows) {
  const auto keep = static_cast<std::size_t>(ceil_div(rows, page_rows_));
  if (keep < pages_.size()) {
    pages_.resize(keep);
    table_.resize(keep);
  }
}

}  // namespace cachalot
