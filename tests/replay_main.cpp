// SPDX-License-Identifier: Apache-2.0
// Stands in for libFuzzer where the compiler has none: gives the fuzz target an empty input, then every file of the
// folders named on the command line, then every file cut in half, then mutants of them: the same ones in every run. A
// crash or a sanitizer's report fails the test; the last line before it says which input it was. Usage: MUTANTS
// FOLDER...
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in_order(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::uint8_t> bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

using Bytes = std::vector<std::uint8_t>;

// A few small mistakes of the kinds that files get: bits, bytes, parts lost, doubled, or taken from another file.
Bytes mutant(Bytes bytes, const Bytes& other, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  const auto place = [&](const Bytes& b) { return static_cast<std::ptrdiff_t>(below(b.size())); };
  for (std::size_t edits = 1 + below(6); edits > 0 && !bytes.empty(); --edits) {
    const std::ptrdiff_t at = place(bytes);
    const auto few = static_cast<std::ptrdiff_t>(1 + below(32));
    const std::ptrdiff_t end = std::min(at + few, std::ssize(bytes));
    switch (below(6)) {
      case 0:
        bytes[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:
        bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random());
        break;
      case 2:
        bytes.erase(bytes.begin() + at, bytes.begin() + end);
        break;
      case 3: {
        const Bytes part(bytes.begin() + at, bytes.begin() + end);
        bytes.insert(bytes.begin() + place(bytes), part.begin(), part.end());
        break;
      }
      case 4: {
        const std::ptrdiff_t from = place(other);
        bytes.insert(bytes.begin() + at, other.begin() + from, other.begin() + std::min(from + few, std::ssize(other)));
        break;
      }
      default: {
        constexpr std::uint8_t telling[] = {'0', '9', '-', '"', '{', '}', '[', ']', ',', ':', 0x00, 0x7F, 0x80, 0xFF};
        bytes[static_cast<std::size_t>(at)] = telling[below(std::size(telling))];
      }
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const int mutants = argc > 1 ? std::atoi(argv[1]) : 0;
  LLVMFuzzerTestOneInput(nullptr, 0);
  std::vector<Bytes> inputs;
  for (int i = 2; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      std::fprintf(stderr, "%s: no such folder; a fuzz target needs at least one file of a good input there\n",
                   argv[i]);
      return 1;
    }
    for (const fs::path& file : files_in_order(argv[i])) {
      std::printf("%s\n", file.filename().c_str());
      std::fflush(stdout);  // so that the last line before a crash names the input
      const Bytes& whole = inputs.emplace_back(bytes_of(file));
      LLVMFuzzerTestOneInput(whole.data(), whole.size());
      const Bytes half(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2));
      LLVMFuzzerTestOneInput(half.data(), half.size());
    }
  }
  if (inputs.empty()) return 1;
  std::mt19937 random(1);
  for (int i = 0; i < mutants; ++i) {
    const Bytes& first = inputs[random() % inputs.size()];
    const Bytes input = mutant(first, inputs[random() % inputs.size()], random);
    std::printf("mutant %d\n", i);
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu inputs and %d mutants\n", inputs.size(), mutants);
  return 0;
}
