// SPDX-License-Identifier: Apache-2.0
// The thread pool under a whole forward of the cpu backend: small, for TSan runs it.
#include "bits_settings.h"

namespace cachalot::bits_threads_test {
namespace {

TEST(BitsThreads, ThreeThreadsComputeWhatOneDoes) {
  for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
    const Model& model = mini_a_cpu(numerics);
    const auto rows = random_rows(12, 5, model.config().vocab_size, 5);
    const auto run = [&](int threads) {
      Runner r(model, {rows, random_rows(2, 6, model.config().vocab_size)}, threads);
      r.step({11, 2});
      r.step({1, 0}, {2, 0});
      r.draft();
      return r.outcome(0);
    };
    EXPECT_EQ(first_difference(run(3), run(1), 12), -1);
  }
}

}  // namespace
}  // namespace cachalot::bits_threads_test
