// SPDX-License-Identifier: Apache-2.0
// From what a tokenizer.json says to a Tokenizer, checking the file against itself.
#include <system_error>

#include "base/machine_memory.h"
#include "base/mapped_file.h"
#include "base/seeded_hash.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_file.h"

namespace cachalot {
namespace {

using IdOfSpelling = HashMap<std::string_view, TokenId>;

constexpr std::size_t largest_file = std::size_t{256} << 20;  // forty times the released one
constexpr std::int64_t reading_share = 24;  // of the file, what reading the worst takes; see measure_input_limits.py

// Where each id stands, base and added tokens together.
struct Places {
  std::vector<std::string_view> spellings;
  std::vector<bool> taken;
};

Status place(Places& places, std::string_view spelling, std::int64_t id, std::string_view name) {
  if (id < 0 || static_cast<std::size_t>(id) >= places.taken.size()) {
    return fail(Errc::format, "{}: token {:?} has id {}, but the file lists {} tokens", name, spelling, id,
                places.taken.size());
  }
  const auto at = static_cast<std::size_t>(id);
  if (places.taken[at] && places.spellings[at] != spelling) {
    return fail(Errc::format, "{}: {:?} and {:?} share the id {}", name, places.spellings[at], spelling, id);
  }
  places.taken[at] = true;
  places.spellings[at] = spelling;
  return {};
}

// Ids run from 0 without a gap; each has one spelling and each spelling one id.
Expected<std::vector<std::string_view>> place_all(const TokenizerFile& file, IdOfSpelling& base_ids,
                                                  std::string_view name) {
  const std::size_t most = file.base.size() + file.added.size();
  Places places{std::vector<std::string_view>(most), std::vector<bool>(most)};
  base_ids.reserve(file.base.size());
  for (const auto& token : file.base) {
    if (auto s = place(places, token.spelling, token.id, name); !s) return tl::unexpected(s.error());
    if (!base_ids.try_emplace(token.spelling, TokenId{static_cast<std::int32_t>(token.id)}).second) {
      return fail(Errc::format, "{}: the vocabulary lists {:?} twice", name, token.spelling);
    }
  }
  IdOfSpelling added_ids;
  for (const auto& token : file.added) {
    if (auto s = place(places, token.content, token.id, name); !s) return tl::unexpected(s.error());
    const TokenId id{static_cast<std::int32_t>(token.id)};
    if (!added_ids.try_emplace(token.content, id).second) {
      return fail(Errc::format, "{}: added token {:?} is listed twice", name, token.content);
    }
    if (const auto base = base_ids.find(token.content); base != base_ids.end() && base->second != id) {
      return fail(Errc::format, "{}: {:?} has id {} in the vocabulary and {} as added token", name, token.content,
                  raw(base->second), token.id);
    }
  }
  std::size_t size = most;
  while (size > 0 && !places.taken[size - 1]) --size;
  for (std::size_t id = 0; id < size; ++id) {
    if (!places.taken[id])
      return fail(Errc::format, "{}: no token has id {}, though ids go up to {}", name, id, size - 1);
  }
  places.spellings.resize(size);
  return std::move(places.spellings);
}

Expected<std::array<TokenId, 256>> find_byte_ids(const IdOfSpelling& ids, std::string_view name) {
  std::array<TokenId, 256> byte_ids{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    const auto found = ids.find(spelling_of_bytes({&text, 1}));
    if (found == ids.end()) return fail(Errc::format, "{}: no token for the single byte 0x{:02x}", name, byte);
    byte_ids[byte] = found->second;
  }
  return byte_ids;
}

Expected<std::vector<Merge>> find_merges(const TokenizerFile& file, const IdOfSpelling& ids, std::string_view name) {
  std::vector<Merge> merges;
  merges.reserve(file.merges.size());
  for (const auto& [left, right] : file.merges) {
    TokenId found[3];
    const std::string spellings[3] = {left, right, left + right};
    for (int i = 0; i < 3; ++i) {
      const auto id = ids.find(spellings[i]);
      if (id == ids.end()) {
        return fail(Errc::format, "{}: merge {} needs the token {:?}, which the vocabulary lacks", name, merges.size(),
                    spellings[i]);
      }
      found[i] = id->second;
    }
    merges.push_back({found[0], found[1], found[2]});
  }
  return merges;
}

}  // namespace

Expected<Tokenizer> Tokenizer::load(const std::filesystem::path& dir_or_file, const TokenCount& count) {
  std::error_code error;
  const bool is_dir = std::filesystem::is_directory(dir_or_file, error);
  const auto file = is_dir ? dir_or_file / "tokenizer.json" : dir_or_file;
  const auto json = MappedFile::open(file, largest_file);
  if (!json) return tl::unexpected(json.error());
  const std::int64_t most_memory = static_cast<std::int64_t>(json->size()) * reading_share;
  if (Status fits = expect_room(most_memory, "reading " + file.string()); !fits) return tl::unexpected(fits.error());
  return parse(json->text(), file.string(), count);
}

Expected<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view name, const TokenCount& count) {
  const auto file = read_tokenizer_file(json, name, count);
  if (!file) return tl::unexpected(file.error());
  return build(*file, name);
}

Expected<Tokenizer> Tokenizer::build(const TokenizerFile& file, std::string_view name) {
  IdOfSpelling base_ids;
  const auto spellings = place_all(file, base_ids, name);
  if (!spellings) return tl::unexpected(spellings.error());
  const auto byte_ids = find_byte_ids(base_ids, name);
  if (!byte_ids) return tl::unexpected(byte_ids.error());
  const auto merges = find_merges(file, base_ids, name);
  if (!merges) return tl::unexpected(merges.error());
  auto encoder = BytePairEncoder::make(*byte_ids, *merges, name);
  if (!encoder) return tl::unexpected(encoder.error());

  Tokenizer tokenizer;
  for (const std::string_view spelling : *spellings) {
    tokenizer.spellings_.push_back(spelling);
    tokenizer.bytes_.push_back(bytes_of_spelling(spelling).value_or(std::string(spelling)));
  }
  tokenizer.special_.resize(spellings->size());
  std::vector<AddedTokens::Token> passes[2];
  for (const auto& token : file.added) {
    const auto id = static_cast<std::int32_t>(token.id);
    tokenizer.special_[static_cast<std::size_t>(id)] = token.special;
    passes[token.normalized].push_back({token.content, TokenId{id}});
  }
  tokenizer.first_pass_ = AddedTokens(std::move(passes[0]));
  tokenizer.second_pass_ = AddedTokens(std::move(passes[1]));
  tokenizer.encoder_ = std::move(*encoder);
  std::vector<std::string_view> token_bytes;
  for (std::size_t i = 0; i < spellings->size(); ++i) token_bytes.push_back(tokenizer.bytes_[i]);
  tokenizer.encoder_.learn_whole_tokens(token_bytes);
  return tokenizer;
}

}  // namespace cachalot
