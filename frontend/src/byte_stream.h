#pragma once
// An ANTLR character stream over bytes, so that token positions are byte offsets into the source.

#include <antlr4-runtime.h>

#include <string_view>

namespace pk {

class ByteStream final : public antlr4::CharStream {
 public:
  explicit ByteStream(std::string_view text) : text_(text) {}

  void consume() override { ++at_; }
  std::size_t LA(ssize_t i) override {
    const auto place = static_cast<ssize_t>(at_) + (i > 0 ? i - 1 : i);
    if (place < 0 || place >= static_cast<ssize_t>(text_.size())) return antlr4::IntStream::EOF;
    return static_cast<unsigned char>(text_[static_cast<std::size_t>(place)]);
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  std::size_t index() override { return at_; }
  void seek(std::size_t to) override { at_ = to; }
  std::size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return {}; }
  std::string getText(const antlr4::misc::Interval& interval) override {
    const auto begin = static_cast<std::size_t>(interval.a);
    if (begin >= text_.size()) return {};
    return std::string(text_.substr(begin, static_cast<std::size_t>(interval.b) + 1 - begin));
  }
  std::string toString() const override { return std::string(text_); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace pk
