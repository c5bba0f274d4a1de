#pragma once
// The diagnostics engine: typed catalogue rows in, plain Diagnostic values out. Rendering is in render.h.
//
//   diags.report<diag::divergent_scope>(scope.span, axis.name)       // a row of diagnostics/*.def
//        .label(branch.span, "only thread 0 of `w` takes this branch")
//        .note("entering a collective scope waits for every thread of the axis")
//        .help("open the scope above the `if`")
//        .fix("open the scope above the `if`", {{insert_at, "…"}});

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pk/frontend/source.h"

namespace pk {

enum class Severity : std::uint8_t { error, warning, remark };

struct Label {
  Span span;
  std::string message;
};

/// Replaces the text of `span` (an empty span inserts).
struct Edit {
  Span span;
  std::string text;
};

/// A repair that a tool can apply; `message` says what it does.
struct Fix {
  std::string message;
  std::vector<Edit> edits;
};

struct Diagnostic {
  int code = 0;  ///< printed as PK0307
  Severity severity = Severity::error;
  std::string_view run_class;  ///< "race", "deadlock", …: run-time diagnostics only, else empty
  std::string message;         ///< lower case, no full stop, names the user's own things in backticks
  Span span;                   ///< primary; invalid when there is no place (a missing file)
  std::string span_label;      ///< text under the carets; may be empty
  std::vector<Label> labels;   ///< secondary places
  std::vector<std::string> notes;
  std::vector<std::string> help;
  std::vector<Fix> fixes;
};

/// Facts of one catalogue row, by code. See diagnostics/*.def.
struct DiagnosticInfo {
  int code;
  std::string_view name;
  Severity severity;
  std::string_view run_class;
  std::string_view text;
};

/// Rows in order of code.
[[nodiscard]] const std::vector<DiagnosticInfo>& diagnostic_catalogue();
[[nodiscard]] const DiagnosticInfo* find_diagnostic(int code);
/// "PK0307"
[[nodiscard]] std::string code_name(int code);

namespace diag {
/// Number of `{}` holes in a catalogue text.
consteval int count_holes(std::string_view text) {
  int holes = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '{' && text[i + 1] == '}') ++holes;
  }
  return holes;
}

// PK_DIAG(code, name, severity, text): compile-time diagnostic.
// PK_RUN_DIAG(code, name, severity, class, text): run-time diagnostic with its class.
#define PK_DIAG(code_, name_, severity_, text_)               \
  struct name_ {                                              \
    static constexpr int code = code_;                        \
    static constexpr Severity severity = Severity::severity_; \
    static constexpr std::string_view run_class{};            \
    static constexpr std::string_view text = text_;           \
    static constexpr int holes = count_holes(text_);          \
  };
#define PK_RUN_DIAG(code_, name_, severity_, class_, text_)   \
  struct name_ {                                              \
    static constexpr int code = code_;                        \
    static constexpr Severity severity = Severity::severity_; \
    static constexpr std::string_view run_class = class_;     \
    static constexpr std::string_view text = text_;           \
    static constexpr int holes = count_holes(text_);          \
  };
#include "pk/frontend/diagnostics/all.def"
}  // namespace diag

/// Builds a Diagnostic from row `D`; the arguments fill the row's holes.
template <class D, class... Args>
[[nodiscard]] Diagnostic make_diagnostic(Span span, const Args&... args) {
  static_assert(D::holes == sizeof...(Args), "one argument per {} of the catalogue text");
  Diagnostic d;
  d.code = D::code;
  d.severity = D::severity;
  d.run_class = D::run_class;
  d.message = fmt::format(fmt::runtime(D::text), args...);
  d.span = span;
  return d;
}

/// Refers to a diagnostic just reported, to add to it. Valid until the next report.
class DiagnosticBuilder {
 public:
  explicit DiagnosticBuilder(Diagnostic* d) : d_(d) {}
  DiagnosticBuilder& at(std::string text);  ///< text under the primary carets
  DiagnosticBuilder& label(Span span, std::string message);
  DiagnosticBuilder& note(std::string text);
  DiagnosticBuilder& help(std::string text);
  DiagnosticBuilder& fix(std::string message, std::vector<Edit> edits);

 private:
  Diagnostic* d_;  // null for a report that nobody will see
};

/// Collects diagnostics. One mistake, one error: a second diagnostic of the same code, span and message is dropped.
class Diagnostics {
 public:
  template <class D, class... Args>
  DiagnosticBuilder report(Span span, const Args&... args) {
    return add(make_diagnostic<D>(span, args...));
  }
  DiagnosticBuilder add(Diagnostic d);

  [[nodiscard]] const std::vector<Diagnostic>& all() const { return list_; }
  [[nodiscard]] bool has_errors() const { return errors_ > 0; }
  [[nodiscard]] int error_count() const { return errors_; }
  [[nodiscard]] std::vector<Diagnostic> take();
  /// Sorts by file and position (stable); call before rendering.
  void sort();

 private:
  std::vector<Diagnostic> list_;
  std::unordered_set<std::uint64_t> seen_;  // hashes of what was reported, for dropping duplicates
  Diagnostic dropped_;
  int errors_ = 0;
};

/// Stops with a report of a mistake in pk itself, in every build: what, where, and how to report it.
[[noreturn]] void internal_error(const char* file, int line, std::string_view what);
#define PK_CHECK(condition, what)                                       \
  do {                                                                  \
    if (!(condition)) ::pk::internal_error(__FILE__, __LINE__, (what)); \
  } while (false)

/// A value, or what went wrong outside the program (a file, the driver, a tool).
struct Error {
  int code = 0;         ///< a catalogue code, or 0
  std::string message;  ///< what happened and to what
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}
  [[nodiscard]] explicit operator bool() const { return value_.has_value(); }
  [[nodiscard]] T& operator*() { return *value_; }
  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] T* operator->() { return &*value_; }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

}  // namespace pk
