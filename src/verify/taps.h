// SPDX-License-Identifier: Apache-2.0
// The named tensors of one golden call, and an observer that records the engine's own and may feed it the golden ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "checkpoint/config.h"
#include "model/model.h"
#include "model/observer.h"
#include "verify/golden_file.h"
#include "verify/slot_numbers.h"

namespace cachalot {

// The number in layers.N.…; -1 for other names.
std::int64_t tap_layer(std::string_view name);

// Whether a golden tensor is handed to the engine in place of its own: what enters a layer, and what the layer selects.
bool is_layer_input(std::string_view name);

// A tap with rows of every sequence below one another.
struct GoldenTap {
  GoldenTensor tensor;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::vector<std::vector<std::int64_t>>
      lists;  // whole numbers in the engine's terms (model/observer.h), a list per row
};

// Reads every tensor of the file but those in `not_taps`, turning slots into positions and groups. Errors: a shape that
// does not go with the call, a slot the row can't have seen.
Expected<std::map<std::string, GoldenTap, std::less<>>> read_taps(GoldenFile& golden, const Config& config,
                                                                  const ReferenceCall& call, std::int64_t batch,
                                                                  std::initializer_list<std::string_view> not_taps);

// By which limits taps are judged: those of a prompt fed golden inputs, or those of a step behind the engine's own
// state, which in `released` are none (docs/spec/tolerances.md).
enum class TapRules { prompt, step };

class TapObserver : public Observer {
 public:
  using Taps = std::map<std::string, GoldenTap, std::less<>>;

  enum class Feed { everything, layer_inputs, nothing };  // what of the golden replaces the engine's own

  explicit TapObserver(const Taps& golden, Feed feed = Feed::layer_inputs) : golden_(golden), feed_(feed) {}

  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override;
  void numbers(std::string_view name, std::int64_t first_row, View<std::int64_t, 2> rows) override;

  // One finding per golden tap; a tap that never passed by is a failure.
  void compare(Numerics numerics, CaseReport& report, TapRules rules) const;

  // The engine's own rows of a tap of real numbers, before anything replaced them; empty where there are none.
  std::span<const std::vector<float>> own_values(std::string_view name) const;

 private:
  struct Own {
    std::vector<std::vector<float>> values;
    std::vector<std::vector<std::int64_t>> lists;
  };

  void compare_values(const std::string& name, const GoldenTap& tap, const Own& own, Numerics numerics,
                      CaseReport& report, TapRules rules) const;
  void compare_lists(const std::string& name, const GoldenTap& tap, const Own& own, CaseReport& report,
                     bool judged) const;
  std::vector<float> in_golden_order(const std::string& name, std::size_t row, std::vector<float> own) const;

  bool feeds(std::string_view name) const {
    return feed_ == Feed::everything || (feed_ == Feed::layer_inputs && is_layer_input(name));
  }

  const Taps& golden_;
  Feed feed_;
  std::map<std::string, Own, std::less<>> own_;
  std::map<std::string, std::string, std::less<>> problems_;  // a golden that did not fit what was to be replaced
};

}  // namespace cachalot
