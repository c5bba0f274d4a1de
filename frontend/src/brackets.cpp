#include "brackets.h"

#include <algorithm>
#include <optional>

namespace pk {
namespace {

using grammar::PkLexer;

bool is_open(std::size_t type) {
  return type == PkLexer::LPAREN || type == PkLexer::LBRACKET || type == PkLexer::LBRACE || type == PkLexer::LSET;
}
bool is_close(std::size_t type) {
  return type == PkLexer::RPAREN || type == PkLexer::RBRACKET || type == PkLexer::RBRACE;
}
bool matches(std::size_t open, std::size_t close) {
  switch (open) {
    case PkLexer::LPAREN:
      return close == PkLexer::RPAREN;
    case PkLexer::LBRACKET:
      return close == PkLexer::RBRACKET;
    default:
      return close == PkLexer::RBRACE;
  }
}

class Brackets {
 public:
  Brackets(const Sources& sources, FileId file, TokenList& tokens, Diagnostics& diags)
      : file_(file), text_(sources.text(file)), tokens_(tokens), diags_(diags) {}

  BracketCheck run() {
    for (at_ = 0; at_ < tokens_.size() && !check_.too_deep; ++at_) {
      advance_line();
      const std::size_t type = tokens_[at_]->getType();
      if (is_open(type)) {
        open(type);
      } else if (is_close(type)) {
        close(type);
      } else if (type == PkLexer::SEMI) {
        give_up_inner();
      } else if (type == PkLexer::LT && begins_generics(at_)) {
        tokens_[at_]->setType(PkLexer::LANGLE);
      }
    }
    if (!check_.too_deep) finish();
    return std::move(check_);
  }

 private:
  /// Offsets of a line and of the first token in it.
  struct Line {
    std::size_t start = 0;
    std::size_t first = 0;
  };
  struct Open {
    std::size_t token;
    bool block;  // a brace around statements: no other bracket contains a `;`
    Line line;
  };

  struct GivenUp {
    std::size_t token;
    std::size_t damage;  // index in check_.damage
  };
  static constexpr std::size_t none = ~std::size_t{0};

  [[nodiscard]] Span span(std::size_t token) const { return token_span(file_, *tokens_[token]); }
  [[nodiscard]] std::size_t type(std::size_t token) const {
    return token < tokens_.size() ? tokens_[token]->getType() : antlr4::Token::EOF;
  }

  void open(std::size_t type) {
    const bool brace = type == PkLexer::LBRACE;
    const bool is_union = brace && at_ > 0 && this->type(at_ - 1) == PkLexer::UNION && inside_list();
    const bool set = brace && !is_union && begins_set();
    const bool block = brace && !set && !is_union;
    if (set) tokens_[at_]->setType(PkLexer::LSET);
    if (block) give_up_inner();
    open_.push_back({at_, block, line_});
    if (static_cast<int>(open_.size()) <= max_bracket_depth) return;
    diags_.report<diag::nested_too_deeply>(span(at_), max_bracket_depth);
    check_.too_deep = true;
  }
  [[nodiscard]] bool inside_list() const { return !open_.empty() && !open_.back().block; }

  /// Whether the brace at at_ is that of a set: what stands before it wants an operand.
  [[nodiscard]] bool begins_set() const {
    if (at_ == 0) return false;
    switch (type(at_ - 1)) {
      case PkLexer::LPAREN:
      case PkLexer::LBRACKET:
      case PkLexer::LSET:
      case PkLexer::RETURN:
      case PkLexer::DOTDOT:
      case PkLexer::PLUSCOLON:
      case PkLexer::LANGLE:
      case PkLexer::IN:
        return true;
      case PkLexer::COMMA:
      case PkLexer::COLON:
        return inside_list();
      default:
        return type(at_ - 1) >= PkLexer::SHL_ASSIGN && type(at_ - 1) <= PkLexer::TILDE;  // operators
    }
  }

  void close(std::size_t type) {
    if (at_ > 0 && this->type(at_ - 1) == PkLexer::COMMA) tokens_[at_ - 1]->setType(PkLexer::LAST_COMMA);
    const std::size_t partner = find_partner(type);
    if (partner < open_.size()) {
      give_up_above(partner);
      note_indentation();
      open_.pop_back();
    } else if (!forgive(type)) {
      check_.damage.push_back({at_, at_, at_, open_.empty() ? none : open_.back().token});
    }
  }
  /// Index in open_ of what this bracket closes: within the innermost block. open_.size() if there is nothing.
  [[nodiscard]] std::size_t find_partner(std::size_t type) const {
    for (std::size_t i = open_.size(); i-- > 0;) {
      if (matches(this->type(open_[i].token), type)) return i;
      if (open_[i].block) break;
    }
    return open_.size();
  }

  /// Gives up what is open inside the innermost block: where a statement ends or a block begins, it should be closed.
  void give_up_inner() {
    std::size_t i = open_.size();
    while (i > 0 && !open_[i - 1].block) --i;
    if (i < open_.size()) give_up(i);
  }
  void give_up_above(std::size_t i) {
    if (i + 1 < open_.size()) give_up(i + 1);
  }
  void give_up(std::size_t outermost) {
    const std::size_t first = open_[outermost].token;
    check_.damage.push_back({first, at_, first, at_});
    for (std::size_t i = outermost; i < open_.size(); ++i)
      given_up_.push_back({open_[i].token, check_.damage.size() - 1});
    open_.resize(outermost);
  }
  /// A bracket that was given up may be closed later all the same.
  bool forgive(std::size_t type) {
    if (given_up_.empty() || !matches(this->type(given_up_.back().token), type)) return false;
    check_.damage[given_up_.back().damage].last = at_;
    given_up_.pop_back();
    return true;
  }

  /// A brace that is closed further left than its line begins has probably lost its own partner.
  void note_indentation() {
    const Open& open = open_.back();
    const bool first_in_line = tokens_[at_]->getStartIndex() == line_.first;
    if (suspect_ || !open.block || !first_in_line || open.line.start == line_.start) return;
    if (open.line.first - open.line.start > line_.first - line_.start) suspect_ = open.token;
  }
  /// Keeps line_ at the line of the current token.
  void advance_line() {
    const std::size_t begin = tokens_[at_]->getStartIndex();
    const std::size_t previous_end = at_ == 0 ? 0 : tokens_[at_ - 1]->getStopIndex() + 1;
    const std::size_t line_end = text_.substr(previous_end, begin - previous_end).rfind('\n');
    if (line_end == std::string_view::npos) return;
    line_.start = previous_end + line_end + 1;
    line_.first = begin;
  }

  void finish() {
    if (!open_.empty()) {
      const std::size_t end = tokens_.size();
      const Open& outermost = open_.front();
      const std::size_t culprit = suspect_.value_or(outermost.token);
      check_.damage.push_back({culprit, end, culprit, end - 1});
    }
    std::stable_sort(check_.damage.begin(), check_.damage.end(),
                     [](const auto& a, const auto& b) { return a.last < b.last; });
  }

  /// Whether the `<` at `i` is closed by a `>` before a `(`, with nothing in between that generics cannot have.
  [[nodiscard]] bool begins_generics(std::size_t i) const {
    if (i == 0) return false;
    if (i > 1 && (type(i - 2) == PkLexer::KERNEL || type(i - 2) == PkLexer::FN || type(i - 2) == PkLexer::LAUNCH))
      return true;
    if (type(i - 1) != PkLexer::ID && !(type(i - 1) >= PkLexer::ACC && type(i - 1) <= PkLexer::WG)) return false;
    int depth = 0;
    for (++i; i < tokens_.size(); ++i) {
      const std::size_t t = type(i);
      if (is_open(t)) ++depth;
      if (is_close(t) && --depth < 0) return false;
      if (t == PkLexer::SEMI) return false;
      if (depth > 0) continue;
      if (t == PkLexer::GT) return type(i + 1) == PkLexer::LPAREN;
      const bool allowed = t == PkLexer::COMMA || t == PkLexer::ASSIGN || t == PkLexer::DOT || t == PkLexer::RPAREN ||
                           t == PkLexer::RBRACKET || (t >= PkLexer::PLUS && t <= PkLexer::PERCENT) ||
                           t == PkLexer::AS || t == PkLexer::INT || t == PkLexer::FLOAT || t == PkLexer::ID ||
                           t == PkLexer::TRUE || t == PkLexer::FALSE || (t >= PkLexer::ACC && t <= PkLexer::WG);
      if (!allowed) return false;
    }
    return false;
  }

  FileId file_;
  std::string_view text_;
  TokenList& tokens_;
  Diagnostics& diags_;
  BracketCheck check_;
  std::vector<Open> open_;
  std::vector<GivenUp> given_up_;
  std::optional<std::size_t> suspect_;  // a brace that has probably no partner
  std::size_t at_ = 0;
  Line line_;
};

}  // namespace

BracketDamage* BracketCheck::find(std::size_t token) {
  // Ranges seldom overlap; a few steps beyond the first candidate find what there is.
  auto candidate =
      std::lower_bound(damage.begin(), damage.end(), token, [](const auto& d, std::size_t t) { return d.last < t; });
  for (int steps = 0; candidate != damage.end() && steps < 8; ++candidate, ++steps) {
    if (candidate->first <= token) return &*candidate;
  }
  return nullptr;
}

BracketCheck check_brackets(const Sources& sources, FileId file, TokenList& tokens, Diagnostics& diags) {
  return Brackets(sources, file, tokens, diags).run();
}

}  // namespace pk
