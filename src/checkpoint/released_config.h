// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cachalot {

// released_config.json, which is compiled in: a config of the released shape, written from the numbers of
// spec/model.md in the nested spelling; not the published file. Three numbers are not in the spec and were chosen so
// that the inventory comes out as published, 96,085 tensors and 475.2 GiB: moe_intermediate_size 2304 (the only
// multiple of 32 that fits), the vision tower's intermediate_size 2816 and dspark_markov_rank 256 (others would round
// to the same).
std::string_view released_config_text();

}  // namespace cachalot
