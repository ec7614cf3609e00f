// SPDX-License-Identifier: Apache-2.0
// What the bits of a sequence's state hang on besides its tokens: states are shared among equal ones only.
#pragma once

#include <string>

#include "base/expected.h"
#include "checkpoint/checkpoint.h"
#include "kv/snapshot_file.h"
#include "model/model.h"

namespace cachalot {

// How it is computed: backend, SIMD level in use, numerics, index keys, whether draft stages are kept. Does not see
// operators that were set back to the reference (with_reference).
std::string state_mode(const Model& model);

// By which weights: config.json, tokenizer.json (Engram's classes), the index, and of each shard its name and bytes. Of
// a shard above 64 MiB not every byte is read, which would take as long as loading all, but its size, the time it was
// last written, its header and eight blocks of 4 KiB, at places that are a function of its size: so a copy of such a
// model, and one whose files were written again, is another model here. Errors: Errc::io and Errc::missing, naming the
// file.
Expected<std::string> model_fingerprint(const Checkpoint& checkpoint);

// Both, and the name of the checkpoint's folder for people; the model's weights are the checkpoint's.
Expected<SnapshotKey> state_key(const Model& model, const Checkpoint& checkpoint);

}  // namespace cachalot
