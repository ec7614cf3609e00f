// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/prompt_text.h"

#include "tokenizer/chat/format_text.h"

namespace cachalot {

PromptText& PromptText::image(Json record) {
  images_.push_back(std::move(record));
  return trusted(image_token);
}

PromptText& PromptText::append(const PromptText& other) {
  for (const Segment& segment : other.segments_) add(segment.trusted, segment.text);
  images_.insert(images_.end(), other.images_.begin(), other.images_.end());
  return *this;
}

std::string PromptText::joined() const {
  std::string all;
  for (const Segment& segment : segments_) all += segment.text;
  return all;
}

PromptText& PromptText::add(bool trusted, std::string_view text) {
  if (text.empty()) return *this;
  if (segments_.empty() || segments_.back().trusted != trusted) segments_.push_back({trusted, {}});
  segments_.back().text += text;
  return *this;
}

}  // namespace cachalot
