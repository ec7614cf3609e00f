// SPDX-License-Identifier: Apache-2.0
// A prompt under construction: text that remembers which part of it may be trusted (spec: chat-format.md 9).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace cachalot {

// A stretch of the prompt. Trusted: written by the format itself (its tokens and templates). Not trusted: came from a
// message, and may imitate a token.
struct Segment {
  bool trusted = false;
  std::string text;
  bool operator==(const Segment&) const = default;
};

class PromptText {
 public:
  // Each returns *this. Neighbours of one kind become one segment, and none is empty.
  PromptText& trusted(std::string_view text) { return add(true, text); }
  PromptText& text(std::string_view text) { return add(false, text); }
  PromptText& image(Json record);  // the image token, and what it stands for
  PromptText& append(const PromptText& other);

  bool empty() const { return segments_.empty(); }
  std::span<const Segment> segments() const { return segments_; }
  std::span<const Json> images() const { return images_; }  // one record per trusted image token, in order
  std::string joined() const;

 private:
  PromptText& add(bool trusted, std::string_view text);

  std::vector<Segment> segments_;
  std::vector<Json> images_;
};

}  // namespace cachalot
