#include "split_items.h"

#include <algorithm>
#include <array>

namespace pk {
namespace {

using grammar::PkLexer;

constexpr std::array<std::string_view, 6> item_words = {"import", "const", "mesh", "fn", "kernel", "test"};

/// Number of single-letter changes between two short words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

class Splitter {
 public:
  Splitter(const Sources& sources, FileId file, TokenList tokens, Diagnostics& diags)
      : sources_(sources), file_(file), text_(sources.text(file)), tokens_(std::move(tokens)), diags_(diags) {}

  std::vector<ItemTokens> run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      if (tokens_[at_]->getChannel() == antlr4::Token::DEFAULT_CHANNEL) {
        token();
      } else {
        comment();
      }
    }
    return std::move(items_);
  }

 private:
  /// Collects the `///` lines that stand outside items.
  void comment() {
    const std::string_view text = sources_.text(token_span(file_, *tokens_[at_]));
    if (!between_items() || !text.starts_with("///")) return;
    doc_ += text.substr(text.starts_with("/// ") ? 4 : 3);
    if (doc_.ends_with('\r')) doc_.pop_back();
    doc_ += '\n';
  }

  void token() {
    const std::size_t type = tokens_[at_]->getType();
    if (begins_item(type)) {
      items_.push_back({{}, std::move(doc_)});
      doc_.clear();
      depth_ = 0;
      outside_ = false;
    } else if (between_items()) {
      if (!outside_) report_outside();
      outside_ = true;
    }
    if (outside_) return;
    if (type == PkLexer::LPAREN || type == PkLexer::LBRACKET || type == PkLexer::LBRACE) ++depth_;
    if (type == PkLexer::RPAREN || type == PkLexer::RBRACKET || type == PkLexer::RBRACE) --depth_;
    items_.back().tokens.push_back(std::move(tokens_[at_]));
  }

  /// Whether the current item is complete.
  [[nodiscard]] bool between_items() const {
    if (items_.empty() || outside_) return true;
    const std::size_t last = items_.back().tokens.back()->getType();
    return depth_ <= 0 && (last == PkLexer::RBRACE || last == PkLexer::SEMI);
  }

  /// Words that cannot be anything else begin an item outside brackets, and everywhere at the start of a line. The other ones
  /// also stand within items.
  [[nodiscard]] bool begins_item(std::size_t type) const {
    const bool fresh_line = starts_line();
    const bool between = between_items() && (!outside_ || fresh_line);
    switch (type) {
      case PkLexer::KERNEL: case PkLexer::FN: case PkLexer::IMPORT: return between || fresh_line || (depth_ <= 0 && !outside_);
      case PkLexer::CONST: return between;
      case PkLexer::MESH: case PkLexer::TEST: return (between || fresh_line) && followed_by_name() && (between || !in_head());
      default: return false;
    }
  }
  [[nodiscard]] bool starts_line() const {
    const std::size_t begin = tokens_[at_]->getStartIndex();
    return begin == 0 || text_[begin - 1] == '\n';
  }
  [[nodiscard]] bool followed_by_name() const {
    const auto next = std::find_if(tokens_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, tokens_.end(), [](const auto& t) {
      return t->getChannel() == antlr4::Token::DEFAULT_CHANNEL;
    });
    if (next == tokens_.end()) return false;
    const char first = text_[(*next)->getStartIndex()];
    return first == '_' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  }
  /// Whether the current item is a kernel whose body has not begun: `mesh Name(…)` is its placement.
  [[nodiscard]] bool in_head() const {
    const TokenList& tokens = items_.back().tokens;
    return depth_ <= 0 && tokens.front()->getType() == PkLexer::KERNEL && tokens.back()->getType() != PkLexer::RBRACE;
  }

  void report_outside() {
    const Span at = token_span(file_, *tokens_[at_]);
    const std::string_view word = sources_.text(at);
    if (word == "}" || word == ")" || word == "]") {
      diags_.report<diag::unmatched_bracket>(at, word);
      return;
    }
    auto report = diags_.report<diag::syntax_error>(at, fmt::format("expected an item, found `{}`", word));
    report.help("a file consists of `import`, `const`, `mesh`, `fn`, `kernel` and `test` items");
    for (const std::string_view candidate : item_words) {
      if (word.size() > 12 || edit_distance(word, candidate) > (candidate.size() > 3 ? 2 : 1)) continue;
      report.fix(fmt::format("write `{}`", candidate), {{at, std::string(candidate)}});
      return;
    }
  }

  const Sources& sources_;
  FileId file_;
  std::string_view text_;
  TokenList tokens_;
  Diagnostics& diags_;
  std::vector<ItemTokens> items_;
  std::string doc_;
  std::size_t at_ = 0;
  int depth_ = 0;          // of open brackets in the current item
  bool outside_ = false;   // skipping text that belongs to no item
};

}  // namespace

std::vector<ItemTokens> split_items(const Sources& sources, FileId file, TokenList tokens, Diagnostics& diags) {
  return Splitter(sources, file, std::move(tokens), diags).run();
}

}  // namespace pk
