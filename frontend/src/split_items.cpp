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
      open_.clear();
      after_ = After::nothing;
    } else if (after_ == After::nothing && complete()) {
      // Text in the first column is a mistyped item. Elsewhere it rather belongs to the item before, which ends too
      // early.
      const bool own = items_.empty() || (starts_line() && !is_close(type));
      after_ = own ? After::foreign_text : After::own_text;
      if (own) report_outside_item(token_span(file_, *tokens_[at_]), sources_, diags_);
    }
    if (after_ == After::foreign_text) return;
    bracket(type);
    items_.back().tokens.push_back(std::move(tokens_[at_]));
  }

  static bool is_close(std::size_t type) {
    return type == PkLexer::RPAREN || type == PkLexer::RBRACKET || type == PkLexer::RBRACE;
  }
  /// Keeps open_ up to date: a `;` closes all but braces, a closing bracket what is in the way, if it has a partner.
  void bracket(std::size_t type) {
    const auto pop_to = [this](std::size_t open) {
      const auto partner = std::find(open_.rbegin(), open_.rend(), open);
      if (partner == open_.rend()) return;
      const bool beyond_brace = std::find(open_.rbegin(), partner, PkLexer::LBRACE) != partner;
      if (!beyond_brace) open_.erase(partner.base() - 1, open_.end());
    };
    switch (type) {
      case PkLexer::LPAREN:
      case PkLexer::LBRACKET:
      case PkLexer::LBRACE:
        open_.push_back(type);
        break;
      case PkLexer::RPAREN:
        pop_to(PkLexer::LPAREN);
        break;
      case PkLexer::RBRACKET:
        pop_to(PkLexer::LBRACKET);
        break;
      case PkLexer::RBRACE:
        pop_to(PkLexer::LBRACE);
        break;
      case PkLexer::SEMI:
        while (!open_.empty() && open_.back() != PkLexer::LBRACE) open_.pop_back();
        break;
      default:
        break;
    }
  }

  /// Whether the current item has its last token.
  [[nodiscard]] bool complete() const {
    if (items_.empty()) return true;
    const std::size_t last = items_.back().tokens.back()->getType();
    return open_.empty() && (last == PkLexer::RBRACE || last == PkLexer::SEMI);
  }
  [[nodiscard]] bool between_items() const { return after_ != After::nothing || complete(); }

  /// Words that cannot be anything else begin an item outside brackets, and everywhere at the start of a line. The
  /// other ones also stand within items.
  [[nodiscard]] bool begins_item(std::size_t type) const {
    const bool fresh_line = starts_line();
    const bool between = after_ == After::nothing ? complete() : fresh_line;
    switch (type) {
      case PkLexer::KERNEL:
      case PkLexer::FN:
      case PkLexer::IMPORT:
        return between || fresh_line || (open_.empty() && after_ == After::nothing);
      case PkLexer::CONST:
        return between;
      case PkLexer::MESH:
      case PkLexer::TEST:
        return (between || fresh_line) && followed_by_name() && (between || !in_head());
      default:
        return false;
    }
  }
  [[nodiscard]] bool starts_line() const {
    const std::size_t begin = tokens_[at_]->getStartIndex();
    return begin == 0 || text_[begin - 1] == '\n';
  }
  [[nodiscard]] bool followed_by_name() const {
    const auto next = std::find_if(tokens_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, tokens_.end(),
                                   [](const auto& t) { return t->getChannel() == antlr4::Token::DEFAULT_CHANNEL; });
    if (next == tokens_.end()) return false;
    const char first = text_[(*next)->getStartIndex()];
    return first == '_' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  }
  /// Whether the current item is a kernel whose body has not begun: `mesh Name(…)` is its placement.
  [[nodiscard]] bool in_head() const {
    const TokenList& tokens = items_.back().tokens;
    return open_.empty() && tokens.front()->getType() == PkLexer::KERNEL && tokens.back()->getType() != PkLexer::RBRACE;
  }

  const Sources& sources_;
  FileId file_;
  std::string_view text_;
  TokenList tokens_;
  Diagnostics& diags_;
  std::vector<ItemTokens> items_;
  std::string doc_;
  std::size_t at_ = 0;
  std::vector<std::size_t> open_;  // brackets of the current item
  /// Text behind the end of the current item.
  enum class After : std::uint8_t { nothing, own_text, foreign_text };
  After after_ = After::nothing;
};

}  // namespace

void report_outside_item(Span at, const Sources& sources, Diagnostics& diags) {
  const std::string_view word = sources.text(at);
  if (word == "}" || word == ")" || word == "]") {
    diags.report<diag::unmatched_bracket>(at, word);
    return;
  }
  auto report = diags.report<diag::syntax_error>(at, fmt::format("expected an item, found `{}`", word));
  report.help("a file consists of `import`, `const`, `mesh`, `fn`, `kernel` and `test` items");
  for (const std::string_view candidate : item_words) {
    if (word.size() > 12 || edit_distance(word, candidate) > (candidate.size() > 3 ? 2 : 1)) continue;
    report.fix(fmt::format("write `{}`", candidate), {{at, std::string(candidate)}});
    return;
  }
}

std::vector<ItemTokens> split_items(const Sources& sources, FileId file, TokenList tokens, Diagnostics& diags) {
  return Splitter(sources, file, std::move(tokens), diags).run();
}

}  // namespace pk
