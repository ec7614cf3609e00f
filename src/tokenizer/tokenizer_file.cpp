// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer_file.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <span>

#include "tokenizer/pretokenizer.h"

namespace cachalot {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// A value as text for a message.
std::string shown(element value) {
  constexpr std::size_t longest = 100;
  std::string text = simdjson::minify(value);
  if (text.size() <= longest) return text;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + "...";
}

template <class T>
std::optional<T> get(object from, std::string_view key) {
  T value;
  if (from.at_key(key).get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

// Absent, null, false and "" all mean that a setting is not used.
Status expect_unused(object from, std::string_view key, std::string_view where) {
  const auto value = get<element>(from, key);
  if (!value || value->is_null()) return {};
  if (value->is_bool() && !value->get_bool().value_unsafe()) return {};
  if (value->is_string() && value->get_string().value_unsafe().empty()) return {};
  return fail(Errc::format, "{}: {} is {}, but only a tokenizer without it is supported", where, key, shown(*value));
}

Status expect_no_normalizer(object root, std::string_view name) {
  const auto value = get<object>(root, "normalizer");
  if (value && get<std::string_view>(*value, "type") == "Sequence") {
    const auto parts = get<array>(*value, "normalizers");
    if (parts && parts->size() == 0) return {};
  }
  return expect_unused(root, "normalizer", name);
}

bool is_split(element part, std::string_view pattern) {
  object split, spelled;
  if (part.get(split) != simdjson::SUCCESS || split.at_key("pattern").get(spelled) != simdjson::SUCCESS) return false;
  return get<std::string_view>(split, "type") == "Split" && get<std::string_view>(spelled, "Regex") == pattern &&
         get<std::string_view>(split, "behavior") == "Isolated" && !get<bool>(split, "invert").value_or(false);
}

bool is_plain_byte_level(element part) {
  object level;
  if (part.get(level) != simdjson::SUCCESS) return false;
  return get<std::string_view>(level, "type") == "ByteLevel" && get<bool>(level, "add_prefix_space") == false &&
         get<bool>(level, "use_regex") == false;
}

Status expect_released_pretokenizer(object root, std::string_view name) {
  const auto value = get<element>(root, "pre_tokenizer");
  if (!value) return fail(Errc::format, "{}: no pre_tokenizer; the released Sequence is supported", name);
  object sequence;
  array parts;
  if (value->get(sequence) != simdjson::SUCCESS || get<std::string_view>(sequence, "type") != "Sequence" ||
      sequence.at_key("pretokenizers").get(parts) != simdjson::SUCCESS ||
      parts.size() != pretoken_patterns.size() + 1) {
    return fail(Errc::format,
                "{}: pre_tokenizer is {}, supported is a Sequence of DeepSeek-V4.1's three Splits and ByteLevel", name,
                shown(*value));
  }
  std::size_t i = 0;
  for (const element part : parts) {
    const bool last = i == pretoken_patterns.size();
    const bool good = last ? is_plain_byte_level(part) : is_split(part, pretoken_patterns[i]);
    if (!good) {
      return fail(Errc::format, "{}: pre_tokenizer part {} is {}, supported is {}", name, i, shown(part),
                  last ? "ByteLevel without prefix space and regex"
                       : fmt::format("an Isolated Split at {:?}", pretoken_patterns[i]));
    }
    ++i;
  }
  return {};
}

// Decoder and post-processor: of the kind ByteLevel, which neither adds tokens nor drops any.
Status expect_byte_level(object root, std::string_view key, std::string_view name) {
  const auto value = get<element>(root, key);
  if (!value) return fail(Errc::format, "{}: no {}, supported is ByteLevel", name, key);
  object level;
  if (value->get(level) == simdjson::SUCCESS && get<std::string_view>(level, "type") == "ByteLevel") return {};
  return fail(Errc::format, "{}: {} is {}, supported is ByteLevel", name, key, shown(*value));
}

Status expect_supported(object root, object model, std::string_view name) {
  if (auto s = expect_no_normalizer(root, name); !s) return s;
  if (auto s = expect_released_pretokenizer(root, name); !s) return s;
  if (auto s = expect_byte_level(root, "decoder", name); !s) return s;
  const auto post = get<element>(root, "post_processor");
  if (post && !post->is_null()) {
    if (auto s = expect_byte_level(root, "post_processor", name); !s) return s;
  }
  for (const char* key : {"truncation", "padding"}) {
    if (auto s = expect_unused(root, key, name); !s) return s;
  }
  const auto type = get<std::string_view>(model, "type");
  if (type != "BPE")
    return fail(Errc::format, "{}: model.type is {}, supported is BPE", name, type.value_or("missing"));
  const std::string where = fmt::format("{}: model", name);
  for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                          "byte_fallback", "ignore_merges"}) {
    if (auto s = expect_unused(model, key, where); !s) return s;
  }
  return {};
}

Status read_vocabulary(object model, std::string_view name, TokenizerFile& file) {
  const auto vocab = get<object>(model, "vocab");
  if (!vocab) return fail(Errc::format, "{}: model.vocab is no object", name);
  file.base.reserve(vocab->size());
  for (const auto [spelling, value] : *vocab) {
    std::int64_t id;
    if (value.get(id) != simdjson::SUCCESS) {
      return fail(Errc::format, "{}: model.vocab gives {:?} the id {}", name, spelling, shown(value));
    }
    file.base.push_back({std::string(spelling), id});
  }
  return {};
}

// Older files write a merge as "left right", newer ones as ["left", "right"].
std::optional<std::pair<std::string, std::string>> read_merge(element value) {
  std::string_view both;
  array parts;
  if (value.get(both) == simdjson::SUCCESS) {
    const std::size_t space = both.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    return std::pair(std::string(both.substr(0, space)), std::string(both.substr(space + 1)));
  }
  std::string_view left, right;
  if (value.get(parts) != simdjson::SUCCESS || parts.size() != 2 || parts.at(0).get(left) != simdjson::SUCCESS ||
      parts.at(1).get(right) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return std::pair(std::string(left), std::string(right));
}

Status read_merges(object model, std::string_view name, TokenizerFile& file) {
  const auto merges = get<array>(model, "merges");
  if (!merges) return fail(Errc::format, "{}: model.merges is no array", name);
  for (const element value : *merges) {
    auto merge = read_merge(value);
    if (!merge) {
      return fail(Errc::format, "{}: merge {} is {}, expected \"left right\" or [\"left\", \"right\"]", name,
                  file.merges.size(), shown(value));
    }
    file.merges.push_back(std::move(*merge));
  }
  return {};
}

Status read_added_tokens(object root, std::string_view name, TokenizerFile& file) {
  const auto added = get<array>(root, "added_tokens");
  if (!added) return fail(Errc::format, "{}: added_tokens is no array", name);
  for (const element value : *added) {
    const std::string where = fmt::format("{}: added token {}", name, shown(value));
    object token;
    if (value.get(token) != simdjson::SUCCESS) return fail(Errc::format, "{} is no object", where);
    const auto content = get<std::string_view>(token, "content");
    const auto id = get<std::int64_t>(token, "id");
    const auto normalized = get<bool>(token, "normalized"), special = get<bool>(token, "special");
    if (!content || content->empty() || !id || !normalized || !special) {
      return fail(Errc::format, "{} needs id, content (not empty), normalized and special", where);
    }
    for (const char* key : {"single_word", "lstrip", "rstrip"}) {
      if (auto s = expect_unused(token, key, where); !s) return s;
    }
    file.added.push_back({std::string(*content), *id, *normalized, *special});
  }
  return {};
}

// Of ids; whether these are without a gap is seen later.
Status expect_count(const TokenizerFile& file, std::string_view name, const TokenCount& count) {
  std::int64_t largest = -1;
  for (const auto& token : file.base) largest = std::max(largest, token.id);
  for (const auto& token : file.added) largest = std::max(largest, token.id);
  if (largest < count.most && largest + 1 >= count.least) return {};
  return fail(Errc::format,
              "{}: {} {} tokens, config.json says vocab_size {}: tokenizer.json and config.json are not of the same "
              "model",
              name, largest < count.most ? "only" : "more than", largest < count.most ? largest + 1 : count.most,
              count.most);
}

}  // namespace

Expected<TokenizerFile> read_tokenizer_file(std::string_view json, std::string_view name, const TokenCount& count) {
  if (json.empty())
    return fail(Errc::format, "{}: not a JSON object but an empty file", name);  // may be a null pointer
  simdjson::dom::parser parser;
  element document;
  if (const auto error = parser.parse(json.data(), json.size()).get(document); error != simdjson::SUCCESS) {
    return fail(Errc::format, "{}: {}", name, simdjson::error_message(error));
  }
  object root;
  if (document.get(root) != simdjson::SUCCESS) return fail(Errc::format, "{}: not a JSON object", name);
  const auto model = get<object>(root, "model");
  if (!model) return fail(Errc::format, "{}: no object \"model\"", name);
  TokenizerFile file;
  if (auto s = expect_supported(root, *model, name); !s) return tl::unexpected(s.error());
  if (auto s = read_vocabulary(*model, name, file); !s) return tl::unexpected(s.error());
  if (auto s = read_added_tokens(root, name, file); !s) return tl::unexpected(s.error());
  if (auto s = expect_count(file, name, count); !s) return tl::unexpected(s.error());
  if (auto s = read_merges(*model, name, file); !s) return tl::unexpected(s.error());
  return file;
}

}  // namespace cachalot
