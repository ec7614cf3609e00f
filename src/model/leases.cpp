// SPDX-License-Identifier: Apache-2.0
// What a pass borrows from the weights' places: experts once they are chosen, rows of Engram tables.
#include <algorithm>

#include "model/pass.h"
#include "tensor/transfer.h"

namespace cachalot {
namespace {

std::span<const std::int64_t> numbers(View<const std::int64_t, 2> id) {
  return {id.data(), static_cast<std::size_t>(id.size())};
}

}  // namespace

Expected<ExpertLease> Pass::lease_experts(std::int64_t layer, const MoeWeights& weights,
                                          View<const std::int32_t, 2> expert) {
  WeightPlaces& places = *model_.weights().places;
  if (!places.leases_by_number()) return places.lease_experts(layer, weights.experts, {});
  chosen_.resize(static_cast<std::size_t>(expert.size()));
  download(context_.memory, chosen_, expert);
  std::ranges::sort(chosen_);
  chosen_.erase(std::unique(chosen_.begin(), chosen_.end()), chosen_.end());
  return places.lease_experts(layer, weights.experts, chosen_);
}

void Pass::expect_engram_rows() {
  for (std::size_t i = 0; i < c_.engram_layer_ids.size(); ++i) {
    const std::int64_t layer = c_.engram_layer_ids[i];
    const RowTables& of = tables_.drops && layer > model_.tail_layer() ? tables_.tail : tables_.all;
    if (of.rows == 0) continue;
    const EngramWeights& weights = *model_.weights().layers[static_cast<std::size_t>(layer)].engram;
    model_.weights().places->expect_rows(layer, weights.table, numbers(tables_.host(of.engram_id[i])));
  }
}

Expected<RowLease> Pass::lease_rows(std::int64_t layer, const EngramWeights& weights,
                                    const Table<std::int64_t, 2>& table, View<const std::int64_t, 2> id) {
  WeightPlaces& places = *model_.weights().places;
  if (!places.leases_by_number()) return places.lease_rows(layer, weights.table, {});
  if (observer_ == nullptr) return places.lease_rows(layer, weights.table, numbers(tables_.host(table)));
  chosen_rows_.resize(static_cast<std::size_t>(id.size()));
  download(context_.memory, chosen_rows_, id);
  return places.lease_rows(layer, weights.table, chosen_rows_);
}

}  // namespace cachalot
