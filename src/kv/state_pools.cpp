// SPDX-License-Identifier: Apache-2.0
#include "kv/state_pools.h"

namespace cachalot {
namespace {

// Rows of every block of a pool, those of block 0 from `at` on.
PackedRowsOut rows_of(const BlockPool& pool, std::int64_t at, std::int64_t block_rows, RowFormat format,
                      std::int64_t width, RowLayout layout) {
  auto* first = pool.blocks() == 0 ? nullptr : reinterpret_cast<std::uint8_t*>(pool.base() + at);
  PackedRowsOut rows = packed_rows(format, width, block_rows, first, layout);
  rows.rows = pool.blocks() * block_rows;
  rows.page_rows = block_rows;
  rows.page_step = pool.step();
  return rows;
}

}  // namespace

StatePools::StatePools(const StateShape& shape, MemorySpace& memory) {
  Pools pools{shape, nullptr, {}, {}, 0};
  for (std::int64_t s = 0; s < std::ssize(shape.sources); ++s) {
    pools.inputs_at.push_back(pools.rings_at);
    pools.rings_at += shape.input_bytes(s);
    pools.pages.push_back(
        std::make_shared<BlockPool>(memory, shape.compressed_page_bytes(s) + shape.key_page_bytes(s)));
  }
  pools.rings = std::make_shared<BlockPool>(memory, pools.rings_at + shape.rings * shape.ring_bytes());
  pools_ = std::make_shared<const Pools>(std::move(pools));
}

PackedRowsOut StatePools::rings(std::int64_t layer) const {
  return rows_of(*pools_->rings, ring_at(layer), shape().ring_slots(), window_format, shape().head_dim, window_layout);
}
PackedRowsOut StatePools::inputs(std::int64_t source) const {
  return rows_of(*pools_->rings, inputs_at(source), shape().input_slots(source), RowFormat::f32, 2 * shape().head_dim,
                 RowLayout::records);
}
PackedRowsOut StatePools::compressed(std::int64_t source) const {
  return rows_of(*pools_->pages[static_cast<std::size_t>(source)], 0, shape().page_groups(source), compressed_format,
                 shape().head_dim, compressed_layout);
}
PackedRowsOut StatePools::index_keys(std::int64_t source) const {
  return rows_of(*pools_->pages[static_cast<std::size_t>(source)], shape().compressed_page_bytes(source),
                 shape().page_groups(source), index_key_format, shape().index_head_dim, index_key_layout);
}

}  // namespace cachalot
