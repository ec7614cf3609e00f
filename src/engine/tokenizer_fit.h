// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/expected.h"
#include "checkpoint/config.h"
#include "tokenizer/tokenizer.h"

namespace cachalot {

// Whether a tokenizer can be that of a model of this config: no token beyond the vocabulary and, where there are Engram
// layers, the classes that their tables are made for. Errors: Errc::format, with what each of them says.
Status expect_tokenizer_fits(const Tokenizer& tokenizer, const Config& config);

}  // namespace cachalot
