#include "syntax_errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "split_items.h"

namespace pk {
namespace {

using antlr4::misc::IntervalSet;
using grammar::PkParser;

bool has(const IntervalSet& set, std::size_t type) { return set.contains(static_cast<ssize_t>(type)); }

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

/// Tokens that go on with an expression that could as well end: not worth naming beside what must come.
bool continues_expression(std::size_t type) {
  switch (type) {
    case PkParser::DOT:
    case PkParser::LBRACKET:
    case PkParser::LPAREN:
    case PkParser::LANGLE:
    case PkParser::AS:
      return true;
    default:
      return type >= PkParser::SHL && type <= PkParser::TILDE && type != PkParser::ASSIGN && type != PkParser::GT;
  }
}
bool is_word(std::size_t type) {
  return type == PkParser::MESH || type == PkParser::TEST || (type >= PkParser::ACC && type <= PkParser::WG);
}

/// What may stand at a place, in the words of a user.
std::string describe(const PkParser& parser, const IntervalSet& wanted) {
  std::vector<std::string> out;
  const bool expression = has(wanted, PkParser::INT);
  const bool statement = has(wanted, PkParser::LET);
  const bool name = has(wanted, PkParser::ID);
  const bool operators = has(wanted, PkParser::PLUS);
  const bool block = has(wanted, PkParser::LBRACE);
  if (statement) return "a statement";
  if (expression) {
    out.emplace_back("an expression");
  } else if (name) {
    out.emplace_back("a name");
  }
  for (const ssize_t element : wanted.toList()) {
    const auto type = static_cast<std::size_t>(element);
    if (element < 0 || type == PkParser::ID) continue;
    if (expression && (type == PkParser::LPAREN || type == PkParser::LBRACKET || type == PkParser::LAUNCH)) continue;
    if ((name || expression) && is_word(type)) continue;
    if ((operators || expression) && continues_expression(type)) continue;
    if (operators && type == PkParser::GT && !has(wanted, PkParser::LAST_COMMA)) continue;
    if (type >= PkParser::SHL_ASSIGN && type <= PkParser::XOR_ASSIGN && type != PkParser::SHL) continue;
    const std::string literal = parser.getVocabulary().getLiteralName(type);
    const bool keyword_expression =
        expression && !literal.empty() && literal.size() > 3 && literal[1] >= 'a' && literal[1] <= 'z';
    if (literal.empty() || keyword_expression) continue;
    out.push_back(fmt::format("`{}`", std::string_view(literal).substr(1, literal.size() - 2)));
  }
  if (out.empty() && operators) return "an operator";
  if (block && out.size() > 3) return "`{`";
  return out.size() > 5 ? std::string() : join(out);
}

}  // namespace

void ErrorStrategy::sync(antlr4::Parser* parser) {
  const std::size_t here = parser->getCurrentToken()->getTokenIndex();
  if (here != synced_token_) {
    synced_token_ = here;
    synced_state_ = parser->getState();
    synced_context_ = parser->getContext();
  }
  if (parser->getContext()->getRuleIndex() != PkParser::RuleBlock) return;
  // In a block, whatever begins no statement is skipped here: once the loop over statements is left there is no way
  // back.
  const antlr4::atn::ATN& atn = parser->getATN();
  const IntervalSet& next = atn.nextTokens(atn.states[parser->getState()]);
  const auto at_end = [&] { return parser->getCurrentToken()->getType() == antlr4::Token::EOF; };
  while (!at_end() && !has(next, parser->getCurrentToken()->getType())) {
    const std::size_t start = parser->getCurrentToken()->getTokenIndex();
    reportError(parser, antlr4::InputMismatchException(parser));
    skip_statement(*parser, start);
    if (parser->getCurrentToken()->getTokenIndex() == start) parser->consume();
  }
}

antlr4::Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) { throw antlr4::InputMismatchException(parser); }

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
  if (inErrorRecoveryMode(parser)) return;
  beginErrorCondition(parser);
  semicolon_missing_ = block_expected_ = false;
  report(*parser, *e.getOffendingToken());
}

void ErrorStrategy::recover(antlr4::Parser* parser, std::exception_ptr e) {
  antlr4::ParserRuleContext& context = *parser->getContext();
  const std::size_t start = context.getStart()->getTokenIndex();
  switch (context.getRuleIndex()) {
    case PkParser::RuleStmt:
      if (!semicolon_missing_) skip_statement(*parser, start);
      if (block_expected_ && parser->getCurrentToken()->getType() != PkParser::LBRACE) braces_lost_ = true;
      break;
    case PkParser::RuleArm:
      skip_arm(*parser, start);
      braces_lost_ = true;
      break;
    case PkParser::RuleBlock:
      if (context.children.empty()) std::rethrow_exception(e);
      return;  // the closing brace is missing
    case PkParser::RuleItem:
    case PkParser::RuleFile:
      while (parser->getCurrentToken()->getType() != antlr4::Token::EOF) parser->consume();
      break;
    default:
      std::rethrow_exception(e);
  }
  semicolon_missing_ = false;
  endErrorCondition(parser);
}

/// Goes behind the statement that begins at token `start`: its semicolon, or before the block that belongs to it, which
/// is read as a block of its own, or before the brace that ends the block around it.
void ErrorStrategy::skip_statement(antlr4::Parser& parser, std::size_t start) {
  const int depth = brace_depth(parser, start);
  const bool arms = parser.getTokenStream()->get(start)->getType() == PkParser::SPECIALIZE;
  for (;; parser.consume()) {
    const antlr4::Token& token = *parser.getCurrentToken();
    const std::size_t type = token.getType();
    if (type == antlr4::Token::EOF) return;
    if (brace_depth(parser, token.getTokenIndex()) > depth) {
      // Inside the arms of a `specialize`: leave with the brace that closes them.
      const bool last = type == PkParser::RBRACE && brace_depth(parser, token.getTokenIndex() + 1) == depth;
      if (!last || !arms) continue;
      parser.consume();
      return;
    }
    if (type == PkParser::RBRACE) return;
    if (type == PkParser::LBRACE && !arms && token.getTokenIndex() != start) return;
    if (type == PkParser::SEMI) {
      parser.consume();
      return;
    }
  }
}

/// Goes behind the block of the arm that begins at token `start`, or before the brace that ends the arms.
void ErrorStrategy::skip_arm(antlr4::Parser& parser, std::size_t start) {
  const int depth = brace_depth(parser, start);
  for (;; parser.consume()) {
    const antlr4::Token& token = *parser.getCurrentToken();
    if (token.getType() == antlr4::Token::EOF) return;
    if (token.getType() != PkParser::RBRACE) continue;
    const int here = brace_depth(parser, token.getTokenIndex());
    if (here <= depth) return;
    if (here == depth + 1) break;
  }
  parser.consume();
  if (parser.getCurrentToken()->getType() == PkParser::COMMA ||
      parser.getCurrentToken()->getType() == PkParser::LAST_COMMA)
    parser.consume();
}

int ErrorStrategy::brace_depth(antlr4::Parser& parser, std::size_t token) {
  if (depths_.empty()) {
    auto& stream = *dynamic_cast<antlr4::BufferedTokenStream*>(parser.getTokenStream());
    int depth = 0;
    for (const antlr4::Token* t : stream.getTokens()) {
      depths_.push_back(depth);
      if (t->getType() == PkParser::LBRACE) ++depth;
      if (t->getType() == PkParser::RBRACE) --depth;
    }
  }
  return token < depths_.size() ? depths_[token] : depths_.back();
}

void ErrorStrategy::finish(antlr4::Parser& parser) {
  if (reported_) return;
  for (const BracketDamage& damage : brackets_.damage) report_damage(parser, damage);
}

/// Whether the error at `token` comes from brackets; then that is what is reported, once.
bool ErrorStrategy::report_brackets(antlr4::Parser& parser, std::size_t token) {
  BracketDamage* damage = brackets_.find(token);
  if (damage == nullptr) return false;
  if (!damage->reported) report_damage(parser, *damage);
  damage->reported = true;
  if (parser.getTokenStream()->get(damage->culprit)->getType() == PkParser::LBRACE) braces_lost_ = true;
  return true;
}

void ErrorStrategy::report_damage(antlr4::Parser& parser, const BracketDamage& damage) {
  antlr4::TokenStream& tokens = *parser.getTokenStream();
  const auto place = [&](std::size_t token) { return token_span(file_, *tokens.get(token)); };
  const antlr4::Token& culprit = *tokens.get(damage.culprit);
  if (culprit.getType() == PkParser::RPAREN || culprit.getType() == PkParser::RBRACKET ||
      culprit.getType() == PkParser::RBRACE) {
    auto report = diags_.report<diag::unmatched_bracket>(token_span(file_, culprit), culprit.getText());
    if (damage.witness < tokens.size())
      report.label(place(damage.witness), fmt::format("`{}` is still open", tokens.get(damage.witness)->getText()));
    return;
  }
  diags_.report<diag::unclosed_bracket>(token_span(file_, culprit), culprit.getText())
      .label(place(damage.witness),
             damage.last + 1 == tokens.size() ? "the item ends here" : "it should be closed before this");
}

IntervalSet ErrorStrategy::expected(antlr4::Parser& parser) const {
  if (parser.getCurrentToken()->getTokenIndex() != synced_token_) return parser.getExpectedTokens();
  return parser.getATN().getExpectedTokens(synced_state_, synced_context_);
}

bool ErrorStrategy::new_line_between(const antlr4::Token& a, const antlr4::Token& b) const {
  const Span gap{file_, token_span(file_, a).end, token_span(file_, b).begin};
  return sources_.text(gap).find('\n') != std::string_view::npos;
}

/// Whether stray characters, which are reported, stand before `token`.
bool ErrorStrategy::stray_between(const antlr4::Token* previous, const antlr4::Token& token) const {
  if (previous == nullptr || token.getType() == antlr4::Token::EOF) return false;
  const std::string_view gap =
      sources_.text(Span{file_, token_span(file_, *previous).end, token_span(file_, token).begin});
  const std::size_t first = gap.find_first_not_of(" \t\r\n\f");
  return first != std::string_view::npos && gap[first] != '/';
}

bool ErrorStrategy::report_missing_semicolon(const IntervalSet& wanted, const antlr4::Token* previous,
                                             const antlr4::Token& token) {
  const bool ended = token.getType() == antlr4::Token::EOF || token.getType() == PkParser::RBRACE;
  if (!has(wanted, PkParser::SEMI) || previous == nullptr || (!ended && !new_line_between(*previous, token)))
    return false;
  const std::uint32_t end = token_span(file_, *previous).end;
  const std::string_view text = sources_.text(file_);
  const bool room = end < text.size() && text[end] != '\n' && text[end] != '\r';
  diags_.report<diag::syntax_error>(Span{file_, end, room ? end + 1 : end}, "expected `;` after this statement")
      .at("`;` is missing here")
      .fix("add the semicolon", {{Span{file_, end, end}, ";"}});
  semicolon_missing_ = true;
  return true;
}

void ErrorStrategy::report(antlr4::Parser& parser, const antlr4::Token& token) {
  const bool follows = reported_;
  reported_ = true;
  // An `else` or an arm where a statement should begin belongs to something whose error is reported; so does text
  // behind the item.
  const bool orphan = token.getType() == PkParser::ELSE || token.getType() == PkParser::FATARROW ||
                      parser.getContext()->getRuleIndex() == PkParser::RuleFile;
  if (braces_lost_ || (follows && orphan)) return;
  const antlr4::Token* previous =
      token.getTokenIndex() > 0 ? parser.getTokenStream()->get(token.getTokenIndex() - 1) : nullptr;
  if (stray_between(previous, token) || report_brackets(parser, token.getTokenIndex())) return;
  const IntervalSet wanted = expected(parser);
  if (parser.getContext()->getRuleIndex() == PkParser::RuleFile) {
    report_outside_item(token_span(file_, token), sources_, diags_);
    return;
  }
  if (report_missing_semicolon(wanted, previous, token)) return;
  const bool at_end = token.getType() == antlr4::Token::EOF;
  const Span at = token_span(file_, at_end && previous != nullptr ? *previous : token);
  const std::string found = at_end ? "the end of the item" : fmt::format("`{}`", token.getText());
  if (token.getType() == PkParser::LBRACE) braces_lost_ = true;
  block_expected_ = has(wanted, PkParser::LBRACE) && !has(wanted, PkParser::LET);
  // A block that is missing at the end of a line was forgotten with its brace.
  if (block_expected_ && previous != nullptr && new_line_between(*previous, token)) braces_lost_ = true;
  const std::string words = describe(static_cast<PkParser&>(parser), wanted);
  diags_.report<diag::syntax_error>(
      at, words.empty() ? fmt::format("unexpected {}", found) : fmt::format("expected {}, found {}", words, found));
}

}  // namespace pk
