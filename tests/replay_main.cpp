// SPDX-License-Identifier: Apache-2.0
// Stands in for libFuzzer where the compiler has none: gives the fuzz target an empty input, then every file of the
// folders named on the command line, then every file cut in half. A crash or a sanitizer's report fails the test.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
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

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerTestOneInput(nullptr, 0);
  int replayed = 0;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      std::fprintf(stderr, "%s: no such folder; a fuzz target needs at least one file of a good input there\n",
                   argv[i]);
      return 1;
    }
    for (const fs::path& file : files_in_order(argv[i])) {
      std::printf("%s\n", file.filename().c_str());
      std::fflush(stdout);  // so that the last line before a crash names the input
      const std::vector<std::uint8_t> whole = bytes_of(file);
      LLVMFuzzerTestOneInput(whole.data(), whole.size());
      const std::vector<std::uint8_t> half(whole.begin(),
                                           whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2));
      LLVMFuzzerTestOneInput(half.data(), half.size());
      ++replayed;
    }
  }
  std::printf("%d inputs replayed\n", replayed);
  return replayed > 0 ? 0 : 1;
}
