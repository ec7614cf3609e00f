// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/test_checkpoint.h"

namespace cachalot::safetensors_test {
namespace {

std::string little_endian(std::uint64_t value) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

std::string file_with(std::string_view header, std::size_t data_bytes) {
  return little_endian(header.size()) + std::string(header) + std::string(data_bytes, 'x');
}

Expected<SafetensorsHeader> parse(std::string_view file) {
  return parse_safetensors_header(std::as_bytes(std::span(file)), static_cast<std::int64_t>(file.size()), "f");
}

std::string error_of(std::string_view file) {
  const auto header = parse(file);
  return header ? "no error" : header.error().message;
}

std::string tensor(std::string_view name, std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, offsets);
}

// A header of these tensors.
std::string header_of(std::initializer_list<std::string> tensors) {
  return fmt::format("{{{}}}", fmt::join(tensors, ","));
}

TEST(Safetensors, HeaderGivesNameTypeShapeAndPlace) {
  const std::string header = fmt::format(R"({{"__metadata__":{{"format":"pt"}},{},{}}})",
                                         tensor("b", "F32", "[2,3]", "[4,28]"), tensor("a", "BF16", "[2]", "[0,4]"));
  const auto parsed = parse(file_with(header, 28));
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  ASSERT_EQ(parsed->tensors.size(), 2u);
  EXPECT_EQ(parsed->tensors[0].name, "a");
  EXPECT_EQ(parsed->tensors[1].name, "b");
  EXPECT_EQ(parsed->tensors[1].dtype, DType::f32);
  EXPECT_EQ(parsed->tensors[1].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(parsed->tensors[1].bytes, 24);
  EXPECT_EQ(parsed->tensors[1].offset, static_cast<std::int64_t>(8 + header.size() + 4));
  ASSERT_EQ(parsed->metadata.size(), 1u);
  EXPECT_EQ(parsed->metadata[0].second, "pt");
}

TEST(Safetensors, HeaderNestsFourLevelsDeepAndNoDeeper) {
  const auto metadata = [](std::string_view value) {  // the third level begins with it
    return file_with(fmt::format(R"({{"__metadata__":{{"a":{}}}}})", value), 0);
  };
  EXPECT_TRUE(parse(metadata("[[1]]")).has_value()) << error_of(metadata("[[1]]"));
  EXPECT_NE(error_of(metadata("[[[1]]]")).find("nested deeper than 4"), std::string::npos);
  const auto entry = [](std::string_view value) {  // as in a tensor's
    const std::string plain = tensor("t", "F32", "[]", "[0,4]");
    return file_with(fmt::format(R"({{{},"note":{}}}}})", plain.substr(0, plain.size() - 1), value), 4);
  };
  EXPECT_EQ(error_of(entry("[[1]]")).find("nested"), std::string::npos) << error_of(entry("[[1]]"));
  EXPECT_NE(error_of(entry("[[[1]]]")).find("nested deeper than 4"), std::string::npos);
}

TEST(Safetensors, FileWithoutTensorsIsEmpty) {
  const auto parsed = parse(file_with("{}", 0));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(parsed->tensors.empty());
}

TEST(Safetensors, ScalarAndEmptyTensorAreTensors) {
  const auto parsed =
      parse(file_with(header_of({tensor("s", "F32", "[]", "[0,4]"), tensor("e", "F32", "[0,7]", "[4,4]")}), 4));
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->tensors[0].bytes, 4);
  EXPECT_EQ(parsed->tensors[1].bytes, 0);
}

TEST(Safetensors, UnknownTypeIsListedWithItsText) {
  const auto parsed = parse(file_with(header_of({tensor("odd", "F6_E3M2", "[4]", "[0,3]")}), 3));
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->tensors[0].dtype, std::nullopt);
  EXPECT_EQ(parsed->tensors[0].dtype_text, "F6_E3M2");
}

TEST(Safetensors, LengthOfHeaderMustFitTheFile) {
  EXPECT_NE(error_of("").find("too short"), std::string::npos);
  EXPECT_NE(error_of("1234567").find("too short"), std::string::npos);
  EXPECT_TRUE(error_of(little_endian(0)).starts_with("f: line 1"));
  EXPECT_NE(error_of(little_endian(3) + "{}").find("a header of 3 bytes in a file of 10"), std::string::npos);
  for (const std::uint64_t length : {std::uint64_t{1} << 62, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    EXPECT_NE(error_of(little_endian(length) + "{}").find("cut off"), std::string::npos);
  }
}

TEST(Safetensors, EveryCutOfAFileIsRefused) {
  const std::string whole =
      file_with(header_of({tensor("a", "F32", "[2]", "[0,8]"), tensor("b", "U8", "[3]", "[8,11]")}), 11);
  ASSERT_TRUE(parse(whole).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse(whole.substr(0, size)).has_value()) << size;
  EXPECT_NE(error_of(whole + "x").find("1 bytes after b belong to no tensor"), std::string::npos);
}

TEST(Safetensors, PlacesMustNotOverlapNorLeaveHoles) {
  const auto two = [](const char* first, const char* second) {
    return file_with(header_of({tensor("a", "U8", "[4]", first), tensor("b", "U8", "[4]", second)}), 8);
  };
  EXPECT_EQ(error_of(two("[0,4]", "[4,8]")), "no error");
  EXPECT_EQ(error_of(two("[4,8]", "[0,4]")), "no error");
  EXPECT_EQ(error_of(two("[0,4]", "[3,7]")), "f: tensor b overlaps a");
  EXPECT_EQ(error_of(two("[0,4]", "[0,4]")), "f: tensor b overlaps a");
  EXPECT_NE(error_of(two("[0,4]", "[5,9]")).find("tensor b: data_offsets [5,9] are not inside the 8"),
            std::string::npos);
  EXPECT_NE(error_of(file_with(header_of({tensor("a", "U8", "[4]", "[1,5]")}), 5))
                .find("1 bytes between the header and tensor a"),
            std::string::npos);
}

TEST(Safetensors, ImpossibleTensorsAreRefusedByName) {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return error_of(file_with(header_of({tensor("w", dtype, shape, offsets)}), 8));
  };
  EXPECT_EQ(one("F32", "[2]", "[0,8]"), "no error");
  EXPECT_EQ(one("F32", "[3]", "[0,8]"), "f: tensor w: shape [3] of F32 does not fill its 8 bytes");
  for (const char* shape : {"[-1]", "[2.0]", "[\"2\"]", "2", "{}", "null", "[9223372036854775807,2]",
                            "[4294967296,4294967296]", "[2305843009213693952]", "[9223372036854775808]"}) {
    EXPECT_TRUE(one("F32", shape, "[0,8]").starts_with("f: tensor w: ")) << shape;
  }
  for (const char* offsets :
       {"[0]", "[0,8,9]", "[8,0]", "[-8,0]", "[0,9]", "[0,8.0]", "8", "[0,9223372036854775807]"}) {
    EXPECT_TRUE(one("F32", "[2]", offsets).starts_with("f: tensor w: ")) << offsets;
  }
  EXPECT_NE(error_of(file_with(R"({"w":{"shape":[8],"data_offsets":[0,8]}})", 8)).find("dtype"), std::string::npos);
  EXPECT_NE(error_of(file_with(R"({"w":{"dtype":"U8","data_offsets":[0,8]}})", 8)).find("shape"), std::string::npos);
  EXPECT_NE(error_of(file_with(R"({"w":{"dtype":"U8","shape":[8]}})", 8)).find("data_offsets"), std::string::npos);
  EXPECT_NE(error_of(file_with(R"({"w":1})", 8)).find("tensor w"), std::string::npos);
  EXPECT_NE(error_of(file_with("[]", 0)).find("a JSON object is expected"), std::string::npos);
}

TEST(Safetensors, ShapesWhoseSizeWrapsAroundAreRefused) {
  const auto empty = [](std::string_view dtype, std::string_view shape) {
    return error_of(file_with(header_of({tensor("w", dtype, shape, "[0,0]")}), 0));
  };
  EXPECT_EQ(empty("U8", "[0,9223372036854775807]"), "no error");
  EXPECT_EQ(empty("U8", "[4294967296,4294967296]"), "f: tensor w: shape [4294967296,4294967296] has too many elements");
  EXPECT_EQ(empty("F6_E3M2", "[4294967296,4294967296]"),
            "f: tensor w: shape [4294967296,4294967296] has too many elements");
  EXPECT_EQ(empty("F32", "[4611686018427387904]"),
            "f: tensor w: shape [4611686018427387904] of F32 does not fill its 0 bytes");
}

TEST(Safetensors, ATensorHasNoMoreAxesThanItCouldUse) {
  std::string shape = "[1";
  for (int i = 0; i < 70; ++i) shape += ",1";
  EXPECT_NE(
      error_of(file_with(header_of({tensor("w", "U8", shape + "]", "[0,1]")}), 1)).find("more than the 64 values"),
      std::string::npos);
}

TEST(Safetensors, LengthOfAHeaderIsToldWithoutReadingIt) {
  const TestFolder folder;
  EXPECT_EQ(safetensors_header_bytes(folder.write("a", file_with("{}", 0))), 2);
  EXPECT_EQ(safetensors_header_bytes(folder.write("b", little_endian(99) + "{}")), 2);
  EXPECT_EQ(safetensors_header_bytes(folder.write("c", "1234567")), 0);
  EXPECT_EQ(safetensors_header_bytes(folder.path() / "absent"), 0);
}

TEST(Safetensors, NameThatComesTwiceIsRefused) {
  const std::string header = header_of({tensor("a", "U8", "[4]", "[0,4]"), tensor("a", "U8", "[4]", "[4,8]")});
  EXPECT_NE(error_of(file_with(header, 8)).find("\"a\" comes twice"), std::string::npos);
}

TEST(Safetensors, MappedTensorIsNotCopiedAndAnUnalignedOneIs) {
  const TestFolder folder;
  std::string data(12, '\0');
  const float values[] = {1.5f, -2.0f};
  std::memcpy(data.data() + 1, values, sizeof values);
  std::string header = header_of(
      {tensor("odd", "U8", "[1]", "[0,1]"), tensor("f", "F32", "[2]", "[1,9]"), tensor("rest", "U8", "[3]", "[9,12]")});
  while (header.size() % 8 != 0) header += ' ';
  const auto file = SafetensorsFile::open(folder.write("a.safetensors", little_endian(header.size()) + header + data));
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->copied_bytes(), 8);
  const TensorInfo* f = file->find("f");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(f->data) % 4, 0u);
  EXPECT_EQ(std::memcmp(f->data, values, sizeof values), 0);
  EXPECT_EQ(file->find("rest")->data, file->find("odd")->data + 9);
  EXPECT_EQ(file->find("absent"), nullptr);
}

TEST(Safetensors, WrittenFileReadsBackAlignedAndTheSameTwice) {
  const TestFolder folder;
  const std::uint8_t bytes[3] = {1, 2, 3};
  const float floats[2] = {0.5f, 7.0f};
  const std::uint16_t halves[1] = {0x3F80};
  const std::vector<TensorData> tensors = {{{"codes", DType::e4m3, {3}}, std::as_bytes(std::span(bytes))},
                                           {{"half\"s", DType::bf16, {1}}, std::as_bytes(std::span(halves))},
                                           {{"floats", DType::f32, {1, 2}}, std::as_bytes(std::span(floats))},
                                           {{"none", DType::f32, {0}}, {}}};
  ASSERT_TRUE(write_safetensors(folder.path() / "a", tensors).has_value());
  ASSERT_TRUE(write_safetensors(folder.path() / "b", tensors).has_value());
  EXPECT_EQ(text_of(folder.path() / "a"), text_of(folder.path() / "b"));
  const auto file = SafetensorsFile::open(folder.path() / "a");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->copied_bytes(), 0);
  EXPECT_EQ(file->tensors().size(), 4u);
  EXPECT_EQ(std::memcmp(file->find("codes")->data, bytes, 3), 0);
  EXPECT_EQ(std::memcmp(file->find("half\"s")->data, halves, 2), 0);
  EXPECT_EQ(std::memcmp(file->find("floats")->data, floats, 8), 0);
  EXPECT_EQ(file->find("floats")->shape, (std::vector<std::int64_t>{1, 2}));
}

TEST(Safetensors, UnwritablePlaceIsAnErrorWithThePath) {
  const TestFolder folder;
  const Status written = write_safetensors(folder.path() / "no" / "a", {});
  ASSERT_FALSE(written.has_value());
  EXPECT_NE(written.error().message.find("no/a"), std::string::npos);
}

}  // namespace
}  // namespace cachalot::safetensors_test
