// SPDX-License-Identifier: Apache-2.0
// What a verification found, and how it is shown: one line a case, one line a tensor when asked, one summary.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/tolerance.h"

namespace cachalot {

enum class Verdict { pass, shown, not_run, fail };  // shown: compared, but the tolerances judge it nowhere
const char* name(Verdict verdict);

struct Finding {
  std::string tensor;
  Verdict verdict = Verdict::pass;
  std::string error;    // what was found, or why it was not run
  std::string allowed;  // empty where nothing is judged
  double used = 0;      // error / tolerance
};

class CaseReport {
 public:
  explicit CaseReport(std::string name) : name_(std::move(name)) {}

  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  // Judged, or only shown.
  void compare(std::string_view tensor, std::span<const float> got, std::span<const float> want, const Tolerance& t,
               bool judged = true);
  // Rows of `width` whole numbers that must be equal; the first place that differs is named.
  void compare_numbers(std::string_view tensor, std::span<const std::int64_t> got, std::span<const std::int64_t> want,
                       std::int64_t width, bool judged = true);
  void fail(std::string_view tensor, std::string what) {
    add({std::string(tensor), Verdict::fail, std::move(what), {}});
  }
  void not_run(std::string_view tensor, std::string why) {
    add({std::string(tensor), Verdict::not_run, std::move(why), {}});
  }
  void set_present(std::int64_t tensors) { present_ = tensors; }

  const std::string& name() const { return name_; }
  std::span<const Finding> findings() const { return findings_; }
  Verdict verdict() const;        // the worst; a case of which a part was not run passes if the rest does
  std::int64_t compared() const;  // findings that compared something
  std::int64_t present() const { return present_; }
  const Finding* worst() const;  // what came nearest to its tolerance, or the first failure

 private:
  std::string name_;
  std::vector<Finding> findings_;
  std::int64_t present_ = 0;
};

struct ReportOptions {
  bool verbose = false;  // a line a tensor
  bool strict = false;   // `not run` fails too
  // Asked before every case: true leaves out those that are still to come.
  std::function<bool()> stopped = [] { return false; };
  // Told which case comes, "" when it is over.
  std::function<void(std::string_view)> progress = [](std::string_view) {};
};

// Counts cases and prints them as they come.
class Report {
 public:
  using Print = std::function<void(std::string_view line)>;

  Report(Print print, const ReportOptions& options) : print_(std::move(print)), options_(options) {}

  void add(const CaseReport& report);
  void note(std::string_view line) { print_(line); }
  bool stopped() const { return options_.stopped(); }
  void progress(std::string_view at) const { options_.progress(at); }
  // The summary line. True when at least one case ran and nothing failed.
  bool finish();

  std::int64_t failed() const { return failed_; }
  std::int64_t cases() const { return passed_ + failed_ + shown_; }

 private:
  Print print_;
  ReportOptions options_;
  std::int64_t passed_ = 0, failed_ = 0, shown_ = 0, not_run_ = 0;
  std::vector<std::string> failures_;
};

}  // namespace cachalot
