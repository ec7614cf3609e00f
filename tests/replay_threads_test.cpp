// SPDX-License-Identifier: Apache-2.0
// A replay on several threads: small, for TSan runs it.
#include "bits_settings.h"
#include "replay_runner.h"

namespace cachalot::replay_threads_test {
namespace {

TEST(ReplayThreads, ThreeThreadsComputeWhatOneDoes) {
  for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
    const Model& model = mini_a_cpu(numerics);
    const ReplayText text = replay_text(20, {{0, 9}}, 5, model.config().vocab_size);
    const auto run = [&](int threads) {
      Replayer r(model, {text}, threads);
      r.run(20, 18);
      return r.logits();
    };
    const auto one = run(1), three = run(3);
    for (std::size_t p = 9; p < 20; ++p) EXPECT_TRUE(same_bits(three[p], one[p])) << p;
  }
}

}  // namespace
}  // namespace cachalot::replay_threads_test
