// SPDX-License-Identifier: Apache-2.0
// Rows that only ever grow, in pages: compressed KV and index keys. A page may be shared by several sequences; it is
// copied before the first write of one of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/packed_rows.h"

namespace cachalot {

class PagedStore {
 public:
  PagedStore(RowFormat format, RowLayout layout, std::int64_t width, std::int64_t page_rows)
      : format_(format), layout_(layout), width_(width), page_rows_(page_rows) {}

  PagedStore(PagedStore&&) = default;
  PagedStore& operator=(PagedStore&&) = default;

  // A store with the same rows; pages are shared until one side writes.
  PagedStore share() const { return PagedStore(*this); }

  // Where to write a row. Pages are made as needed; rows of a new page that nobody wrote are zero.
  RowSlot slot(std::int64_t row);

  // The first `rows` rows, each written before.
  PagedRows view(std::int64_t rows) const {
    return {format_, width_, rows, page_rows_, {table_.data(), table_.size()}, layout_};
  }

  // Gives back the pages that hold none of the first `rows` rows.
  void shrink(std::int64_t rows);

  std::int64_t page_bytes() const { return page_rows_ * row_bytes(format_, width_); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(pages_.size()) * page_bytes(); }

  std::int64_t page_rows() const { return page_rows_; }
  std::int64_t pages() const { return static_cast<std::int64_t>(pages_.size()); }
  std::span<const std::uint8_t> page(std::int64_t number) const {
    return {table_[static_cast<std::size_t>(number)], static_cast<std::size_t>(page_bytes())};
  }
  std::span<std::uint8_t> add_page();  // behind the others, all zero

 private:
  PagedStore(const PagedStore&) = default;

  using Page = std::shared_ptr<std::uint8_t[]>;

  RowFormat format_;
  RowLayout layout_;
  std::int64_t width_;
  std::int64_t page_rows_;
  std::vector<Page> pages_;
  std::vector<const std::uint8_t*> table_;  // pages_ as the operators read them
};

}  // namespace cachalot
