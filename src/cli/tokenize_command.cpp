// SPDX-License-Identifier: Apache-2.0
#include "cli/tokenize_command.h"

#include <charconv>
#include <cstdio>
#include <iostream>
#include <memory>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/options/default_model.h"
#include "cli/options/model_options.h"
#include "cli/output/json_lines.h"
#include "cli/output/terminal.h"

namespace cachalot {
namespace {

Expected<Json> encode_line(const Tokenizer& tokenizer, const Json& request) {
  const Json* text = request.find("text");
  const Json* special = request.find("special");
  if (!text) return fail(Errc::missing, "no member \"text\"");
  if (!text->is_string()) return fail(Errc::format, "\"text\" is {}, expected a string", shown(*text));
  if (special && !special->is_bool())
    return fail(Errc::format, "\"special\" is {}, expected true or false", shown(*special));
  const bool added_tokens = special && *special->as_bool();
  const auto ids = added_tokens ? tokenizer.encode(*text->as_string()) : tokenizer.encode_plain(*text->as_string());
  if (!ids) return tl::unexpected(ids.error());
  Json numbers = Json::array();
  for (const TokenId id : *ids) numbers.push_back(raw(id));
  return Json::object({{"ids", std::move(numbers)}});
}

Expected<Json> decode_line(const Tokenizer& tokenizer, const Json& request) {
  const Json* numbers = request.find("ids");
  if (!numbers) return fail(Errc::missing, "no member \"ids\"");
  if (!numbers->is_array()) return fail(Errc::format, "\"ids\" is {}, expected an array", shown(*numbers));
  std::vector<TokenId> ids;
  for (const Json& number : numbers->items()) {
    const auto id = number.as_int64();
    if (!id || *id < 0 || *id >= tokenizer.vocab_size()) {
      return fail(Errc::range, "ids[{}] is {}, expected a whole number from 0 to {}", ids.size(), shown(number),
                  tokenizer.vocab_size() - 1);
    }
    ids.push_back(TokenId{static_cast<std::int32_t>(*id)});
  }
  auto text = tokenizer.decode(ids, SpecialTokens::keep);
  if (!text) return tl::unexpected(text.error());
  return Json::object({{"text", std::move(*text)}});
}

Expected<Json> answer(const Tokenizer& tokenizer, TokenizeWay way, std::string_view line) {
  const auto request = parse_json(line, "input");
  if (!request) return request;
  if (!request->is_object()) return fail(Errc::format, "input is {}, expected an object", shown(*request));
  return way == TokenizeWay::encode ? encode_line(tokenizer, *request) : decode_line(tokenizer, *request);
}

struct TokenizeOptions {
  std::string model;
  std::vector<std::string> input;
  bool jsonl = false, decode = false, special = false;
};

Status expect_consistent(const TokenizeOptions& options) {
  if (options.decode && options.special) return fail(Errc::usage, "--special is for text, --decode takes ids");
  if (options.jsonl && options.special) return fail(Errc::usage, "with --jsonl each line says \"special\" itself");
  if (options.jsonl && !options.input.empty()) return fail(Errc::usage, "--jsonl reads standard input, not arguments");
  if (!options.jsonl && options.decode && options.input.empty()) return fail(Errc::usage, "--decode needs ids");
  if (!options.jsonl && !options.decode && options.input.size() != 1) {
    return fail(Errc::usage, "expected one text (in quotes), found {} arguments", options.input.size());
  }
  return {};
}

Expected<std::vector<TokenId>> read_ids(std::span<const std::string> words) {
  std::vector<TokenId> ids;
  for (const std::string& word : words) {
    std::int32_t id;
    const char* end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, id);
    if (read.ec != std::errc() || read.ptr != end) return fail(Errc::usage, "{:?} is no token id", word);
    ids.push_back(TokenId{id});
  }
  return ids;
}

// The answer to the arguments, for standard output.
Expected<std::string> answer_arguments(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  if (options.decode) {
    const auto ids = read_ids(options.input);
    if (!ids) return tl::unexpected(ids.error());
    auto text = tokenizer.decode(*ids, SpecialTokens::keep);
    if (text) *text += '\n';
    return text;
  }
  const std::string& text = options.input[0];
  const auto ids = options.special ? tokenizer.encode(text) : tokenizer.encode_plain(text);
  if (!ids) return tl::unexpected(ids.error());
  return shown_tokens(tokenizer, *ids);
}

int tokenize(const TokenizeOptions& options) {
  if (auto s = expect_consistent(options); !s) return report(s.error());
  const auto model = resolve_model(options.model);
  if (!model) return report(model.error());
  const auto tokenizer = Tokenizer::load(*model);
  if (!tokenizer) return report(tokenizer.error());
  if (options.jsonl) {
    const TokenizeWay way = options.decode ? TokenizeWay::decode : TokenizeWay::encode;
    const bool written = answer_lines(*tokenizer, way, std::cin, out_stream());
    if (!written) return 1;  // said by finish_output()
    const Status read = input_was_read();
    return read ? 0 : report(read.error());
  }
  const auto text = answer_arguments(*tokenizer, options);
  if (!text) return report(text.error());
  print_out(*text);
  return 0;
}

}  // namespace

std::string answer_line(const Tokenizer& tokenizer, TokenizeWay way, std::string_view line) {
  return answer_text(answer(tokenizer, way, line));
}

bool answer_lines(const Tokenizer& tokenizer, TokenizeWay way, std::istream& in, std::ostream& out,
                  std::size_t most_bytes) {
  return answer_lines([&](std::string_view line) { return answer(tokenizer, way, line); }, in, out, most_bytes);
}

std::string shown_tokens(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  std::string out;
  for (const TokenId id : ids) {
    out += fmt::format("{:>8}  \"", raw(id));
    for (std::string_view bytes = tokenizer.token_bytes(id); !bytes.empty();) {
      const Utf8Char c = read_utf8(bytes);
      const std::string_view text = bytes.substr(0, c.bytes);
      if (c.code == '\n' || c.code == '\t') {
        out += c.code == '\n' ? "\\n" : "\\t";
      } else if (c.code == '"' || c.code == '\\') {
        out += '\\';
        out += text;
      } else if (c.kind != Utf8Kind::good || c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA0)) {
        for (const char byte : text) out += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
      } else {
        out += text;
      }
      bytes.remove_prefix(c.bytes);
    }
    out += "\"\n";
  }
  return out;
}

void add_tokenize_command(Command& program) {
  Command& command = program.add_command("tokenize", "Text to token ids and back");
  const auto options = std::make_shared<TokenizeOptions>();
  command.arguments("input", options->input, "a text; with --decode, token ids");
  add_model_flag(command, options->model,
                 "folder with a tokenizer.json, or such a file; only it is read (default: $CACHALOT_MODEL, then the "
                 "bundled model)");
  OptionGroup& way = command.group("Way");
  way.flag("--decode", options->decode, "from ids to text");
  way.flag("--special", options->special, "let added tokens in the text, such as <think>, become their ids");
  way.flag(
      "--jsonl", options->jsonl,
      "read JSON lines from standard input and answer each with one: {\"text\": \"...\", \"special\": false} gives "
      "{\"ids\": [...]}, with --decode {\"ids\": [...]} gives {\"text\": \"...\"}. \"special\": true is --special for "
      "that line; absent means false. A line that can't be answered gives {\"error\": \"...\"}; the rest goes on");
  command.examples({"cachalot tokenize --model models/demo \"Hello, world\"",
                    "cachalot tokenize --model models/demo --decode 75 716 114 47 970",
                    "echo '{\"text\": \"Hello\"}' | cachalot tokenize --model models/demo --jsonl"});
  command.runs([options]() -> Expected<int> { return tokenize(*options); });
}

}  // namespace cachalot
