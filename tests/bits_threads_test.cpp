// SPDX-License-Identifier: Apache-2.0
// The thread pool under a whole forward of the cpu backend: small, for TSan runs it.
#include "bits_settings.h"

namespace cachalot {
namespace {

TEST(BitsThreads, FourThreadsComputeWhatOneDoes) {
  for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
    const Model& model = mini_a_cpu(numerics);
    const auto rows = random_rows(45, 5, model.config().vocab_size, 9);
    const auto run = [&](int threads) {
      Runner r(model, {rows, random_rows(3, 6, model.config().vocab_size)}, threads);
      r.step({33, 1});
      r.step({1, 2}, {7, 0});
      r.draft();
      r.step({11, 0});
      return r.outcome(0);
    };
    EXPECT_EQ(first_difference(run(4), run(1), 45), -1);
  }
}

}  // namespace
}  // namespace cachalot
