#include "pk/frontend/diagnostics.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace pk {

const std::vector<DiagnosticInfo>& diagnostic_catalogue() {
  static const std::vector<DiagnosticInfo> rows = [] {
    std::vector<DiagnosticInfo> list;
#define PK_DIAG(code_, name_, severity_, text_) list.push_back({code_, #name_, Severity::severity_, {}, text_});
#define PK_RUN_DIAG(code_, name_, severity_, class_, text_) \
  list.push_back({code_, #name_, Severity::severity_, class_, text_});
#include "pk/frontend/diagnostics/all.def"
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.code < b.code; });
    return list;
  }();
  return rows;
}

const DiagnosticInfo* find_diagnostic(int code) {
  for (const DiagnosticInfo& row : diagnostic_catalogue()) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

std::string code_name(int code) { return fmt::format("PK{:04}", code); }

DiagnosticBuilder& DiagnosticBuilder::at(std::string text) {
  if (d_ != nullptr) d_->span_label = std::move(text);
  return *this;
}

DiagnosticBuilder& DiagnosticBuilder::label(Span span, std::string message) {
  if (d_ != nullptr && span.valid()) d_->labels.push_back({span, std::move(message)});
  return *this;
}

DiagnosticBuilder& DiagnosticBuilder::note(std::string text) {
  if (d_ != nullptr) d_->notes.push_back(std::move(text));
  return *this;
}

DiagnosticBuilder& DiagnosticBuilder::help(std::string text) {
  if (d_ != nullptr) d_->help.push_back(std::move(text));
  return *this;
}

DiagnosticBuilder& DiagnosticBuilder::fix(std::string message, std::vector<Edit> edits) {
  if (d_ != nullptr) d_->fixes.push_back({std::move(message), std::move(edits)});
  return *this;
}

DiagnosticBuilder Diagnostics::add(Diagnostic d) {
  std::uint64_t key = std::hash<std::string>{}(d.message);
  for (const std::uint64_t part : {static_cast<std::uint64_t>(d.code), std::uint64_t{d.span.file.raw},
                                   std::uint64_t{d.span.begin}, std::uint64_t{d.span.end}}) {
    key = (key ^ part) * 0x9E3779B97F4A7C15U;
  }
  if (!seen_.insert(key).second) {
    dropped_ = std::move(d);
    return DiagnosticBuilder(&dropped_);
  }
  if (d.severity == Severity::error) ++errors_;
  list_.push_back(std::move(d));
  return DiagnosticBuilder(&list_.back());
}

std::vector<Diagnostic> Diagnostics::take() {
  errors_ = 0;
  seen_.clear();
  return std::exchange(list_, {});
}

void Diagnostics::sort() {
  std::stable_sort(list_.begin(), list_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.span.file.raw, a.span.begin) < std::pair(b.span.file.raw, b.span.begin);
  });
}

void internal_error(const char* file, int line, std::string_view what) {
  std::fprintf(stderr,
               "pk: internal error: %.*s (%s:%d)\n"
               "This is a fault of pk, not of your program. Please report it with the program and the command line.\n",
               static_cast<int>(what.size()), what.data(), file, line);
  std::abort();
}

}  // namespace pk
