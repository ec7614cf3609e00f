// SPDX-License-Identifier: Apache-2.0
#include "verify/verify_ops.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "verify/cases/ops_cases.h"

namespace cachalot {
namespace {

constexpr std::array<OpsFamily, 11> families = {{{"candidates", true, verify_candidates},
                                                 {"expert_swiglu", true, verify_expert_swiglu},
                                                 {"formats", false, verify_formats},
                                                 {"gate_", true, verify_gate},
                                                 {"gemm", true, verify_gemm},
                                                 {"hc_sinkhorn", true, verify_hc_sinkhorn},
                                                 {"quant", true, verify_quant},
                                                 {"rms_norm", true, verify_rms_norm},
                                                 {"rope", true, verify_rope},
                                                 {"sparse_attn", true, verify_sparse_attn},
                                                 {"window_idxs", false, verify_window_idxs}}};

void run_file(const std::filesystem::path& path, const std::string& name, const OpsFamily& family,
              const Backend& backend, CaseReport& report) {
  auto golden = GoldenFile::open(path);
  if (!golden) {
    report.fail(name, golden.error().message);
    return;
  }
  OpsCase c{name, *golden, backend, report};
  if (Status done = family.run(c); !done) {
    report.fail(name, done.error().message);
    report.set_present(golden->count());
    return;
  }
  golden->close(report);
}

}  // namespace

std::optional<OpsFamily> family_of(std::string_view name) {
  const auto* at = std::ranges::find_if(families, [&](const OpsFamily& f) { return name.starts_with(f.prefix); });
  if (at == families.end()) return std::nullopt;
  return *at;
}

Status verify_ops(const std::filesystem::path& folder, std::span<const Backend* const> backends, Report& report) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (auto it = std::filesystem::directory_iterator(folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    files.push_back(it->path());
  }
  if (error) return fail(Errc::io, "{}: {}", folder.string(), error.message());
  std::ranges::sort(files);
  std::size_t done = 0;
  for (const std::filesystem::path& path : files) {
    if (report.stopped()) break;
    report.progress(fmt::format("{} ({} of {})", path.stem().string(), ++done, files.size()));
    const std::string name = path.stem().string();
    const auto family = family_of(name);
    if (path.extension() != ".safetensors" || !family) {
      CaseReport unknown(path.filename().string());
      unknown.fail("file", "not run: no operator case is named so");
      report.progress("");
      report.add(unknown);
      continue;
    }
    for (const Backend* backend : backends) {
      const bool shared = !family->per_backend;
      CaseReport one(fmt::format("{} {}", shared ? "shared" : backend->name, name));
      run_file(path, name, *family, *backend, one);
      report.progress("");
      report.add(one);
      if (shared) break;
    }
  }
  return {};
}

}  // namespace cachalot
