// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/observer.h"

namespace cachalot {

// Where a row of a tensor belongs: `at` is a position, or a group where the tensor has a row per group.
struct RowPlace {
  std::int64_t sequence = 0;
  std::int64_t at = 0;
  bool operator==(const RowPlace&) const = default;
};

// An observer that ModelRun tells, before each forward, which positions every sequence gets in it.
class RunObserver : public Observer {
 public:
  virtual void begin(std::int64_t first_position, std::int64_t count) { start_ = first_position, count_ = count; }

 protected:
  RowPlace place_of_row(std::int64_t row) const { return {row / count_, start_ + row % count_}; }
  // A row of a tensor that shows the groups completed in the forward.
  RowPlace place_of_group(std::int64_t row, std::int64_t ratio) const {
    const std::int64_t first = start_ / ratio;
    const std::int64_t each = (start_ + count_) / ratio - first;
    return {row / each, first + row % each};
  }

 private:
  std::int64_t start_ = 0;
  std::int64_t count_ = 1;
};

}  // namespace cachalot
