// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include <gtest/gtest.h>

#include "checkpoint/released_config.h"

namespace cachalot::model_test {
namespace {

TEST(Model, OfShapesAloneItHasTheReleasedSizes) {
  const auto loaded = parse_config(released_config_text(), "released");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  const Model model =
      Model::of_shapes(loaded->config, {.backend = &reference_backend(), .drafts = true, .memory = &host_memory()});
  EXPECT_EQ(std::ssize(model.weights().layers), loaded->config.n_layers);
  EXPECT_EQ(model.weights().embed.rows, loaded->config.vocab_size);
  EXPECT_EQ(model.weights().embed.codes, nullptr);
  EXPECT_EQ(model.state_shape().rings, loaded->config.n_layers + loaded->config.n_mtp_layers);
  EXPECT_EQ(model.new_sequence().length(), 0);
}

}  // namespace
}  // namespace cachalot::model_test
