// SPDX-License-Identifier: Apache-2.0
// The random content of one tensor of a synthetic checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/expected.h"
#include "checkpoint/expected_tensors.h"

namespace cachalot {

// Gives the bytes of `tensor` in its released type to `sink`, in pieces. They depend on seed, name, role and shape
// alone, and are computed from whole numbers and single roundings, so every machine makes the same.
Status write_random_tensor(const ExpectedTensor& tensor, std::uint64_t seed,
                           const std::function<Status(std::span<const std::byte>)>& sink);

}  // namespace cachalot
