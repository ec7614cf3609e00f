// SPDX-License-Identifier: Apache-2.0
// A backend is a table of operators, chosen once. Putting one entry back to the reference is how a wrong kernel is
// found. Window slots and Engram hashes are not here: they are whole-number functions that every backend shares.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "ops/attention/candidates/candidates.h"
#include "ops/attention/compressor/compressor.h"
#include "ops/attention/indexer/indexer.h"
#include "ops/attention/output_projection/output_projection.h"
#include "ops/attention/selection/selection.h"
#include "ops/attention/sparse_attention/sparse_attention.h"
#include "ops/dspark/confidence_head/confidence_head.h"
#include "ops/dspark/markov_head/markov_head.h"
#include "ops/encode/encode_rows.h"
#include "ops/engram/gate/gate.h"
#include "ops/hyper_connections/fold/fold.h"
#include "ops/hyper_connections/mix/mix.h"
#include "ops/hyper_connections/sinkhorn/sinkhorn.h"
#include "ops/hyper_connections/unfold/unfold.h"
#include "ops/linear/linear.h"
#include "ops/lookup/lookup.h"
#include "ops/moe/combine/combine.h"
#include "ops/moe/expert_ffn/expert_ffn.h"
#include "ops/moe/router/router.h"
#include "ops/norm/rms_norm.h"
#include "ops/rope/rope.h"
#include "ops/rows/commit_rows/commit_rows.h"
#include "ops/rows/take_rows/take_rows.h"
#include "ops/sampling/argmax.h"

namespace cachalot {

struct Backend {
  const char* name;
  // Where its operators read and write, on the device of this number. Error: Errc::usage, with what this build or this
  // machine lacks.
  Expected<MemorySpace*> (*open)(int device);
  void (*linear)(Context&, const LinearArgs&);
  void (*rms_norm)(Context&, const RmsNormArgs&);
  void (*rope)(Context&, const RopeArgs&);
  void (*lookup)(Context&, const LookupArgs&);
  void (*encode_rows)(Context&, const EncodeRowsArgs&);
  void (*take_rows)(Context&, const TakeRowsArgs&);
  void (*commit_rows)(Context&, const CommitRowsArgs&);
  void (*argmax)(Context&, const ArgmaxArgs&);
  void (*compressor)(Context&, const CompressorArgs&);
  void (*indexer)(Context&, const IndexerArgs&);
  void (*candidates)(Context&, const CandidatesArgs&);
  void (*selection)(Context&, const SelectionArgs&);
  void (*sparse_attention)(Context&, const SparseAttentionArgs&);
  void (*output_projection)(Context&, const OutputProjectionArgs&);
  void (*router)(Context&, const RouterArgs&);
  void (*expert_ffn)(Context&, const ExpertFfnArgs&);
  void (*combine)(Context&, const CombineArgs&);
  void (*mix)(Context&, const MixArgs&);
  void (*sinkhorn)(Context&, const SinkhornArgs&);
  void (*fold)(Context&, const FoldArgs&);
  void (*unfold)(Context&, const UnfoldArgs&);
  void (*engram_gate)(Context&, const EngramGateArgs&);
  void (*markov_head)(Context&, const MarkovHeadArgs&);
  void (*confidence_head)(Context&, const ConfidenceHeadArgs&);
};

// An entry of the table as a type, so that code can be made for each.
template <auto member>
struct Entry;
template <class A, void (*Backend::*member)(Context&, const A&)>
struct Entry<member> {
  using Args = A;
  using Function = void (*)(Context&, const A&);
  static constexpr auto pointer = member;

  static constexpr auto& of(auto& backend) { return backend.*member; }
};

// The one list of operators, in the table's order: what is named, set back, counted or tested for each of them comes
// from here. Calls s(name, Entry) for every operator.
template <class S>
constexpr void each_operator(S&& s) {
  s("linear", Entry<&Backend::linear>());
  s("rms_norm", Entry<&Backend::rms_norm>());
  s("rope", Entry<&Backend::rope>());
  s("lookup", Entry<&Backend::lookup>());
  s("encode_rows", Entry<&Backend::encode_rows>());
  s("take_rows", Entry<&Backend::take_rows>());
  s("commit_rows", Entry<&Backend::commit_rows>());
  s("argmax", Entry<&Backend::argmax>());
  s("compressor", Entry<&Backend::compressor>());
  s("indexer", Entry<&Backend::indexer>());
  s("candidates", Entry<&Backend::candidates>());
  s("selection", Entry<&Backend::selection>());
  s("sparse_attention", Entry<&Backend::sparse_attention>());
  s("output_projection", Entry<&Backend::output_projection>());
  s("router", Entry<&Backend::router>());
  s("expert_ffn", Entry<&Backend::expert_ffn>());
  s("combine", Entry<&Backend::combine>());
  s("mix", Entry<&Backend::mix>());
  s("sinkhorn", Entry<&Backend::sinkhorn>());
  s("fold", Entry<&Backend::fold>());
  s("unfold", Entry<&Backend::unfold>());
  s("engram_gate", Entry<&Backend::engram_gate>());
  s("markov_head", Entry<&Backend::markov_head>());
  s("confidence_head", Entry<&Backend::confidence_head>());
}

inline constexpr std::size_t operator_count =
    (sizeof(Backend) - sizeof(Backend::name) - sizeof(Backend::open)) / sizeof(Backend::linear);

// As `cachalot inspect --backends` lists them.
inline constexpr std::array<std::string_view, operator_count> operator_names = [] {
  std::array<std::string_view, operator_count> names;
  std::size_t n = 0;
  each_operator([&](std::string_view name, auto) { names[n++] = name; });
  return names;
}();

constexpr bool each_operator_lists_every_entry_once() {
  Backend table{};
  std::size_t n = 0;
  each_operator([&]<class E>(std::string_view, E) {
    n += E::of(table) == nullptr;
    E::of(table) = [](Context&, const typename E::Args&) {};
  });
  return n == operator_count;
}
static_assert(each_operator_lists_every_entry_once());

const Backend& reference_backend();  // scalar; the truth
const Backend& cpu_backend();        // SIMD and threads; see device/README.md for its order of sums
// The cpu's operators over guarded_memory(): what runs on it could run where the host sees no byte. For tests.
const Backend& guarded_backend();

// The devices of a backend that works in the host's memory: number 0.
Expected<MemorySpace*> open_host(const char* backend, MemorySpace& memory, int device);

// Every backend of this build that has operators of its own: the one place where a backend is listed.
std::span<const Backend* const> all_backends();

// Error: Errc::usage, with the names there are.
Expected<const Backend*> find_backend(std::string_view name);

// A backend, and the memory of one of its devices.
struct OpenBackend {
  const Backend* backend = nullptr;
  MemorySpace* memory = nullptr;
};
// "cpu", or with the number of a device "cuda:1". Errors: find_backend's and open's.
Expected<OpenBackend> open_backend(std::string_view name);

// `backend` with some operators set back to the reference's: how a wrong kernel is found. Where the context's memory is
// not the host's, the reference works on copies (mirror.h). Error: Errc::usage for a name that no operator has, with
// those there are.
Expected<Backend> with_reference(const Backend& backend, std::span<const std::string> operators);

}  // namespace cachalot
