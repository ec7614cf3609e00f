// SPDX-License-Identifier: Apache-2.0
// Image spans in a prompt. The features are the golden ones until a vision tower can make them from the patches.
// Source: spec 12.
#include <algorithm>

#include "numerics/bf16.h"
#include "verify/cases/model_cases.h"
#include "verify/end_to_end.h"
#include "verify/taps.h"

namespace cachalot {
namespace {

enum TokenType : std::int64_t { text = -1, image_start = 0, feature = 1, image_newline = 2, image_end = 3 };

Expected<std::vector<float>> checkpoint_row(const Model& model, std::string_view name) {
  const auto found = model.weights().places->place(std::string(name), WeightRole::embedding);
  if (!found) return tl::unexpected(found.error());
  const TensorInfo* info = *found;
  if (info == nullptr || !info->dtype) return fail(Errc::missing, "the checkpoint has no tensor {}", name);
  const auto dim = static_cast<std::size_t>(model.config().dim);
  std::vector<float> row;
  for (std::size_t i = 0; i < dim; ++i) {
    row.push_back(*info->dtype == DType::bf16 ? to_float(reinterpret_cast<const bf16*>(info->data)[i])
                                              : reinterpret_cast<const float*>(info->data)[i]);
  }
  return row;
}

// The prompt's rows with the spans in place, and the type of every row.
struct Spans {
  ImageRows rows;
  std::vector<std::int64_t> types;
};

Expected<Spans> build_spans(const Model& model, GoldenFile& golden, std::int64_t length, const GoldenTensor& grids,
                            const GoldenTensor& starts) {
  const auto dim = static_cast<std::size_t>(model.config().dim);
  const std::int64_t ratio = model.config().vision->downsample_ratio;
  std::vector<std::vector<float>> marks;  // in the order of TokenType; the place of features stays empty
  for (const std::string_view mark : {"image_start", "", "image_newline", "image_end"}) {
    if (mark.empty()) {
      marks.emplace_back();
      continue;
    }
    auto row = checkpoint_row(model, mark);
    if (!row) return tl::unexpected(row.error());
    marks.push_back(std::move(*row));
  }
  Spans spans{{std::vector<bool>(static_cast<std::size_t>(length), false),
               std::vector<float>(static_cast<std::size_t>(length) * dim, 0.0f)},
              std::vector<std::int64_t>(static_cast<std::size_t>(length), text)};
  for (std::int64_t i = 0; i < grids.extent(0); ++i) {
    const auto pair = static_cast<std::size_t>(2 * i);
    const std::int64_t rows = ceil_div(grids.numbers[pair], ratio),
                       columns_each = ceil_div(grids.numbers[pair + 1], ratio);
    const std::string name = fmt::format("features.{}", i);
    auto features = golden.read({name, 'r', 2});
    if (!features) return tl::unexpected(features.error());
    if (Status fit = golden.expect_shape(*features, {rows * columns_each, static_cast<std::int64_t>(dim)}); !fit) {
      return tl::unexpected(fit.error());
    }
    std::int64_t at = starts.numbers[static_cast<std::size_t>(i)];
    if (at + 2 + rows * (columns_each + 1) > length) {
      return fail(Errc::range, "{}: image {} from position {} does not fit {} tokens", golden.path(), i, at, length);
    }
    const auto put = [&](TokenType type, const float* values) {
      spans.rows.image[static_cast<std::size_t>(at)] = true;
      spans.types[static_cast<std::size_t>(at)] = type;
      std::copy_n(values, dim, spans.rows.embedding.begin() + at * static_cast<std::int64_t>(dim));
      ++at;
    };
    put(image_start, marks[image_start].data());
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t k = 0; k < columns_each; ++k) {
        put(feature, features->values.data() + (r * columns_each + k) * static_cast<std::int64_t>(dim));
      }
      put(image_newline, marks[image_newline].data());
    }
    put(image_end, marks[image_end].data());
  }
  return spans;
}

// Under the observer's names.
Expected<TapObserver::Taps> read_entry_taps(GoldenFile& golden, const Config& config, std::int64_t length) {
  TapObserver::Taps taps;
  const auto take = [&](std::string_view name, char type, int rank, std::string observed) -> Status {
    auto tensor = golden.read({name, type, rank});
    if (!tensor) return tl::unexpected(tensor.error());
    GoldenTap tap{.tensor = std::move(*tensor), .rows = 0, .width = 0, .lists = {}};
    tap.rows = tap.tensor.rows();
    tap.width = tap.tensor.width();
    if (tap.rows != length)
      return fail(Errc::format, "{}: {} has {} rows, expected {}", golden.path(), name, tap.rows, length);
    for (auto at = tap.tensor.numbers.begin(); at != tap.tensor.numbers.end(); at += tap.width) {
      tap.lists.emplace_back(at, at + tap.width);
    }
    taps.emplace(std::move(observed), std::move(tap));
    return {};
  };
  if (Status done = take("embed", 'r', 3, "embed"); !done) return tl::unexpected(done.error());
  if (Status done = take("gate_indices.0", 'n', 2, "layers.0.ffn.gate_indices"); !done)
    return tl::unexpected(done.error());
  if (config.engram_layer_ids.empty() && golden.has("hash_ids")) {
    return fail(Errc::format, "{}: hash_ids, but the model has no Engram", golden.path());
  }
  if (!config.engram_layer_ids.empty()) {
    const std::string observed = fmt::format("layers.{}.engram.hash_ids", config.engram_layer_ids.front());
    if (Status done = take("hash_ids", 'n', 3, observed); !done) return tl::unexpected(done.error());
  }
  return taps;
}

}  // namespace

Status verify_image(ModelCase& c) {
  auto golden = GoldenFile::open(c.folder / c.entry.file);
  if (!golden) return tl::unexpected(golden.error());
  auto read = golden->read_all(
      {{"input_ids", 'n', 2}, {"token_types", 'n', 2}, {"grids", 'n', 2}, {"starts", 'n', 1}, {"logits_all", 'f', 3}});
  if (!read) return tl::unexpected(read.error());
  const auto& [ids, types, grids, starts, want] = *read;
  auto model = c.models.get(c.entry.numerics, IndexKeys::owner, false);
  if (!model) return tl::unexpected(model.error());
  const Config& config = (*model)->config();
  if (!config.vision) return fail(Errc::format, "{}: images, but the model has no vision tower", golden->path());
  const std::int64_t length = ids.extent(1), vocab = config.vocab_size, images = starts.extent(0);
  for (const Status& fit : {golden->expect_shape(ids, {1, length}), golden->expect_shape(types, {1, length}),
                            golden->expect_shape(grids, {images, 2}), golden->expect_shape(want, {1, length, vocab}),
                            golden->expect_range(grids, 1, 1 << 20), golden->expect_range(starts, 0, length)}) {
    if (!fit) return fit;
  }
  for (std::int64_t i = 0; i < images; ++i) {
    const std::string patches = fmt::format("patches.{}", i);
    if (!golden->has(patches)) return fail(Errc::missing, "{}: no tensor {}", golden->path(), patches);
    c.report.not_run(patches, "no vision tower yet: the golden features stand in for what it makes of the patches");
    golden->leave_out(patches);
  }
  auto spans = build_spans(**model, *golden, length, grids, starts);
  if (!spans) return tl::unexpected(spans.error());
  c.report.compare_numbers("token_types", spans->types, types.numbers, length);
  auto taps = read_entry_taps(*golden, config, length);
  if (!taps) return tl::unexpected(taps.error());

  std::vector<float> wanted = want.values;
  std::vector<std::vector<std::int64_t>> steps;
  while (golden->has(fmt::format("step.{}.id", steps.size()))) {
    const std::string names[] = {fmt::format("step.{}.id", steps.size()), fmt::format("step.{}.logits", steps.size())};
    auto pair = golden->read_all({{names[0], 'n', 2}, {names[1], 'f', 2}});
    if (!pair) return tl::unexpected(pair.error());
    for (const Status& fit : {golden->expect_shape((*pair)[0], {1, 1}), golden->expect_shape((*pair)[1], {1, vocab})}) {
      if (!fit) return fit;
    }
    steps.push_back((*pair)[0].numbers);
    wanted.insert(wanted.end(), (*pair)[1].values.begin(), (*pair)[1].values.end());
  }
  const Attempt attempt = [&](RunObserver& watcher, CaseReport& report) -> Status {
    ModelRun run(**model, 1, c.models.threads(), &watcher);
    TapObserver observer(*taps, TapObserver::Feed::nothing);
    auto got = run.step(ids.numbers, Wanted::all, &observer, &spans->rows);
    if (!got) return tl::unexpected(got.error());
    observer.compare(c.entry.numerics, report, TapRules::prompt);
    for (const auto& id : steps) {
      auto next = run.step(id, Wanted::last);
      if (!next) return tl::unexpected(next.error());
      got->insert(got->end(), next->begin(), next->end());
    }
    EndToEndRows table{.width = vocab, .rows = {}, .got = {}, .want = {}};
    for (std::int64_t r = 0; r < run.length(); ++r) {
      const auto width = static_cast<std::size_t>(vocab), first = static_cast<std::size_t>(r) * width;
      table.add({.where = fmt::format("position {}", r)}, std::span(*got).subspan(first, width),
                std::span(wanted).subspan(first, width));
    }
    judge_end_to_end("logits_all and steps", table, c.entry.numerics, report);
    return {};
  };
  // Image cases hold no codes, and their tokens would not tell the images apart.
  const CodeWitness nothing;
  if (Status done = judge_with_tries(config, c.tries(false), {nothing, ids.numbers, length}, attempt, c.report);
      !done) {
    return done;
  }
  golden->close(c.report);
  return {};
}

}  // namespace cachalot
